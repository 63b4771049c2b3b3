//! Exact search of one segment: the dot product of the query with every live vector.

use std::ops::Range;

use rayon::prelude::*;

use super::{RowBuffer, SegmentVectors};
use crate::IndexError;
use crate::dot::dot_rows;
use crate::top_k::{Place, TopK};

/// What one task scores between two looks at the shared queue: about 1 MiB.
pub(super) const NUMBERS_PER_TASK: usize = 1 << 18;

/// One passage in so many has to be live for all to be scored in one go, which is quicker than
/// picking out the live ones.
const SPARSE: usize = 4;

/// The best `k` live passages of the segment that has this number in the corpus, on all threads.
///
/// # Shapes
/// `query`: `[dimensions]`, not empty.
///
/// # Errors
/// Where the vectors cannot be read.
pub(super) fn search(
    vectors: &SegmentVectors,
    segment: u32,
    query: &[f32],
    k: usize,
    live_count: usize,
    is_live: &(impl Fn(Place) -> bool + Sync),
) -> Result<TopK, IndexError> {
    let is_sparse = live_count < vectors.passages() / SPARSE;
    let rows_per_task = (NUMBERS_PER_TASK / query.len()).max(1);
    let tasks = vectors.passages().div_ceil(rows_per_task);
    let score = |room: &mut Room, rows: Range<usize>| {
        let first = rows.start as u32;
        let rows = vectors.rows(rows, &mut room.buffer)?;
        dot_rows(rows, query, &mut room.scores);
        for (ordinal, &score) in (first..).zip(&room.scores) {
            room.best.offer(score, Place { segment, ordinal }, is_live);
        }
        Ok::<_, IndexError>(())
    };
    let new = || Room {
        best: TopK::new(k),
        scores: Vec::new(),
        buffer: RowBuffer::default(),
    };
    (0..tasks)
        .into_par_iter()
        .try_fold(new, |mut room, task| {
            let start = task * rows_per_task;
            let rows = start..(start + rows_per_task).min(vectors.passages());
            if is_sparse {
                for row in rows {
                    let ordinal = row as u32;
                    if is_live(Place { segment, ordinal }) {
                        score(&mut room, row..row + 1)?;
                    }
                }
            } else {
                score(&mut room, rows)?;
            }
            Ok(room)
        })
        .map(|room| room.map(|room| room.best))
        .try_reduce(|| TopK::new(k), |one, other| Ok(one.merge(other)))
}

/// What a thread works in.
struct Room {
    best: TopK,
    scores: Vec<f32>,
    buffer: RowBuffer,
}
