//! Near duplicates by the cosine of stored vectors. One of the two most similar passages goes, then one
//! of the next pair of which both remain, and so on: whatever goes leaves a near duplicate in the
//! corpus. Once no pair is left, passages go in descending order of their nearest neighbor's similarity.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use ken_eval::run::in_memory;
use ken_index::{IndexError, Mode, Query, RowBuffer};
use rayon::prelude::*;

use super::error::PruningError;
use super::order::{Scored, Work};
use super::vectors::StoredVectors;

/// Nearest passages that are looked at of each.
const NEIGHBORS: usize = 8;

/// Passages between two looks at whether to stop.
const BATCH: usize = 1024;

/// The scores of passages without a remaining near duplicate are lowered by this: below every cosine.
const LOWERED: f32 = 4.0;

/// Two passages by their places in the list, and how similar they are.
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
        .map(|(at, one)| ((one.segment, one.ordinal), at))
        .collect();
    let indices: Vec<usize> = (0..all.len()).collect();
    let found = in_memory(&indices, BATCH, progress, cancel, |batch| {
        let each = batch.par_iter();
        let each = each.map(|&at| neighbors(work, &stored, &all, &places, at));
        each.collect::<Result<Vec<Vec<Pair>>, _>>()
    })?;
    let Some(found) = found else {
        return Ok(None);
    };
    let mut pairs: Vec<Pair> = found.into_iter().flatten().collect();
    pairs.sort_unstable_by(|one, other| {
        let by_similarity = other.similarity.total_cmp(&one.similarity);
        by_similarity.then_with(|| (one.gone, one.kept).cmp(&(other.gone, other.kept)))
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
    for (at, one) in all.iter_mut().enumerate() {
        if !is_gone[at] {
            one.score = nearest[at] - LOWERED;
        }
    }
    Ok(Some(all))
}

/// The passages nearest to one. Of two the one that stands later is to go.
fn neighbors(
    work: Work<'_>,
    stored: &StoredVectors,
    all: &[Scored],
    places: &HashMap<(u32, u32), usize>,
    at: usize,
) -> Result<Vec<Pair>, IndexError> {
    let one = &all[at];
    let mut buffer = RowBuffer::default();
    let vector = stored.borrow(one.segment as usize, one.ordinal as usize, &mut buffer)?;
    let query = Query {
        text: "",
        vector: Some(vector),
    };
    // Itself is among them.
    let found = work
        .index
        .places(&query, Mode::Dense, NEIGHBORS + 1, Some(work.candidates))?;
    let pairs = found.into_iter().filter_map(|found| {
        let place = (found.segment as u32, found.ordinal as u32);
        let other = *places.get(&place)?;
        (other != at).then(|| Pair {
            similarity: found.score,
            kept: at.min(other),
            gone: at.max(other),
        })
    });
    Ok(pairs.collect())
}
