//! Passages with equal words fill the evidence once.

use crate::SearchResult;

/// The passages found for each one read, in case some are equal.
pub(super) const SPARE: usize = 2;

/// The best `most` results, in order, without those whose words a better one contains: a page that is kept twice, or a
/// passage within another. Numbers and names tell otherwise equal passages apart, so near duplicates stay.
pub(super) fn distinct(results: Vec<SearchResult>, most: usize) -> Vec<SearchResult> {
    let mut kept: Vec<(SearchResult, String)> = Vec::new();
    for result in results {
        if kept.len() == most {
            break;
        }
        let words = words(&result.text);
        if !kept.iter().any(|(_, others)| others.contains(&words)) {
            kept.push((result, words));
        }
    }
    kept.into_iter().map(|(result, _)| result).collect()
}

/// The words of a text in lower case, each between spaces, without punctuation.
fn words(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 2);
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        if !word.is_empty() {
            words.push(' ');
            words.extend(word.chars().flat_map(char::to_lowercase));
        }
    }
    words.push(' ');
    words
}

#[cfg(test)]
mod tests {
    use ken_corpus::{Document, Passage};

    use super::*;

    fn kept(texts: &[&str], most: usize) -> Vec<usize> {
        let result = |(number, text): (usize, &&str)| {
            let passage = Passage::of(&Document::default(), number, (*text).into());
            SearchResult::of(passage, 0.0)
        };
        let results = texts.iter().enumerate().map(result).collect();
        let kept = distinct(results, most).into_iter();
        kept.map(|one| one.passage.id.split().unwrap().1).collect()
    }

    #[test]
    fn the_same_words_are_read_once() {
        let texts = [
            "The valve opens at 9 bar.",
            "the  valve\nopens at 9 bar",
            "Valve opens, at 9",
            "The valve opens at 19 bar.",
        ];
        assert_eq!(kept(&texts, 9), [0, 3]);
        assert_eq!(kept(&texts, 1), [0]);
        assert_eq!(kept(&["9 bar", "9", "29 bar", "9 barrels"], 9), [0, 2, 3]);
        assert_eq!(kept(&[], 3), [0; 0]);
    }
}
