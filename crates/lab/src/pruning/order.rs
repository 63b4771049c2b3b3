//! In which order passages go, and how many of them at a ratio.

use ken_corpus::{Corpus, CorpusError, PassageId, Selection};
use ken_index::Index;
use rayon::prelude::*;

/// A passage and what it was judged by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// The number of its segment in the corpus.
    pub segment: u32,
    /// The passage in it.
    pub ordinal: u32,
    /// The larger, the sooner it goes. NaN goes last.
    pub score: f32,
}

/// What is scored.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// The corpus, all of its shards, with its index.
    pub index: &'a Index,
    /// The passages that may go.
    pub candidates: &'a Selection,
}

impl Work<'_> {
    pub(super) fn corpus(&self) -> &Corpus {
        self.index.corpus()
    }

    /// The candidates in the order in which they stand in the corpus, all with a score of zero.
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

/// Puts the passages into the order in which they go: the highest score first, equal scores by their
/// passages' ids, so that it does not depend on how the corpus lies on the disk.
///
/// # Errors
/// A passage that cannot be read.
pub fn order(corpus: &Corpus, mut scored: Vec<Scored>) -> Result<Vec<Scored>, CorpusError> {
    let number = |one: &Scored| match one.score.is_nan() {
        true => f32::NEG_INFINITY,
        false => one.score,
    };
    scored.par_sort_unstable_by(|one, other| {
        let by_score = number(other).total_cmp(&number(one));
        by_score.then_with(|| (one.segment, one.ordinal).cmp(&(other.segment, other.ordinal)))
    });
    for same in scored.chunk_by_mut(|one, next| number(one) == number(next)) {
        if same.len() < 2 {
            continue;
        }
        let mut named: Vec<(PassageId, Scored)> = same
            .iter()
            .map(|one| Ok((id_of(corpus, one)?, *one)))
            .collect::<Result<_, CorpusError>>()?;
        named.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        for (place, (_, one)) in same.iter_mut().zip(named) {
            *place = one;
        }
    }
    Ok(scored)
}

/// The id of a scored passage.
pub(super) fn id_of(corpus: &Corpus, one: &Scored) -> Result<PassageId, CorpusError> {
    let segment = &corpus.segments()[one.segment as usize];
    Ok(segment.passage(one.ordinal as usize)?.id)
}

/// The number of passages that a ratio in `[0, 1)` is: never more than that share.
#[must_use]
pub fn count(ratio: f64, passages: usize) -> usize {
    // Products such as 0.57 * 100 lie a little below what they mean.
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
