//! Hiding the golden answers in evidence (MASK, KBM section 3.1). Other modules check whether a model then writes
//! `MASK`.
//!
//! Text and answers are compared after one normalization for all scripts: NFKC, lower case, without punctuation and
//! English articles, and without spaces next to scripts that use none. Every character keeps its position in the
//! original, so that only the match is replaced.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::normalize::{is_chinese, is_wide_punctuation};

/// What replaces an answer.
pub const MASK: &str = "MASK";

/// A text whose answers are masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked {
    /// The text, with [`MASK`] for each answer.
    pub text: String,
    /// How many places were replaced.
    pub places: usize,
}

/// Replaces every golden answer in `text` by [`MASK`]. In scripts that separate words by spaces, an answer matches
/// whole words only: `art` is not masked in `party`. Answers without content mask nothing.
pub fn mask(text: &str, golden_answers: &[String]) -> Masked {
    let letters = letters(text);
    let mut spans: Vec<Range<usize>> = golden_answers
        .iter()
        .flat_map(|answer| places(text, &letters, answer))
        .collect();
    spans.sort_by_key(|span| (span.start, span.end));
    let mut joined: Vec<Range<usize>> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => joined.push(span),
        }
    }
    let mut masked = String::with_capacity(text.len());
    let mut from = 0;
    for span in &joined {
        masked.push_str(&text[from..span.start]);
        masked.push_str(MASK);
        from = span.end;
    }
    masked.push_str(&text[from..]);
    Masked {
        text: masked,
        places: joined.len(),
    }
}

/// A character of the normalized text, and the bytes of the original that it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Letter {
    letter: char,
    bytes: Range<usize>,
}

/// The text's normalized characters in order.
fn letters(text: &str) -> Vec<Letter> {
    let mut letters: Vec<Letter> = Vec::new();
    for bytes in units(text) {
        let normalized = text[bytes.clone()].nfkc().flat_map(char::to_lowercase);
        for letter in normalized {
            let letter = match letter {
                // Greek writes sigma differently at the end of a word.
                'ς' => 'σ',
                space if space.is_whitespace() => ' ',
                letter => letter,
            };
            if letter.is_ascii_punctuation() || is_wide_punctuation(letter) {
                continue;
            }
            letters.push(Letter {
                letter,
                bytes: bytes.clone(),
            });
        }
    }
    without_needless_spaces(without_articles(&letters))
}

/// The bytes of each character with its combining marks.
fn units(text: &str) -> Vec<Range<usize>> {
    let mut units: Vec<Range<usize>> = Vec::new();
    for (offset, letter) in text.char_indices() {
        let end = offset + letter.len_utf8();
        match units.last_mut() {
            Some(last) if is_combining_mark(letter) => last.end = end,
            _ => units.push(offset..end),
        }
    }
    units
}

fn without_articles(letters: &[Letter]) -> Vec<Letter> {
    let mut kept = Vec::with_capacity(letters.len());
    for word in letters.chunk_by(|a, b| (a.letter == ' ') == (b.letter == ' ')) {
        let is = |article: &str| article.chars().eq(word.iter().map(|letter| letter.letter));
        if !["a", "an", "the"].into_iter().any(is) {
            kept.extend_from_slice(word);
        }
    }
    kept
}

/// Leaves single spaces between words, and none next to characters that need none.
fn without_needless_spaces(letters: Vec<Letter>) -> Vec<Letter> {
    let mut kept: Vec<Letter> = Vec::with_capacity(letters.len());
    let mut space: Option<Letter> = None;
    for letter in letters {
        if letter.letter == ' ' {
            space.get_or_insert(letter);
            continue;
        }
        let needed = kept
            .last()
            .is_some_and(|before| needs_space(before.letter) && needs_space(letter.letter));
        kept.extend(space.take().filter(|_| needed));
        kept.push(letter);
    }
    kept
}

/// Whether this character's script separates words by spaces.
fn needs_space(letter: char) -> bool {
    let written_without = matches!(letter,
        // Thai and Lao, Myanmar, Khmer
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        // kana
        | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}'
        // Hangul, which attaches particles to words
        | '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}');
    !written_without && !is_chinese(letter)
}

/// Where an answer occurs in a text, in bytes.
fn places(text: &str, letters: &[Letter], answer: &str) -> Vec<Range<usize>> {
    let wanted: Vec<char> = self::letters(answer)
        .into_iter()
        .map(|letter| letter.letter)
        .collect();
    let mut places = Vec::new();
    if wanted.is_empty() {
        return places;
    }
    let mut start = 0;
    while let Some(window) = letters.get(start..start + wanted.len()) {
        let is_match = window.iter().map(|letter| &letter.letter).eq(&wanted);
        let span = window[0].bytes.start..window[window.len() - 1].bytes.end;
        let ((before, from), (to, after)) = (text.split_at(span.start), text.split_at(span.end));
        let is_whole = ends_at(from.chars().next(), before.chars().rev())
            && ends_at(to.chars().next_back(), after.chars());
        if is_match && is_whole {
            start += wanted.len();
            places.push(span);
        } else {
            start += 1;
        }
    }
    places
}

/// Whether no word or number continues from the edge character to the characters outside it.
fn ends_at(edge: Option<char>, mut outwards: impl Iterator<Item = char>) -> bool {
    match (edge, outwards.next()) {
        (Some(edge), Some(next)) if is_point(next) && edge.is_numeric() => {
            !outwards.next().is_some_and(char::is_numeric)
        }
        (Some(edge), Some(next)) => !joins(edge, next),
        _ => true,
    }
}

/// Whether two neighboring characters belong to one word.
fn joins(a: char, b: char) -> bool {
    let in_word = |letter: char| letter.is_alphanumeric() || is_combining_mark(letter);
    in_word(a) && in_word(b) && needs_space(a) && needs_space(b)
}

/// Whether a character can stand inside a number.
fn is_point(letter: char) -> bool {
    matches!(letter, '.' | ',')
}

#[cfg(test)]
mod tests {
    use ken_testing::has;

    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, golden: &[&str], expected: &str) {
        let golden: Vec<String> = golden.iter().map(|&answer| answer.to_owned()).collect();
        let masked = mask(text, &golden);
        has!(masked, text: expected, places: expected.matches(MASK).count());
    }

    #[test]
    fn whole_words_are_masked_whatever_their_writing() {
        check("The party of art.", &["art"], "The party of MASK.");
        check(
            "the BEATLES, and Beatles'",
            &["The Beatles"],
            "the MASK, and MASK'",
        );
        check("Paris-based, in PARIS", &["paris"], "MASK-based, in MASK");
        check(
            "from the U.S. and the US",
            &["U.S."],
            "from the MASK. and the MASK",
        );
        check("Lord of the  Rings", &["lord of rings"], "MASK");
        check("Cafe\u{301} Café cafes", &["café"], "MASK MASK cafes");
        check("O’Brien or O'Brien", &["O'Brien"], "MASK or MASK");
        check("ΣΟΦΟΣ σοφός", &["σοφος"], "MASK σοφός");
    }

    #[test]
    fn numbers_stay_whole() {
        check("3.5 or 3, not 13", &["3"], "3.5 or MASK, not 13");
        check("about 1,000 people.", &["1000"], "about MASK people.");
        check("in 1963.", &["1963"], "in MASK.");
        check("5 and 3.5", &["5"], "MASK and 3.5");
    }

    #[test]
    fn scripts_without_spaces_need_no_word_ends() {
        check("首都是北京市。", &["北京"], "首都是MASK市。");
        check("成立于２００８年", &["2008年"], "成立于MASK");
        check("成立于12008年", &["2008年"], "成立于12008年");
        check("在 北 京 市", &["北京"], "在 MASK 市");
        check("東京タワーは", &["東京タワー"], "MASKは");
    }

    #[test]
    fn answers_that_overlap_are_masked_once() {
        check(
            "President Abraham Lincoln spoke",
            &["Abraham Lincoln", "President Abraham", "Lincoln"],
            "MASK spoke",
        );
        check("a b c", &["", "the", "!"], "a b c");
        check("", &["x"], "");
    }

    /// The same on words of plain letters: each run of words that spells an answer.
    fn plain(text: &str, golden: &[Vec<&str>]) -> Vec<String> {
        let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
        let mut hidden = vec![0; words.len()];
        let mut number = 0;
        for answer in golden {
            let mut at = 0;
            while at + answer.len() <= words.len() {
                if words[at..at + answer.len()] == answer[..] {
                    number += 1;
                    // Answers that share a word are one match.
                    let touched: Vec<i32> = hidden[at..at + answer.len()].to_vec();
                    hidden[at..at + answer.len()].fill(number);
                    for mark in &mut hidden {
                        if *mark > 0 && touched.contains(mark) {
                            *mark = number;
                        }
                    }
                    at += answer.len();
                } else {
                    at += 1;
                }
            }
        }
        let mut left = Vec::new();
        for (at, word) in words.iter().enumerate() {
            match hidden[at] {
                0 => left.push((*word).to_owned()),
                mark if at > 0 && hidden[at - 1] == mark => {}
                _ => left.push(MASK.to_owned()),
            }
        }
        left
    }

    proptest! {
        #[test]
        fn it_is_word_matching_on_plain_words(
            words in proptest::collection::vec("[x-z]{1,2}", 0..14),
            golden in proptest::collection::vec(
                proptest::collection::vec("[x-z]{1,2}", 1..3), 0..3),
        ) {
            let text = words.join(" ");
            let answers: Vec<String> = golden.iter().map(|answer| answer.join(" ")).collect();
            let golden: Vec<Vec<&str>> = golden
                .iter()
                .map(|answer| answer.iter().map(String::as_str).collect())
                .collect();
            let masked = mask(&text, &answers).text;
            let masked: Vec<&str> = masked.split(' ').filter(|word| !word.is_empty()).collect();
            prop_assert_eq!(masked, plain(&text, &golden));
        }

        #[test]
        fn any_text_is_masked_without_a_trace_and_only_there(
            before in any::<String>(),
            answer in "[bcd北]{1,4}",
            after in any::<String>(),
        ) {
            let text = format!("{before} {answer} {after}");
            let masked = mask(&text, std::slice::from_ref(&answer));
            prop_assert!(masked.places >= 1);
            prop_assert_eq!(mask(&masked.text, std::slice::from_ref(&answer)).places, 0);
        }

        #[test]
        fn what_holds_no_answer_stays_as_it_is(text in any::<String>()) {
            let masked = mask(&text, &["no such answer".to_owned()]);
            prop_assert_eq!(masked, Masked { text, places: 0 });
        }
    }
}
