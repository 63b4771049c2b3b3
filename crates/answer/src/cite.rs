//! Which passages an answer rests on.
//!
//! Small models do not cite by themselves, so the answer is compared with the passages read: cited are
//! those that it names by number, else those that contain it word for word, else those that share at
//! least half of its words.

use std::collections::HashSet;

use crate::answer::{Citation, Retrieved};

/// At most this many passages are cited for one answer.
const MOST: usize = 3;

/// The passages that `answer` rests on, best ranked first, numbered as in the prompt.
pub(crate) fn cite(answer: &str, retrieved: &[Retrieved]) -> Vec<Citation> {
    let read: Vec<(usize, &Retrieved)> = (1..)
        .zip(retrieved.iter().filter(|p| p.in_prompt))
        .collect();
    let answer_words = words(answer);
    if answer_words.is_empty() {
        return Vec::new();
    }
    let named = |number: usize, _: &Retrieved| answer.contains(&format!("[{number}]"));
    let says = |_: usize, passage: &Retrieved| {
        let text = words(&format!("{} {}", passage.title, passage.text));
        text.windows(answer_words.len())
            .any(|window| window == answer_words)
    };
    let shares = |_: usize, passage: &Retrieved| {
        let text: HashSet<String> = words(&format!("{} {}", passage.title, passage.text))
            .into_iter()
            .collect();
        let common = answer_words.iter().filter(|word| text.contains(*word));
        let common = common.count();
        2 * common >= answer_words.len()
    };
    type Test<'t> = &'t dyn Fn(usize, &Retrieved) -> bool;
    let tests: [Test<'_>; 3] = [&named, &says, &shares];
    tests
        .into_iter()
        .map(|rests_on| {
            read.iter()
                .filter(|&&(number, passage)| rests_on(number, passage))
                .take(MOST)
                .map(|&(number, passage)| Citation {
                    number,
                    passage_id: passage.passage_id.clone(),
                    doc_id: passage.doc_id.clone(),
                    title: passage.title.clone(),
                    text: passage.text.clone(),
                    chunk: passage.chunk.clone(),
                })
                .collect::<Vec<_>>()
        })
        .find(|citations| !citations.is_empty())
        .unwrap_or_default()
}

/// The words of a text in lower case, without articles; a Han character is a word.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text
        .chars()
        .flat_map(char::to_lowercase)
        .chain(std::iter::once(' '))
    {
        let is_han = ('\u{3400}'..='\u{9fff}').contains(&c);
        if (is_han || !c.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if is_han {
            words.push(c.to_string());
        } else if c.is_alphanumeric() {
            word.push(c);
        }
    }
    words.retain(|word| !matches!(word.as_str(), "a" | "an" | "the"));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(id: &str, text: &str, in_prompt: bool) -> Retrieved {
        Retrieved {
            passage_id: id.to_owned(),
            doc_id: id.to_owned(),
            title: String::new(),
            text: text.to_owned(),
            chunk: None,
            score: 0.0,
            in_prompt,
        }
    }

    fn numbers(answer: &str, passages: &[Retrieved]) -> Vec<usize> {
        cite(answer, passages)
            .iter()
            .map(|citation| citation.number)
            .collect()
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
