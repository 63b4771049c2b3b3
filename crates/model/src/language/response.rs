//! What a language model answers.

use std::time::Duration;

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The model ended it.
    End,
    /// A stop string came.
    StopString,
    /// As many tokens as allowed, or as the context holds.
    Length,
    /// The caller broke off.
    Cancelled,
}

/// A written continuation.
#[derive(Debug, Clone, PartialEq)]
pub struct Generation {
    /// The text, without the stop string.
    pub text: String,
    /// How many tokens were written.
    pub tokens: usize,
    /// Natural-log probability at temperature 1 of each token, and of the model's end where it ended
    /// by a token that is not counted and the model tells of it: `[tokens]` or `[tokens + 1]`. `None`
    /// where it does not tell.
    pub logprobs: Option<Vec<f32>>,
    /// Entropy in nats of what each of these was chosen from, at temperature 1, where the model tells.
    pub entropies: Option<Vec<f32>>,
    /// Of a greedy answer: how far the probability of each of these is above that of the second most
    /// likely token, at temperature 1, where the model tells.
    pub margins: Option<Vec<f32>>,
    /// Why it ended.
    pub finish: Finish,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Time to read the prompt, or its share where several were read at once; zero where the model does not tell it from the writing.
    pub prompt_time: Duration,
    /// Time to write the answer.
    pub write_time: Duration,
}

/// How likely a continuation is.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// One natural-log probability a token, each given all before it.
    pub logprobs: Vec<f32>,
}

impl Score {
    /// Natural-log probability of the whole continuation.
    #[must_use]
    pub fn sum(&self) -> f64 {
        total(&self.logprobs)
    }
}

/// The sum of log probabilities, exact where single precision is not.
#[must_use]
pub fn total(logprobs: &[f32]) -> f64 {
    logprobs.iter().map(|&logprob| f64::from(logprob)).sum()
}

/// Probabilities of which only the ratios matter, by their natural logs.
#[must_use]
pub fn shares(logprobs: &[f64]) -> Vec<f64> {
    let top = logprobs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logprobs.iter().map(|sum| (sum - top).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}
