//! Near duplicates by the cosine of stored vectors. One of the two most similar passages is pruned, then one of the
//! next pair with both left, and so on, so that a pruned passage always leaves a near duplicate in the corpus. When
//! no pair is left, passages are pruned in descending order of similarity to their nearest neighbor.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use ken_answer::AnswerError;
use ken_corpus::{Passage, PassageId};
use ken_eval::run::in_memory;
use ken_index::{IndexError, Mode, Query, RowBuffer};
use ken_milvus::Collection;
use rayon::prelude::*;

use super::error::PruningError;
use super::order::{Scored, Work};
use super::vectors::StoredVectors;

/// Nearest passages that are compared with each passage.
const NEIGHBORS: usize = 8;

/// Passages between checks for cancellation.
const BATCH: usize = 1024;

/// Passages in Milvus whose neighbors one request asks for.
const ASKED_TOGETHER: usize = 64;

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
    let scores = scores(all.len(), pairs);
    for (passage, score) in all.iter_mut().zip(scores) {
        passage.score = score;
    }
    Ok(Some(all))
}

/// As [`by_similarity`], of passages in Milvus, of which `collection` finds all and `ids` are sorted. Returns a score for
/// each of them.
pub(super) fn by_similarity_in_milvus(
    ids: &[PassageId],
    collection: &Collection,
    progress: &mut dyn FnMut(usize, usize),
    cancel: &AtomicBool,
) -> Result<Option<Vec<f32>>, PruningError> {
    let places = ids.iter().enumerate();
    let places: HashMap<&PassageId, usize> = places.map(|(index, id)| (id, index)).collect();
    let pairs = in_memory(ids, ASKED_TOGETHER, progress, cancel, |batch| {
        let stored = collection.stored(batch).map_err(AnswerError::from)?;
        let (passages, vectors): (Vec<Passage>, Vec<Vec<f32>>) = stored.into_iter().unzip();
        let nearest = collection.nearest(&vectors, NEIGHBORS + 1);
        let nearest = nearest.map_err(AnswerError::from)?;
        let pairs = passages.iter().zip(nearest).map(|(passage, nearest)| {
            let Some(&index) = places.get(&passage.id) else {
                return Vec::new();
            };
            let nearest = nearest.into_iter();
            let places = nearest.filter_map(|(id, cosine)| Some((*places.get(&id)?, cosine)));
            pairs_of(index, places).collect()
        });
        Ok::<_, PruningError>(pairs.collect())
    })?;
    Ok(pairs.map(|pairs| scores(ids.len(), pairs)))
}

/// The score of each passage, by its pairs with its neighbors.
fn scores(passages: usize, pairs: Vec<Vec<Pair>>) -> Vec<f32> {
    let mut pairs: Vec<Pair> = pairs.into_iter().flatten().collect();
    pairs.sort_unstable_by(|a, b| {
        let by_similarity = b.similarity.total_cmp(&a.similarity);
        by_similarity.then_with(|| (a.gone, a.kept).cmp(&(b.gone, b.kept)))
    });
    let mut nearest = vec![-1.0_f32; passages];
    let mut gone: Vec<Option<f32>> = vec![None; passages];
    for pair in pairs {
        nearest[pair.gone] = nearest[pair.gone].max(pair.similarity);
        nearest[pair.kept] = nearest[pair.kept].max(pair.similarity);
        if gone[pair.gone].is_none() && gone[pair.kept].is_none() {
            gone[pair.gone] = Some(pair.similarity);
        }
    }
    let scores = gone.into_iter().zip(nearest);
    scores
        .map(|(gone, nearest)| gone.unwrap_or(nearest - LOWERED))
        .collect()
}

/// The pairs of a passage and those nearest to it, itself left out. Of each pair, the later one is to be pruned.
fn pairs_of(
    index: usize,
    nearest: impl Iterator<Item = (usize, f32)>,
) -> impl Iterator<Item = Pair> {
    let others = nearest.filter(move |(other, _)| *other != index);
    others.map(move |(other, similarity)| Pair {
        similarity,
        kept: index.min(other),
        gone: index.max(other),
    })
}

/// The pairs of a passage on disk.
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
    let nearest = hits.into_iter().filter_map(|hit| {
        let place = (hit.segment as u32, hit.ordinal as u32);
        Some((*places.get(&place)?, hit.score))
    });
    Ok(pairs_of(index, nearest).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pruned_passage_leaves_a_near_duplicate() {
        // Three near duplicates and one passage that is like none of them.
        let nearest: [&[(usize, f32)]; 4] = [
            &[(0, 1.0), (1, 0.9), (2, 0.8), (3, 0.1)],
            &[(1, 1.0), (0, 0.9), (2, 0.7)],
            &[(0, 0.8), (1, 0.7)],
            &[(0, 0.1)],
        ];
        let pairs = nearest.iter().enumerate();
        let pairs: Vec<Vec<Pair>> = pairs
            .map(|(index, nearest)| pairs_of(index, nearest.iter().copied()).collect())
            .collect();
        // 1 goes for 0, then 2 for 0, then 3 for 0; 0 is left, 0.9 from its nearest.
        assert_eq!(scores(4, pairs), [0.9 - LOWERED, 0.9, 0.8, 0.1]);
    }
}
