//! The words of a question, split as the database splits texts, and weighted by their rarity in the table. The database's
//! own ranks ignore rarity: on 120 questions over manuals, they had the right passage first for .09, and these weights
//! for .48.

use super::sql::{Statement, quoted};
use crate::address::ServiceAddress;

/// A query for a single word, already split.
pub(super) const TERM: &str = "plainto_tsquery('simple', WORD::text)";

/// A word of a question.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Term {
    pub(super) word: String,
    /// The inverse document frequency of BM25: higher is rarer.
    pub(super) weight: f64,
    /// Whether few enough rows have it that all of these are ranked.
    pub(super) is_rare: bool,
}

/// At most one row in this many has a rare word.
const RARE: u64 = 10;

/// The words of a row: from the column with the words, or from the text.
pub(super) fn words(address: &ServiceAddress) -> String {
    let options = &address.options;
    match &options.words {
        Some(column) => format!("t.{}", quoted(column)),
        None => {
            let column = quoted(options.text.as_deref().unwrap_or("text"));
            format!("to_tsvector({}, t.{column})", language(address))
        }
    }
}

/// The configuration of the text search. It must be a constant, as in the expression of an index, or queries would not use
/// the index.
fn language(address: &ServiceAddress) -> String {
    let language = address.options.language.as_deref().unwrap_or("simple");
    format!("'{}'::regconfig", language.replace('\'', "''"))
}

/// Splits a text into words.
pub(super) fn split(address: &ServiceAddress, text: &str) -> Statement {
    let mut made = Statement::default();
    let text = made.parameter(text.to_owned());
    made.sql = format!(
        "SELECT unnest(tsvector_to_array(to_tsvector({}, {text}::text)))",
        language(address)
    );
    made
}

/// Counts the rows with each word.
pub(super) fn counted(address: &ServiceAddress, words_of: &[String]) -> Statement {
    let mut made = Statement::default();
    let table = quoted(&address.name());
    let counts = words_of.iter().map(|word| {
        let word = made.parameter(word.clone());
        let query = TERM.replace("WORD", &word);
        let words = words(address);
        format!("SELECT {word}::text, count(*) FROM {table} t WHERE {words} @@ {query}")
    });
    made.sql = counts.collect::<Vec<String>>().join(" UNION ALL ");
    made
}

/// The words that any row has, weighted.
pub(super) fn weighed(counts: impl Iterator<Item = (String, u64)>, rows: u64) -> Vec<Term> {
    let counts: Vec<(String, u64)> = counts.filter(|(_, count)| *count > 0).collect();
    let least = counts.iter().map(|(_, count)| *count).min();
    let most = least.unwrap_or_default().max(rows / RARE);
    let terms = counts.into_iter().map(|(word, count)| {
        let with = (count as f64).min(rows as f64);
        Term {
            word,
            weight: (1.0 + (rows as f64 - with + 0.5) / (with + 0.5)).ln(),
            is_rare: count <= most,
        }
    });
    terms.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_weigh_more_and_choose_what_is_ranked() {
        let counts = [("the", 900), ("valve", 7), ("bar", 80), ("nowhere", 0)];
        let counts = counts.map(|(word, count)| (word.to_owned(), count));
        let terms = weighed(counts.into_iter(), 1000);
        let rare: Vec<(&str, bool)> = terms
            .iter()
            .map(|term| (term.word.as_str(), term.is_rare))
            .collect();
        assert_eq!(rare, [("the", false), ("valve", true), ("bar", true)]);
        assert!(terms[1].weight > terms[2].weight && terms[2].weight > terms[0].weight);
        // If all words are common, the rarest of them chooses.
        let common = [("the", 900), ("of", 800)].map(|(word, count)| (word.to_owned(), count));
        let terms = weighed(common.into_iter(), 1000);
        assert!(!terms[0].is_rare && terms[1].is_rare);
    }
}
