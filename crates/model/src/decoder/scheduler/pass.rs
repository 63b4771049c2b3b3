//! One forward pass: the next token of every text that is being generated, and pieces of readings.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rayon::ThreadPool;
use rayon::prelude::*;

use super::branch::{Branch, Writer};
use super::reading::{Lane, Reading};
use crate::decoder::error::DecoderError;
use crate::decoder::graph::backend::{Backend, Input};
use crate::decoder::graph::{Depth, Graph};

/// Rows whose logits are computed at once.
const LOGIT_ROWS: usize = 64;

/// The models and sizes of a pass.
pub(super) struct Computer<'a, B: Backend> {
    pub(super) graph: &'a Graph<B>,
    pub(super) writer: &'a Writer,
    /// Width of a hidden state.
    pub(super) hidden: usize,
    /// Entries in the vocabulary.
    pub(super) vocabulary: usize,
}

/// A piece of a reading.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// The reading's index.
    pub(super) reading: usize,
    pub(super) rows: usize,
}

/// A row whose hidden state a reading wants.
struct Row {
    reading: usize,
    /// Its index among all rows that the reading wants.
    number: usize,
}

impl<B: Backend> Computer<'_, B> {
    /// Writes a token of every branch, and reads pieces. Returns the readings whose logits were NaN or positive
    /// infinity.
    ///
    /// # Errors
    /// A computation that failed as a whole.
    pub(super) fn run(
        &self,
        lane: Lane,
        branches: &mut [&mut Branch<B::Sequence>],
        readings: &mut [Reading<B::Sequence>],
        pieces: &[Piece],
    ) -> Result<Vec<usize>, DecoderError> {
        let written = branches.iter().map(|branch| branch.rows()).sum();
        let mut selected: Vec<usize> = (0..written).collect();
        let mut wanted = Vec::new();
        let mut first = written;
        for piece in pieces {
            for (row, number) in readings[piece.reading].wanted_rows(piece.rows) {
                selected.push(first + row);
                wanted.push(Row {
                    reading: piece.reading,
                    number,
                });
            }
            first += piece.rows;
        }
        // Branches only write, so the rows with residual streams are those of readings.
        let (last, residuals) = self.forward(lane.depth, branches, readings, pieces, &selected)?;
        for (row, residual) in wanted.iter().zip(residuals.chunks(self.hidden)) {
            readings[row.reading].found.state = residual.to_vec();
        }
        self.take(&last, branches, readings, &wanted)
    }

    fn forward(
        &self,
        depth: Depth,
        branches: &mut [&mut Branch<B::Sequence>],
        readings: &mut [Reading<B::Sequence>],
        pieces: &[Piece],
        selected: &[usize],
    ) -> Result<(Vec<f32>, Vec<f32>), DecoderError> {
        let mut inputs: Vec<Input<'_, B::Sequence>> =
            branches.iter_mut().map(|branch| branch.input()).collect();
        let mut pieces = pieces.iter().peekable();
        for (index, reading) in readings.iter_mut().enumerate() {
            if let Some(piece) = pieces.next_if(|piece| piece.reading == index) {
                inputs.extend(reading.input(piece.rows));
            }
        }
        self.graph.forward(&mut inputs, selected, depth)
    }

    /// Passes the logits of hidden states to the branches, then to the readings that want them.
    fn take(
        &self,
        states: &[f32],
        branches: &mut [&mut Branch<B::Sequence>],
        readings: &mut [Reading<B::Sequence>],
        wanted: &[Row],
    ) -> Result<Vec<usize>, DecoderError> {
        let mut failed = Vec::new();
        let (mut states, mut branches, mut wanted) = (states, branches, wanted);
        while !states.is_empty() {
            // All rows of a branch are in one block.
            let mut left = LOGIT_ROWS;
            let fits = branches.iter().take_while(|branch| {
                let rest = left.checked_sub(branch.rows());
                left = rest.unwrap_or(left);
                rest.is_some()
            });
            let (now, later) = branches.split_at_mut(fits.count());
            let others = match later.is_empty() {
                true => left.min(wanted.len()),
                false => 0,
            };
            let (rows, after) = wanted.split_at(others);
            let count: usize = now.iter().map(|branch| branch.rows()).sum();
            let (block, rest) = states.split_at((count + others) * self.hidden);
            (states, branches, wanted) = (rest, later, after);
            let logits = self.graph.logits(block.to_vec(), self.hidden)?;
            let (mut for_branches, for_readings) = logits.split_at(count * self.vocabulary);
            let writes = now.iter_mut().map(|branch| {
                let own;
                (own, for_branches) = for_branches.split_at(branch.rows() * self.vocabulary);
                (branch, own)
            });
            let writes: Vec<_> = writes.collect();
            writes
                .into_par_iter()
                .for_each(|(branch, logits)| branch.take(logits, self.writer));
            let values: Vec<_> = for_readings
                .par_chunks(self.vocabulary)
                .zip(rows)
                .map(|(logits, row)| readings[row.reading].value(row.number, logits))
                .collect();
            for (row, value) in rows.iter().zip(values) {
                match value {
                    Some(value) => readings[row.reading].found.take(value),
                    None => failed.push(row.reading),
                }
            }
        }
        Ok(failed)
    }
}

/// Computes in the threads of a pool. Failures and panics become an error.
pub(super) fn in_pool<R: Send>(
    pool: &ThreadPool,
    compute: impl FnOnce() -> Result<R, DecoderError> + Send,
) -> Result<R, String> {
    match catch_unwind(AssertUnwindSafe(|| pool.install(compute))) {
        Ok(computed) => computed.map_err(|error| error.to_string()),
        Err(panic) => Err(words(panic.as_ref()).to_owned()),
    }
}

/// The message of a panic.
fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic")
}
