//! Exact search of one segment: the dot product of the query with every live vector.

use std::ops::Range;

use rayon::prelude::*;

use super::{RowBuffer, SegmentQuery, SegmentVectors};
use crate::IndexError;
use crate::dot::dot_rows;
use crate::top_k::{Place, TopK};

/// The numbers that one task scores at a time: about 1 MiB.
pub(super) const NUMBERS_PER_TASK: usize = 1 << 18;

/// If at least one passage in this many is live, all are scored, which is quicker than picking out
/// the live ones.
const SPARSE: usize = 4;

/// The best `k` live passages of a segment, on all threads. The query is not empty.
pub(super) fn search(
    vectors: &SegmentVectors,
    query: &SegmentQuery<'_>,
    is_live: &(impl Fn(Place) -> bool + Sync),
) -> Result<TopK, IndexError> {
    let &SegmentQuery {
        vector,
        k,
        segment,
        live_count,
    } = query;
    let is_sparse = live_count < vectors.passages() / SPARSE;
    let rows_per_task = (NUMBERS_PER_TASK / vector.len()).max(1);
    let tasks = vectors.passages().div_ceil(rows_per_task);
    let score = |scratch: &mut Scratch, rows: Range<usize>| {
        let first = rows.start as u32;
        let rows = vectors.rows(rows, &mut scratch.buffer)?;
        dot_rows(rows, vector, &mut scratch.scores);
        for (ordinal, &score) in (first..).zip(&scratch.scores) {
            scratch
                .best
                .offer(score, Place { segment, ordinal }, is_live);
        }
        Ok::<_, IndexError>(())
    };
    let new = || Scratch {
        best: TopK::new(k),
        scores: Vec::new(),
        buffer: RowBuffer::default(),
    };
    (0..tasks)
        .into_par_iter()
        .try_fold(new, |mut scratch, task| {
            let start = task * rows_per_task;
            let rows = start..(start + rows_per_task).min(vectors.passages());
            if is_sparse {
                for row in rows {
                    let ordinal = row as u32;
                    if is_live(Place { segment, ordinal }) {
                        score(&mut scratch, row..row + 1)?;
                    }
                }
            } else {
                score(&mut scratch, rows)?;
            }
            Ok(scratch)
        })
        .map(|scratch| scratch.map(|scratch| scratch.best))
        .try_reduce(|| TopK::new(k), |best, other| Ok(best.merge(other)))
}

/// The buffers of a thread.
struct Scratch {
    best: TopK,
    scores: Vec<f32>,
    buffer: RowBuffer,
}
