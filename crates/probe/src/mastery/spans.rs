//! What a sentence can be asked for: its numbers, names, titles and phrases, recognized by how they are written,
//! without a model.
//!
//! In scripts with spaces and capitals: numbers with their context (dates, currencies, scales), runs of capitalized
//! words, quotations, and phrases after articles and prepositions. In Chinese: titles and quotations, numbers with
//! their measure words, transcribed names, words in Latin letters, and the text between function characters.

use std::ops::Range;

use crate::normalize::{is_chinese, is_mostly_chinese};

/// The kind of an answer, judging by how it is written. Wordings name them in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Year,
    Date,
    Number,
    Name,
    /// A title or quotation.
    Title,
    /// Any other phrase.
    Phrase,
}

/// An answer that a sentence can be asked for, as a range of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) kind: Kind,
    pub(super) bytes: Range<usize>,
}

/// Most words of a phrase.
const PHRASE_WORDS: usize = 4;
/// Most words of a quotation that is one answer.
const QUOTED_WORDS: usize = 8;
/// Fewest and most characters of a Chinese phrase, and most characters of a quotation.
const CHINESE_PHRASE: Range<usize> = 2..7;
const CHINESE_QUOTED: usize = 16;

/// The answers that a sentence can be asked for, at most `limit`, in the order of the sentence and without
/// repetitions. Above the limit, phrases are dropped first.
pub(super) fn answers(sentence: &str, limit: usize) -> Vec<Span> {
    let mut spans = if is_mostly_chinese(sentence) {
        chinese(sentence)
    } else {
        spaced(sentence)
    };
    // The sort is stable: answers of one kind keep the order of the sentence.
    spans.sort_by_key(|span| span.kind == Kind::Phrase);
    let mut kept: Vec<Span> = Vec::new();
    for span in spans {
        let text = &sentence[span.bytes.clone()];
        let known = kept.iter().any(|other| {
            let overlaps = span.bytes.start < other.bytes.end && other.bytes.start < span.bytes.end;
            overlaps || sentence[other.bytes.clone()].to_lowercase() == text.to_lowercase()
        });
        if !known && kept.len() < limit {
            kept.push(span);
        }
    }
    kept.sort_by_key(|span| span.bytes.start);
    kept
}

/// A word of a script with spaces.
#[derive(Debug, Clone)]
struct Word<'a> {
    text: &'a str,
    lower: String,
    bytes: Range<usize>,
    /// Only spaces separate it from the word before.
    joined: bool,
}

impl Word<'_> {
    fn has_digit(&self) -> bool {
        self.text.chars().any(char::is_numeric)
    }

    fn is_capitalized(&self) -> bool {
        self.text.starts_with(char::is_uppercase)
    }

    /// A capital after the first character, as in `NATO` or `McKay`.
    fn has_inner_capital(&self) -> bool {
        self.text.chars().skip(1).any(char::is_uppercase)
    }

    fn is_function_word(&self) -> bool {
        is_among(&self.lower, FUNCTION_WORDS)
    }

    fn is_month(&self) -> bool {
        self.is_capitalized() && is_among(&self.lower, MONTHS)
    }

    fn is_number(&self) -> bool {
        self.text.starts_with(char::is_numeric) || is_among(&self.lower, NUMBER_WORDS)
    }

    fn is_year(&self) -> bool {
        self.text.len() == 4 && self.text.bytes().all(|byte| byte.is_ascii_digit())
    }
}

/// Whether a word is in a list separated by spaces.
fn is_among(word: &str, list: &str) -> bool {
    list.split(' ').any(|other| other == word)
}

/// Words that are not part of an answer.
const FUNCTION_WORDS: &str = "a about above after again against all along also although am among an and another any are as \
at be became because become been before being below between both but by can could did do \
does down during each either every few for from had has have he her here hers him his how \
however i if in including into is it its itself just like many may might more most much must \
my neither no nor not of off often on once only onto or other others our out over own per \
same several shall she should since so some such than that the their them then there these \
they this those though through thus to too under until up upon us used very via was we were \
what when where whether which while who whom whose why will with within without would yet \
you your";

/// Words after which a noun phrase begins.
const BEFORE_PHRASE: &str =
    "a an as at between by called for from her his in into its named of on our the their to with";

/// Small words that a name may contain.
const INSIDE_NAME: &str =
    "al bin da de del della den der di do dos du el ibn la le of the van von zu";

const MONTHS: &str =
    "january february march april may june july august september october november december";

/// What belongs to the number before it.
const SCALES: &str = "hundred thousand million billion trillion percent years year days hours minutes seconds \
metres meters feet miles km kilometres kilometers tonnes tons kg bc ad bce ce";

/// Number words that are worth asking for.
const NUMBER_WORDS: &str = "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen \
seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety";

fn spaced(sentence: &str) -> Vec<Span> {
    let words = words(sentence);
    let marks = [('"', '"'), ('“', '”'), ('«', '»')];
    let mut spans = titles(sentence, &marks, |title| {
        (1..=QUOTED_WORDS).contains(&title.split_whitespace().count())
    });
    let mut at = 0;
    while at < words.len() {
        let (kind, end) = candidate(&words, at);
        match kind {
            Some(kind) => {
                spans.push(Span {
                    kind,
                    bytes: with_signs(sentence, words[at].bytes.start..words[end - 1].bytes.end),
                });
                at = end;
            }
            None => at += 1,
        }
    }
    spans.sort_by_key(|span| span.bytes.start);
    spans
}

/// The candidate that begins at a word, and the index of the word after it.
fn candidate(words: &[Word<'_>], at: usize) -> (Option<Kind>, usize) {
    let word = &words[at];
    if let Some((kind, end)) = number(words, at) {
        return (Some(kind), end);
    }
    let named = word.is_capitalized() && !word.is_function_word();
    if named {
        let end = name_end(words, at);
        // The first word of a sentence is capitalized anyway.
        if at > 0 || end > at + 1 || word.has_inner_capital() {
            return (Some(Kind::Name), end);
        }
        return (Some(Kind::Phrase), end);
    }
    let introduced = at > 0 && word.joined && is_among(&words[at - 1].lower, BEFORE_PHRASE);
    if introduced && !word.is_function_word() {
        let mut end = at + 1;
        while end < words.len().min(at + PHRASE_WORDS)
            && words[end].joined
            && !words[end].is_function_word()
            && !words[end].is_capitalized()
            && !words[end].has_digit()
        {
            end += 1;
        }
        return (Some(Kind::Phrase), end);
    }
    (None, at + 1)
}

/// The number or date that begins at a word, and the index of the word after it.
fn number(words: &[Word<'_>], at: usize) -> Option<(Kind, usize)> {
    let is_number = |at: usize| words.get(at).is_some_and(Word::is_number);
    let joined = |at: usize| words.get(at).is_some_and(|word| word.joined);
    let month = |at: usize| words.get(at).is_some_and(Word::is_month);
    // A comma stands before the year in an American date.
    let year = |at: usize| words.get(at).is_some_and(Word::is_year);
    if month(at) {
        // May 18, 2018 and May 2018
        let day = joined(at + 1) && is_number(at + 1);
        return match (day, year(at + 2)) {
            (true, true) if !year(at + 1) => Some((Kind::Date, at + 3)),
            (true, _) => Some((Kind::Date, at + 2)),
            (false, _) => None,
        };
    }
    if !is_number(at) {
        return None;
    }
    let mut end = at + 1;
    if joined(end) && month(end) {
        // 18 May 2018
        end += 1;
        return Some((Kind::Date, end + usize::from(joined(end) && year(end))));
    }
    let scale = |word: &&Word<'_>| word.joined && is_among(&word.lower, SCALES);
    end += words.iter().skip(end).take_while(scale).count();
    let kind = match year(at) && end == at + 1 {
        true => Kind::Year,
        false => Kind::Number,
    };
    Some((kind, end))
}

/// Where the name that begins at a word ends.
fn name_end(words: &[Word<'_>], at: usize) -> usize {
    let part = |at: usize| {
        words.get(at).is_some_and(|word: &Word<'_>| {
            word.joined && (word.is_capitalized() || word.has_digit()) && !word.is_function_word()
        })
    };
    let small = |at: usize| {
        words
            .get(at)
            .is_some_and(|word: &Word<'_>| word.joined && is_among(&word.lower, INSIDE_NAME))
    };
    let mut end = at + 1;
    loop {
        let mut next = end;
        while next < end + 2 && small(next) {
            next += 1;
        }
        if !part(next) || words[next].is_month() {
            return end;
        }
        end = next + 1;
    }
}

/// The words of a sentence: letters and digits, with the characters that may join them inside a word.
fn words(sentence: &str) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = Vec::new();
    let mut characters = sentence.char_indices().peekable();
    let mut after = 0;
    while let Some((start, first)) = characters.next() {
        if !first.is_alphanumeric() {
            continue;
        }
        let mut end = start + first.len_utf8();
        let mut last = first;
        while let Some(&(at, c)) = characters.peek() {
            let next = sentence[at + c.len_utf8()..].chars().next();
            let goes_on = next.is_some_and(char::is_alphanumeric);
            let inside = match c {
                '\'' | '’' | '-' | '‑' => goes_on,
                '.' | ',' | ':' => {
                    last.is_numeric() && next.is_some_and(char::is_numeric)
                        || c == '.' && is_initials(&sentence[start..at])
                }
                '–' => last.is_numeric() && next.is_some_and(char::is_numeric),
                c => c.is_alphanumeric() || unicode_normalization::char::is_combining_mark(c),
            };
            if !inside {
                break;
            }
            end = at + c.len_utf8();
            last = c;
            characters.next();
        }
        let text = without_possessive(&sentence[start..end]);
        words.push(Word {
            text,
            lower: text.to_lowercase(),
            bytes: start..start + text.len(),
            joined: !words.is_empty() && sentence[after..start].chars().all(char::is_whitespace),
        });
        after = end;
    }
    words
}

/// Whether a text is single capitals joined by full stops, as in `J.` and `U.S.`, to which the next stop belongs.
fn is_initials(text: &str) -> bool {
    text.split('.')
        .all(|part| part.chars().count() == 1 && part.starts_with(char::is_uppercase))
}

fn without_possessive(word: &str) -> &str {
    ["'s", "’s"]
        .iter()
        .find_map(|end| word.strip_suffix(end))
        .unwrap_or(word)
}

/// Extends a span over a currency sign before it and a percent sign after it.
fn with_signs(sentence: &str, bytes: Range<usize>) -> Range<usize> {
    let currency = sentence[..bytes.start]
        .chars()
        .next_back()
        .filter(|c| matches!(c, '$' | '€' | '£' | '¥'));
    let percent = sentence[bytes.end..]
        .chars()
        .next()
        .filter(|c| matches!(c, '%' | '°'));
    bytes.start - currency.map_or(0, char::len_utf8)..bytes.end + percent.map_or(0, char::len_utf8)
}

/// The short texts between marks, without the marks and the spaces inside them.
fn titles(sentence: &str, marks: &[(char, char)], is_short: impl Fn(&str) -> bool) -> Vec<Span> {
    let mut titles = Vec::new();
    let mut open: Option<(usize, char)> = None;
    for (offset, c) in sentence.char_indices() {
        match open {
            Some((start, close)) if c == close => {
                let inside = &sentence[start..offset];
                let start = start + inside.len() - inside.trim_start().len();
                let end = start + inside.trim().len();
                if start < end && is_short(&sentence[start..end]) {
                    titles.push(Span {
                        kind: Kind::Title,
                        bytes: start..end,
                    });
                }
                open = None;
            }
            Some(_) => {}
            None => {
                let mark = marks.iter().find(|(opening, _)| *opening == c);
                open = mark.map(|(_, close)| (offset + c.len_utf8(), *close));
            }
        }
    }
    titles
}

/// Characters that separate answers.
const CHINESE_FUNCTION: &str = "的了在是和与及或为由于被把从到对以而并且也就又还等之其此该这那有无不\
则但如若使让将向往所者着过给跟同因即便仍再很更最曾已可须必后下里内时他她它们我你";

fn chinese(sentence: &str) -> Vec<Span> {
    let span = |kind, bytes| Span { kind, bytes };
    let marks = [
        ('《', '》'),
        ('“', '”'),
        ('「', '」'),
        ('『', '』'),
        ('"', '"'),
    ];
    let mut spans = titles(sentence, &marks, |title| {
        title.chars().count() <= CHINESE_QUOTED
    });
    let mut start = 0;
    while let Some(first) = sentence[start..].chars().next() {
        let (candidate, run) = chinese_run(&sentence[start..], first);
        spans.extend(candidate.map(|(kind, text)| span(kind, start..start + text.len())));
        start += run.len().max(first.len_utf8());
    }
    spans.sort_by_key(|span| span.bytes.start);
    spans
}

/// The characters of one sort at the beginning of a text, after what can be asked for among them.
fn chinese_run(text: &str, first: char) -> (Option<(Kind, &str)>, &str) {
    let run = |goes_on: &dyn Fn(char) -> bool| {
        let end = text.find(|c| !goes_on(c));
        &text[..end.unwrap_or(text.len())]
    };
    if first.is_ascii_digit() || is_numeral(first) {
        let run =
            run(&|c| is_numeral(c) || c.is_ascii_digit() || is_measure(c) || ".,".contains(c));
        let is_sure = run.chars().any(|c| c.is_ascii_digit()) || run.chars().count() > 1;
        let number = run.trim_end_matches(['.', ',']);
        let kind = match (number.contains('年'), number.contains(['月', '日', '号'])) {
            (_, true) => Kind::Date,
            (true, false) => Kind::Year,
            (false, false) => Kind::Number,
        };
        (is_sure.then_some((kind, number)), run)
    } else if first.is_alphabetic() && !is_chinese(first) {
        let run = run(&|c| c.is_alphanumeric() && !is_chinese(c) || " -.'".contains(c));
        let name = run.trim_end_matches([' ', '-', '.', '\'']);
        let is_name = name.chars().count() > 1;
        (is_name.then_some((Kind::Name, name)), run)
    } else if is_chinese(first) {
        // Transcribed names contain numerals; other phrases end at one.
        let part = |c| is_chinese(c) && !CHINESE_FUNCTION.contains(c);
        let name = run(&|c| part(c) || c == '·');
        if name.contains('·') {
            return (Some((Kind::Name, name)), name);
        }
        let phrase = run(&|c| part(c) && !is_numeral(c));
        let is_phrase = CHINESE_PHRASE.contains(&phrase.chars().count());
        (is_phrase.then_some((Kind::Phrase, phrase)), phrase)
    } else {
        (None, "")
    }
}

fn is_numeral(c: char) -> bool {
    "〇零一二三四五六七八九十百千万亿两".contains(c)
}

fn is_measure(c: char) -> bool {
    "年月日号时分秒个位名人次岁米里吨元届世纪%％℃".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(sentence: &str, limit: usize) -> Vec<&str> {
        let spans = answers(sentence, limit);
        spans
            .into_iter()
            .map(|span| &sentence[span.bytes])
            .collect()
    }

    #[track_caller]
    fn check(sentence: &str, expected: &[&str]) {
        assert_eq!(texts(sentence, 9), expected, "{sentence}");
    }

    #[test]
    fn numbers_names_and_titles_are_found() {
        check(
            "Queen Victoria became Empress of India in 1876.",
            &["Queen Victoria", "Empress of India", "1876"],
        );
        check(
            "Deadpool 2 is scheduled to be released in the United States on May 18, 2018.",
            &["Deadpool 2", "United States", "May 18, 2018"],
        );
        check(
            "He paid $3.5 million, or 12% of it, on 9 May 1816 to J. R. Smith's heirs.",
            &["$3.5 million", "12%", "9 May 1816", "J. R. Smith"],
        );
        check(
            "The song \"Long way home\" has two verses.",
            &["song", "Long way home", "two"],
        );
        check("It may be that the NATO met.", &["NATO"]);
    }

    #[test]
    fn phrases_are_left_out_first() {
        let sentence = "The keeper of the old lighthouse feeds 12 seals.";
        check(sentence, &["keeper", "old lighthouse feeds", "12"]);
        assert_eq!(texts(sentence, 1), ["12"]);
        check(
            "Mitochondria are the powerhouse of the cell.",
            &["Mitochondria", "powerhouse", "cell"],
        );
        check("It was so.", &[]);
        check("It is Rome, Rome and ROME!", &["Rome"]);
    }

    #[test]
    fn chinese_is_cut_at_function_characters() {
        check(
            "《战国无双3》是由光荣于2009年12月开发的。",
            &["战国无双3", "光荣", "2009年12月", "开发"],
        );
        check(
            "卡万·肖特以 11 分领先于全队。",
            &["卡万·肖特", "11", "分领先", "全队"],
        );
        check("首都是北京。", &["首都", "北京"]);
    }

    #[test]
    fn kinds_are_told_by_the_writing() {
        let kinds = |sentence| {
            let spans: Vec<Kind> = answers(sentence, 9).iter().map(|span| span.kind).collect();
            spans
        };
        assert_eq!(
            kinds("On 9 May 1816, 12 of the 1871 came to Rome as \"the few\" in 1900."),
            [
                Kind::Date,
                Kind::Number,
                Kind::Year,
                Kind::Name,
                Kind::Title,
                Kind::Year
            ]
        );
        assert_eq!(
            kinds("《城》是2009年和2010年3月的11个北京。"),
            [
                Kind::Title,
                Kind::Year,
                Kind::Date,
                Kind::Number,
                Kind::Phrase
            ]
        );
    }

    proptest! {
        #[test]
        fn candidates_stand_apart_and_in_order(
            sentence in prop_oneof![any::<String>(), "[A-Ca-c0-9《》是北京年 \"'.,$%-]{0,40}"],
            limit in 0_usize..6,
        ) {
            let found = answers(&sentence, limit);
            prop_assert!(found.len() <= limit);
            let mut from = 0;
            for Span { bytes, .. } in &found {
                prop_assert!(bytes.start >= from && bytes.start < bytes.end, "{found:?}");
                prop_assert!(sentence.get(bytes.clone()).is_some());
                from = bytes.end;
            }
            // More are never other ones.
            let more = answers(&sentence, limit + 1);
            prop_assert!(found.iter().all(|answer| more.contains(answer)));
        }
    }
}
