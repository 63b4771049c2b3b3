//! The passages that an answer rests on.
//!
//! Small models do not cite by themselves, so ken compares the answer with the passages read, and cites those
//! that it names by number, else those that contain it word for word, else those that share at least half of its
//! words. A full answer cites by its marks, and is compared only if it has none.

pub(crate) mod attribution;
pub(crate) mod marks;

use std::collections::HashSet;
use std::ops::Range;

use crate::answer::{Citation, Retrieved};
use crate::cite::marks::marks;
use crate::style::Style;

/// The most passages cited for one answer.
const MOST: usize = 3;

/// The fewest letters of a longer word: shorter ones say little about a text's content.
const LONGER: usize = 4;

/// The passages that an answer rests on, and the numbers that it makes up.
#[derive(Debug, Default)]
pub(crate) struct Cited {
    /// The passages, best ranked first, numbered as in the prompt.
    pub(crate) citations: Vec<Citation>,
    /// Numbers in the answer's text that no passage has, in characters.
    pub(crate) unfounded: Vec<Range<usize>>,
}

/// The passages that `answer` rests on. `says_nothing`: the answer only says that the passages do not help.
pub(crate) fn cite(
    answer: &str,
    style: Style,
    says_nothing: bool,
    retrieved: &[Retrieved],
) -> Cited {
    let mut cited = match style {
        Style::Short | Style::AsSent => Cited::default(),
        Style::Full => named(answer, retrieved),
    };
    if cited.citations.is_empty() && !says_nothing {
        cited.citations = compare(answer, retrieved);
    }
    cited
}

/// The passages that the marks in an answer name, each with the places of its marks.
fn named(answer: &str, retrieved: &[Retrieved]) -> Cited {
    let read = retrieved.iter().filter(|passage| passage.in_prompt);
    let mut places: Vec<Vec<Range<usize>>> = read.clone().map(|_| Vec::new()).collect();
    let mut unfounded = Vec::new();
    for mark in marks(answer) {
        let named = mark.number.checked_sub(1);
        match named.and_then(|index| places.get_mut(index)) {
            Some(places) => places.push(mark.place),
            None => unfounded.push(mark.place),
        }
    }
    let citations = (1..).zip(read).zip(places);
    let citations = citations.filter(|(_, places)| !places.is_empty());
    let citations = citations.map(|((number, passage), places)| citation(number, passage, places));
    Cited {
        citations: citations.collect(),
        unfounded,
    }
}

fn citation(number: usize, passage: &Retrieved, places: Vec<Range<usize>>) -> Citation {
    Citation {
        number,
        passage_id: passage.passage_id.clone(),
        doc_id: passage.doc_id.clone(),
        title: passage.title.clone(),
        location: passage.location.clone(),
        text: passage.text.clone(),
        chunk: passage.chunk.clone(),
        corpus: passage.corpus.clone(),
        places,
    }
}

/// The passages that `answer` rests on by comparison.
fn compare(answer: &str, retrieved: &[Retrieved]) -> Vec<Citation> {
    let read: Vec<(usize, &Retrieved)> = (1..)
        .zip(retrieved.iter().filter(|p| p.in_prompt))
        .collect();
    let answer_words = words(answer);
    if answer_words.is_empty() {
        return Vec::new();
    }
    let names = |number: usize, _: &Retrieved| answer.contains(&format!("[{number}]"));
    let says = |_: usize, passage: &Retrieved| {
        let text = words(&format!("{} {}", passage.full_title(), passage.text));
        text.windows(answer_words.len())
            .any(|window| window == answer_words)
    };
    let shares = |_: usize, passage: &Retrieved| {
        2 * common(&answer_words, &passage_words(passage)) >= answer_words.len()
    };
    type Test<'t> = &'t dyn Fn(usize, &Retrieved) -> bool;
    let tests: [Test<'_>; 3] = [&names, &says, &shares];
    tests
        .into_iter()
        .map(|rests_on| {
            read.iter()
                .filter(|&&(number, passage)| rests_on(number, passage))
                .take(MOST)
                .map(|&(number, passage)| citation(number, passage, Vec::new()))
                .collect::<Vec<_>>()
        })
        .find(|citations| !citations.is_empty())
        .unwrap_or_default()
}

/// The words of a text in lower case, without articles.
pub(crate) fn words(text: &str) -> Vec<String> {
    let words = placed_words(text).map(|(_, word)| word);
    words
        .filter(|word| !matches!(word.as_str(), "a" | "an" | "the"))
        .collect()
}

/// The words of a text that say something of its content: the longer ones, and those that are `also` taken.
pub(crate) fn telling_words(text: &str, also: impl Fn(&str) -> bool) -> Vec<String> {
    let mut telling = words(text);
    telling.retain(|word| word.chars().count() >= LONGER || word.starts_with(is_han) || also(word));
    telling
}

/// The words of a passage and of its titles.
pub(crate) fn passage_words(passage: &Retrieved) -> HashSet<String> {
    let text = format!("{} {}", passage.full_title(), passage.text);
    words(&text).into_iter().collect()
}

/// How many of these words a passage has.
pub(crate) fn common(these: &[String], passage: &HashSet<String>) -> usize {
    these.iter().filter(|word| passage.contains(*word)).count()
}

/// The words of a text in lower case with their places, in characters; a Han character is a word.
pub fn placed_words(text: &str) -> impl Iterator<Item = (Range<usize>, String)> {
    let mut letters = text.chars().enumerate().peekable();
    std::iter::from_fn(move || {
        let (start, first) = letters.find(|(_, letter)| letter.is_alphanumeric())?;
        let (mut end, mut word) = (start + 1, first.to_lowercase().to_string());
        let goes_on = |&(_, letter): &(usize, char)| letter.is_alphanumeric() && !is_han(letter);
        while let Some((index, letter)) = letters.next_if(|next| !is_han(first) && goes_on(next)) {
            end = index + 1;
            word.extend(letter.to_lowercase());
        }
        Some((start..end, word))
    })
}

/// Whether a character is Han.
#[must_use]
pub fn is_han(c: char) -> bool {
    ('\u{3400}'..='\u{9fff}').contains(&c)
}

#[cfg(test)]
mod tests {
    use ken_testing::with;

    use super::*;

    fn passage(id: &str, text: &str, in_prompt: bool) -> Retrieved {
        with!(Retrieved::default(), passage_id: id.to_owned(), doc_id: id.to_owned(),
            text: text.to_owned(), in_prompt: in_prompt)
    }

    fn numbers(answer: &str, passages: &[Retrieved]) -> Vec<usize> {
        let cited = cite(answer, Style::Short, false, passages).citations;
        cited.iter().map(|citation| citation.number).collect()
    }

    #[test]
    fn a_full_answer_cites_by_its_marks() {
        let passages = [
            passage("a", "The capital is Paris.", true),
            passage("cut", "The capital is Rome.", false),
            passage("b", "It lies on the Seine.", true),
        ];
        let cited = cite("Paris [1], there [2, 3][1].", Style::Full, false, &passages);
        let found: Vec<_> = cited
            .citations
            .iter()
            .map(|one| (one.number, one.doc_id.as_str(), format!("{:?}", one.places)))
            .collect();
        assert_eq!(
            found,
            [
                (1, "a", "[7..8, 24..25]".into()),
                (2, "b", "[18..19]".into())
            ]
        );
        assert_eq!(format!("{:?}", cited.unfounded), "[21..22]");

        let compared = cite("The capital is Paris", Style::Full, false, &passages);
        assert_eq!(compared.citations[0].number, 1);
        assert!(compared.citations[0].places.is_empty());
        let nothing = cite("The capital is Paris", Style::Full, true, &passages);
        assert!(nothing.citations.is_empty());
    }

    #[test]
    fn cites_the_passages_that_say_the_answer() {
        let passages = [
            passage("a", "Parisian cafés are many.", true),
            passage("cut", "The capital is Paris.", false),
            passage("b", "The capital of France is Paris, on the Seine.", true),
        ];
        // Numbers count the passages in the prompt only.
        assert_eq!(numbers("Paris", &passages), [2]);
        assert_eq!(numbers("the Paris.", &passages), [2]);
        assert_eq!(numbers("It is Paris [1]", &passages), [1]);
    }

    #[test]
    fn falls_back_to_shared_words_and_else_cites_nothing() {
        let passages = [passage(
            "a",
            "The bridge was opened by Queen Maud in 1902.",
            true,
        )];
        assert_eq!(numbers("opened 1902 by Maud", &passages), [1]);
        assert_eq!(numbers("King Olaf", &passages), [] as [usize; 0]);
        assert_eq!(numbers("...", &passages), [] as [usize; 0]);
    }

    #[test]
    fn reads_chinese_by_character() {
        let passages = [passage("a", "法国的首都是巴黎。", true)];
        assert_eq!(numbers("巴黎", &passages), [1]);
        assert_eq!(numbers("伦敦", &passages), [] as [usize; 0]);
    }
}
