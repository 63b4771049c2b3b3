//! The languages of a corpus, guessed from some of its passages.

use std::collections::BTreeMap;
use std::path::Path;

use ken_corpus::{Active, Corpus, CorpusError};
use ken_index::language_of;
use serde::Serialize;

/// How many passages are examined.
const SAMPLE: usize = 200;

/// A language with a smaller share of the passages is an exception.
const LEAST: f64 = 0.05;

/// A language, and the share of passages that are in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Share {
    pub(crate) language: &'static str,
    pub(crate) share: f64,
}

/// The languages of a corpus, the most frequent first.
pub(crate) fn of_corpus(path: &Path, active: Active) -> Result<Vec<Share>, CorpusError> {
    let corpus = Corpus::open_shards(path, active)?;
    let step = corpus.passage_count().div_ceil(SAMPLE).max(1);
    let segments = corpus.segments().iter();
    let passages =
        segments.flat_map(|segment| segment.live().ones().map(move |ordinal| (segment, ordinal)));
    let mut guesses = Vec::new();
    for (segment, ordinal) in passages.step_by(step) {
        guesses.extend(language_of(&segment.passage(ordinal)?.text));
    }
    Ok(shares(&guesses))
}

/// The most frequent language, unless it is English.
pub(crate) fn other_than_english(shares: &[Share]) -> Option<&'static str> {
    let first = shares.first().map(|share| share.language);
    first.filter(|language| *language != "English")
}

fn shares(guesses: &[&'static str]) -> Vec<Share> {
    let mut counts = BTreeMap::new();
    for &language in guesses {
        *counts.entry(language).or_insert(0_usize) += 1;
    }
    let shares = counts.into_iter().map(|(language, count)| Share {
        language,
        share: count as f64 / guesses.len() as f64,
    });
    let mut shares: Vec<Share> = shares.filter(|share| share.share >= LEAST).collect();
    shares.sort_by(|a, b| b.share.total_cmp(&a.share));
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_leave_exceptions_out() {
        let guesses = [vec!["English"; 90], vec!["German"; 9], vec!["Thai"]].concat();
        let shown = shares(&guesses);
        let shown: Vec<_> = shown
            .iter()
            .map(|share| (share.language, share.share))
            .collect();
        assert_eq!(shown, [("English", 0.9), ("German", 0.09)]);
        assert!(shares(&[]).is_empty());
        assert_eq!(other_than_english(&shares(&guesses)), None);
        assert_eq!(other_than_english(&shares(&["German"])), Some("German"));
        assert_eq!(other_than_english(&[]), None);
    }
}
