//! Reading tokens in batches, with a cache of shared prefixes.

use std::sync::{Arc, Mutex, PoisonError};

use super::backend::{Backend, Sequence};
use super::config::DecoderConfig;
use super::error::DecoderError;
use super::graph::{Graph, Input};
use super::prompt::{Course, Prompt};

type Result<T> = std::result::Result<T, DecoderError>;

/// How many shared prefixes are cached; the least recently used is dropped.
const KEPT_PREFIXES: usize = 8;

/// The most rows of one forward pass. More would not be faster, and take memory.
pub(super) const BATCH_ROWS: usize = 512;

/// Rows whose logits are computed at once.
const LOGIT_ROWS: usize = 64;

/// A graph, and the sequences that many prompts continue.
pub(super) struct Engine<B: Backend> {
    graph: Graph<B>,
    hidden: usize,
    vocabulary: usize,
    /// Tokens whose keys and values fit into the memory that one call may take.
    budget: usize,
    /// The last used one at the end.
    prefixes: Mutex<Vec<Prefix<B::Sequence>>>,
    /// What prompts of [`Course`] continue, the last one at the end.
    held: Mutex<Vec<Prefix<B::Sequence>>>,
}

/// The part of the budget that may be held for prompts to continue: one n-th.
const HELD_SHARE: usize = 4;

/// A prefix that prompts share, and its computed sequence.
struct Prefix<S> {
    tokens: Vec<u32>,
    sequence: Arc<S>,
}

/// Tokens to be read after a sequence.
pub(super) struct Reading<S> {
    pub(super) tokens: Vec<u32>,
    pub(super) sequence: S,
    /// For how many of the last tokens hidden states are requested.
    pub(super) wanted: usize,
}

/// Which hidden states are requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// The final ones, normalized, from which logits are computed.
    Final,
    /// The residual stream after this layer. The sequences cannot be used afterwards.
    Residual(usize),
    /// Of each row the final one, followed by the residual stream after this layer.
    FinalAndResidual(usize),
}

impl<B: Backend> Engine<B> {
    pub(super) fn new(graph: Graph<B>, config: &DecoderConfig, cache_bytes: usize) -> Self {
        Self {
            budget: cache_bytes / config.bytes_per_token(),
            graph,
            hidden: config.hidden,
            vocabulary: config.vocabulary,
            prefixes: Mutex::default(),
            held: Mutex::default(),
        }
    }

    /// Tokens whose keys and values fit into the memory that one call may take.
    pub(super) fn budget(&self) -> usize {
        self.budget
    }

    /// Reads tokens in batches. Returns each reading's requested hidden states, `[wanted, hidden]`.
    pub(super) fn read(
        &self,
        readings: &mut [Reading<B::Sequence>],
        depth: Depth,
    ) -> Result<Vec<Vec<f32>>> {
        let mut hidden: Vec<Vec<f32>> = readings.iter().map(|_| Vec::new()).collect();
        let (mut next, mut done) = (0, 0);
        while next < readings.len() {
            let mut inputs = Vec::new();
            let mut selected = Vec::new();
            let mut owners = Vec::new();
            let mut rows = 0;
            let mut first = done;
            for (index, reading) in readings.iter_mut().enumerate().skip(next) {
                let total = reading.tokens.len();
                let end = total.min(first + BATCH_ROWS - rows);
                for place in first.max(total - reading.wanted.min(total))..end {
                    selected.push(rows + place - first);
                    owners.push(index);
                }
                rows += end - first;
                inputs.push(Input {
                    tokens: &reading.tokens[first..end],
                    sequence: &mut reading.sequence,
                });
                (next, done) = if end == total {
                    (index + 1, 0)
                } else {
                    (index, end)
                };
                if rows == BATCH_ROWS {
                    break;
                }
                first = 0;
            }
            let states = match depth {
                Depth::Final => self.graph.forward(&mut inputs, &selected)?,
                Depth::Residual(layer) => self.graph.residual(&mut inputs, &selected, layer)?,
                Depth::FinalAndResidual(layer) => {
                    self.graph
                        .forward_with_residual(&mut inputs, &selected, layer)?
                }
            };
            let width = states.len() / owners.len().max(1);
            for (state, owner) in states.chunks(width.max(1)).zip(owners) {
                hidden[owner].extend_from_slice(state);
            }
        }
        Ok(hidden)
    }

    /// Reads one or more tokens of each sequence in one batch. Returns every row's final hidden
    /// state.
    pub(super) fn next(&self, inputs: &mut [Input<'_, B::Sequence>]) -> Result<Vec<f32>> {
        let rows: usize = inputs.iter().map(|input| input.tokens.len()).sum();
        if rows == 0 {
            return Ok(Vec::new());
        }
        self.graph.forward(inputs, &(0..rows).collect::<Vec<_>>())
    }

    /// A sequence that holds `prefix`, with capacity for more tokens. The prefix is computed on its own,
    /// whether it is cached already or not.
    pub(super) fn after(&self, prefix: &[u32], more: usize) -> Result<B::Sequence> {
        if prefix.is_empty() {
            return self.graph.empty(more);
        }
        self.prefix(prefix)?.branch(more)
    }

    /// A sequence that holds a prefix of a prompt, and the length of that prefix in tokens: the longest
    /// held sequence that the prompt continues, otherwise the prefix that it shares with others. It has
    /// capacity for the rest.
    pub(super) fn continuing(&self, prompt: &Prompt) -> Result<(B::Sequence, usize)> {
        if prompt.course() != Course::Alone {
            let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            let tokens = prompt.tokens();
            let begins = |one: &&Prefix<B::Sequence>| {
                one.tokens.len() < tokens.len() && tokens.starts_with(&one.tokens)
            };
            let longest = held
                .iter()
                .filter(begins)
                .max_by_key(|one| one.tokens.len());
            if let Some(found) = longest {
                let known = found.tokens.len();
                return Ok((found.sequence.branch(tokens.len() - known)?, known));
            }
        }
        let (shared, rest) = prompt.parts();
        Ok((self.after(shared, rest.len())?, shared.len()))
    }

    /// Holds the sequence of some tokens, for prompts that continue them.
    pub(super) fn hold(&self, tokens: Vec<u32>, sequence: Arc<B::Sequence>) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|one| one.tokens != tokens);
        held.push(Prefix { tokens, sequence });
        let mut sum: usize = held.iter().map(|one| one.tokens.len()).sum();
        while sum > self.budget / HELD_SHARE && !held.is_empty() {
            sum -= held.remove(0).tokens.len();
        }
    }

    fn prefix(&self, tokens: &[u32]) -> Result<Arc<B::Sequence>> {
        let lock = || self.prefixes.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut kept = lock();
            if let Some(found) = kept.iter().position(|prefix| prefix.tokens == tokens) {
                let entry = kept.remove(found);
                let sequence = Arc::clone(&entry.sequence);
                kept.push(entry);
                return Ok(sequence);
            }
        }
        let mut reading = [Reading {
            tokens: tokens.to_vec(),
            sequence: self.graph.empty(tokens.len())?,
            wanted: 0,
        }];
        self.read(&mut reading, Depth::Final)?;
        let [reading] = reading;
        let sequence = Arc::new(reading.sequence);
        let mut kept = lock();
        if kept.len() >= KEPT_PREFIXES {
            kept.remove(0);
        }
        kept.push(Prefix {
            tokens: tokens.to_vec(),
            sequence: Arc::clone(&sequence),
        });
        Ok(sequence)
    }

    /// Computes the logits of hidden states `[rows, hidden]` and passes them on in blocks: the first
    /// row's index, and `[rows of the block, vocabulary]`.
    ///
    /// # Errors
    /// Logits that are not numbers.
    pub(super) fn logits(
        &self,
        hidden: &[f32],
        mut take: impl FnMut(usize, &[f32]) -> Result<()>,
    ) -> Result<()> {
        for (block, hidden) in hidden.chunks(LOGIT_ROWS * self.hidden).enumerate() {
            let logits = self.graph.logits(hidden.to_vec(), self.hidden)?;
            take(block * LOGIT_ROWS, &logits)?;
        }
        Ok(())
    }

    /// Entries in the vocabulary.
    pub(super) fn vocabulary(&self) -> usize {
        self.vocabulary
    }
}
