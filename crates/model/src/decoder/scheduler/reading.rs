//! Known tokens that are read into a sequence piece by piece.

use std::time::Duration;

use super::job::{CallId, Place};
use super::prefixes::PrefixId;
use crate::decoder::graph::Depth;
use crate::decoder::graph::backend::Input;
use crate::decoder::scheduler::sampling::{TokenLogprobs, log_probability, token_logprobs};

/// A kind of work that can share a forward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lane {
    /// Whether it is computed exactly.
    pub(super) exact: bool,
    pub(super) depth: Depth,
}

/// The purpose of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    /// A prefix that several requests begin with.
    Prefix(PrefixId),
    /// The prompt of a request.
    Prompt(Place),
    /// One of the continuations to score.
    Continuation(Place, usize),
}

/// The wanted results of the last tokens.
#[derive(Debug)]
pub(super) enum Wanted {
    Nothing,
    /// The logits after the last token.
    Logits,
    /// The probability of each of these tokens after the last one.
    Next(Vec<u32>),
    /// The probability of each of these tokens after the one before; the first follows the token that is as many from
    /// the end.
    Each(Vec<u32>),
    /// The hidden state of the last token only.
    State,
    /// The log probabilities of these tokens, each after the read token at the same index, with the `top` most likely
    /// ones at each position; with `next` also the logits after the last token.
    Logprobs {
        tokens: Vec<u32>,
        top: usize,
        next: bool,
    },
}

impl Wanted {
    /// For how many of the last tokens hidden states are requested.
    fn rows(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Logits | Self::Next(_) | Self::State => 1,
            Self::Each(tokens) => tokens.len(),
            Self::Logprobs { tokens, next, .. } => tokens.len() + usize::from(*next),
        }
    }
}

/// The results of a reading.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    pub(super) logits: Vec<f32>,
    pub(super) logprobs: Vec<f32>,
    pub(super) state: Vec<f32>,
    pub(super) prompt_logprobs: Vec<TokenLogprobs>,
}

/// Tokens to read after a prefix.
pub(super) struct Reading<S> {
    pub(super) call: CallId,
    pub(super) goal: Goal,
    pub(super) lane: Lane,
    /// The prefix that they follow; `None` at the start of a text.
    pub(super) after: Option<PrefixId>,
    /// The length of that prefix in tokens.
    pub(super) before: usize,
    pub(super) tokens: Vec<u32>,
    pub(super) wanted: Wanted,
    /// Tokens read.
    pub(super) read: usize,
    /// `None` until its prefix has been read.
    pub(super) sequence: Option<S>,
    pub(super) found: Outputs,
    pub(super) time: Duration,
}

impl<S> Reading<S> {
    /// Tokens of which none has been read, at the start of a text.
    pub(super) fn new(
        call: CallId,
        goal: Goal,
        lane: Lane,
        tokens: Vec<u32>,
        wanted: Wanted,
    ) -> Self {
        Self {
            call,
            goal,
            lane,
            after: None,
            before: 0,
            tokens,
            wanted,
            read: 0,
            sequence: None,
            found: Outputs::default(),
            time: Duration::ZERO,
        }
    }

    /// Tokens that can be read now.
    pub(super) fn left(&self) -> usize {
        match self.sequence {
            Some(_) => self.tokens.len() - self.read,
            None => 0,
        }
    }

    /// Whether all has been read.
    pub(super) fn is_done(&self) -> bool {
        self.read == self.tokens.len()
    }

    /// The rows among the next `rows` tokens whose hidden states are wanted, each with its index among all wanted
    /// rows.
    pub(super) fn wanted_rows(&self, rows: usize) -> impl Iterator<Item = (usize, usize)> {
        let first = self.tokens.len() - self.wanted.rows();
        let read = self.read;
        (first.max(read)..read + rows).map(move |place| (place - read, place - first))
    }

    /// The next `rows` tokens as input, read into the sequence.
    pub(super) fn input(&mut self, rows: usize) -> Option<Input<'_, S>> {
        Some(Input {
            tokens: &self.tokens[self.read..self.read + rows],
            sequence: self.sequence.as_mut()?,
        })
    }

    /// The result of a wanted row's logits; `None` if a logit is NaN or positive infinity.
    pub(super) fn value(&self, number: usize, logits: &[f32]) -> Option<Value> {
        match &self.wanted {
            Wanted::Nothing | Wanted::State => Some(Value::Logprobs(Vec::new())),
            Wanted::Logits => Some(Value::Logits(logits.to_vec())),
            Wanted::Next(tokens) => {
                let logprobs = tokens.iter().map(|&token| log_probability(logits, token));
                logprobs.collect::<Option<_>>().map(Value::Logprobs)
            }
            Wanted::Each(tokens) => {
                let logprob = log_probability(logits, tokens[number])?;
                Some(Value::Logprobs(vec![logprob]))
            }
            Wanted::Logprobs { tokens, top, .. } => match tokens.get(number) {
                Some(&token) => token_logprobs(logits, token, *top).map(Value::Token),
                None => Some(Value::Logits(logits.to_vec())),
            },
        }
    }
}

/// The result of one row's logits.
pub(super) enum Value {
    Logits(Vec<f32>),
    Logprobs(Vec<f32>),
    Token(TokenLogprobs),
}

impl Outputs {
    pub(super) fn take(&mut self, value: Value) {
        match value {
            Value::Logits(logits) => self.logits = logits,
            Value::Logprobs(logprobs) => self.logprobs.extend(logprobs),
            Value::Token(token) => self.prompt_logprobs.push(token),
        }
    }
}
