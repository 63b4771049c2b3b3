//! The order in which passages are pruned, and how many are pruned at a ratio.

use ken_corpus::{Corpus, CorpusError, PassageId, Selection};
use ken_index::Index;
use rayon::prelude::*;

/// A passage and its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// The index of its segment in the corpus.
    pub segment: u32,
    /// Its ordinal in the segment.
    pub ordinal: u32,
    /// Higher scores are pruned sooner; NaN last.
    pub score: f32,
}

/// The passages to score.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// The corpus, all of its shards, with its index.
    pub index: &'a Index,
    /// The passages that may be pruned.
    pub candidates: &'a Selection,
}

impl Work<'_> {
    pub(super) fn corpus(&self) -> &Corpus {
        self.index.corpus()
    }

    /// The candidates in the order of the corpus, all with score 0.
    pub(super) fn unscored(&self) -> Vec<Scored> {
        let segments = 0..self.corpus().segments().len();
        let places = segments.flat_map(|segment| {
            let ordinals = self.candidates.ordinals(segment);
            ordinals.map(move |ordinal| Scored {
                segment: segment as u32,
                ordinal: ordinal as u32,
                score: 0.0,
            })
        });
        places.collect()
    }
}

/// Sorts passages into the order of pruning: by descending score, equal scores by passage id, so that it does not
/// depend on the order of the corpus on disk.
///
/// # Errors
/// A passage that cannot be read.
pub fn order(corpus: &Corpus, mut scored: Vec<Scored>) -> Result<Vec<Scored>, CorpusError> {
    let number = |passage: &Scored| match passage.score.is_nan() {
        true => f32::NEG_INFINITY,
        false => passage.score,
    };
    scored.par_sort_unstable_by(|a, b| {
        let by_score = number(b).total_cmp(&number(a));
        by_score.then_with(|| (a.segment, a.ordinal).cmp(&(b.segment, b.ordinal)))
    });
    for same in scored.chunk_by_mut(|passage, next| number(passage) == number(next)) {
        if same.len() < 2 {
            continue;
        }
        let mut named: Vec<(PassageId, Scored)> = same
            .iter()
            .map(|passage| Ok((id_of(corpus, passage)?, *passage)))
            .collect::<Result<_, CorpusError>>()?;
        named.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (place, (_, passage)) in same.iter_mut().zip(named) {
            *place = passage;
        }
    }
    Ok(scored)
}

/// The id of a scored passage.
pub(super) fn id_of(corpus: &Corpus, passage: &Scored) -> Result<PassageId, CorpusError> {
    let segment = &corpus.segments()[passage.segment as usize];
    Ok(segment.passage(passage.ordinal as usize)?.id)
}

/// The number of passages that are a ratio in `[0, 1)` of all, rounded down.
pub fn count(ratio: f64, passages: usize) -> usize {
    // Products such as 0.57 * 100 are slightly too small.
    ((ratio * passages as f64 + 1e-9).floor() as usize).min(passages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_never_exceeded() {
        for (ratio, passages, expected) in [
            (0.0, 10, 0),
            (0.3, 10, 3),
            (0.57, 100, 57),
            (0.5, 3, 1),
            (0.999, 10, 9),
            (0.5, 0, 0),
        ] {
            assert_eq!(count(ratio, passages), expected, "{ratio} of {passages}");
        }
    }
}
