//! Near duplicates by the cosine of stored vectors. One of the two most similar passages is pruned, then one of the
//! next pair with both left, and so on, so that a pruned passage always leaves a near duplicate in the corpus. When
//! no pair is left, passages are pruned in descending order of similarity to their nearest neighbor.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use ken_eval::run::in_memory;
use ken_index::{IndexError, Mode, Query, RowBuffer};
use rayon::prelude::*;

use super::error::PruningError;
use super::order::{Scored, Work};
use super::vectors::StoredVectors;

/// Nearest passages that are compared with each passage.
const NEIGHBORS: usize = 8;

/// Passages between checks for cancellation.
const BATCH: usize = 1024;

/// Subtracted from the scores of passages without a remaining near duplicate, which puts them below every cosine.
const LOWERED: f32 = 4.0;

/// Two passages by their indices in the list, and their similarity.
struct Pair {
    similarity: f32,
    kept: usize,
    gone: usize,
}

/// Scores by similarity; see [`super::scored`].
pub(super) fn by_similarity(
    work: Work<'_>,
    mut all: Vec<Scored>,
    progress: &mut dyn FnMut(usize, usize),
    cancel: &AtomicBool,
) -> Result<Option<Vec<Scored>>, PruningError> {
    let stored = StoredVectors::open(work.corpus())?;
    let places: HashMap<(u32, u32), usize> = all
        .iter()
        .enumerate()
        .map(|(index, passage)| ((passage.segment, passage.ordinal), index))
        .collect();
    let indices: Vec<usize> = (0..all.len()).collect();
    let pairs = in_memory(&indices, BATCH, progress, cancel, |batch| {
        let passages = batch.par_iter();
        let pairs = passages.map(|&index| neighbors(work, &stored, &all, &places, index));
        pairs.collect::<Result<Vec<Vec<Pair>>, _>>()
    })?;
    let Some(pairs) = pairs else {
        return Ok(None);
    };
    let mut pairs: Vec<Pair> = pairs.into_iter().flatten().collect();
    pairs.sort_unstable_by(|a, b| {
        let by_similarity = b.similarity.total_cmp(&a.similarity);
        by_similarity.then_with(|| (a.gone, a.kept).cmp(&(b.gone, b.kept)))
    });
    let mut nearest = vec![-1.0_f32; all.len()];
    let mut is_gone = vec![false; all.len()];
    for pair in pairs {
        nearest[pair.gone] = nearest[pair.gone].max(pair.similarity);
        nearest[pair.kept] = nearest[pair.kept].max(pair.similarity);
        if !is_gone[pair.gone] && !is_gone[pair.kept] {
            is_gone[pair.gone] = true;
            all[pair.gone].score = pair.similarity;
        }
    }
    for (index, passage) in all.iter_mut().enumerate() {
        if !is_gone[index] {
            passage.score = nearest[index] - LOWERED;
        }
    }
    Ok(Some(all))
}

/// The passages nearest to a passage. Of each pair, the later one is to be pruned.
fn neighbors(
    work: Work<'_>,
    stored: &StoredVectors,
    all: &[Scored],
    places: &HashMap<(u32, u32), usize>,
    index: usize,
) -> Result<Vec<Pair>, IndexError> {
    let passage = &all[index];
    let mut buffer = RowBuffer::default();
    let vector = stored.borrow(
        passage.segment as usize,
        passage.ordinal as usize,
        &mut buffer,
    )?;
    let query = Query::new("", Some(vector));
    // The passage itself is among them.
    let (hits, _) = work
        .index
        .places(&query, Mode::Dense, NEIGHBORS + 1, Some(work.candidates))?;
    let pairs = hits.into_iter().filter_map(|hit| {
        let place = (hit.segment as u32, hit.ordinal as u32);
        let other = *places.get(&place)?;
        (other != index).then(|| Pair {
            similarity: hit.score,
            kept: index.min(other),
            gone: index.max(other),
        })
    });
    Ok(pairs.collect())
}
