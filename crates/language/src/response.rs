//! The responses of language models.

use std::time::Duration;

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The model ended it.
    End,
    /// A stop string was generated.
    StopString,
    /// It reached the most tokens allowed, or the end of the context.
    Length,
    /// The caller cancelled it.
    Cancelled,
    /// A filter of the model server withheld it or its rest.
    Filtered,
    /// The model refused, and its server distinguishes that from an answer.
    Refused,
    /// The model called a tool instead.
    ToolCall,
}

impl Finish {
    /// Its name, in snake case.
    pub fn name(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::StopString => "stop_string",
            Self::Length => "length",
            Self::Cancelled => "cancelled",
            Self::Filtered => "filtered",
            Self::Refused => "refused",
            Self::ToolCall => "tool_call",
        }
    }
}

/// A generated continuation.
#[derive(Debug, Clone, PartialEq)]
pub struct Generation {
    /// The text, without the stop string and without the thoughts of the model.
    pub text: String,
    /// The words of the model's refusal, if it refused.
    pub refusal: Option<String>,
    /// How many tokens were generated.
    pub tokens: usize,
    /// Natural-log probability at temperature 1 of each token, and of the end-of-text token if the
    /// model ended with it and reports it: `[tokens]` or `[tokens + 1]`. `None` if the model reports
    /// none.
    pub logprobs: Option<Vec<f32>>,
    /// Entropy in nats of the distribution that each of these was chosen from, at temperature 1, if
    /// the model reports it.
    pub entropies: Option<Vec<f32>>,
    /// For a greedy answer, how much the probability of each of these exceeds that of the second most
    /// likely token, at temperature 1, if the model reports it.
    pub margins: Option<Vec<f32>>,
    /// Why it ended.
    pub finish: Finish,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Time to read the prompt, or its share if several were read at once; zero if the model does
    /// not measure it apart from generation.
    pub prompt_time: Duration,
    /// Time to generate the answer.
    pub write_time: Duration,
}

/// A token with its log probability.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenLogprob {
    /// The token id.
    pub id: u32,
    /// The text that the token adds; its name in the vocabulary if it is not text by itself, such as a part of a character.
    pub text: String,
    /// Natural-log probability at temperature 1, given all tokens before it; `None` for the first token of a text.
    pub logprob: Option<f32>,
    /// The most likely tokens at this position with their log probabilities, best first, the lower id among equals.
    pub top: Vec<(String, f32)>,
}

/// How likely a continuation is.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// One natural-log probability per token, each given all before it.
    pub logprobs: Vec<f32>,
}

impl Score {
    /// Natural-log probability of the whole continuation; NaN without tokens, so that no evidence does not count as certainty.
    pub fn sum(&self) -> f64 {
        match self.logprobs.is_empty() {
            true => f64::NAN,
            false => total(&self.logprobs),
        }
    }
}

/// The sum of numbers such as log probabilities, in double precision.
pub fn total(numbers: &[f32]) -> f64 {
    numbers.iter().map(|&number| f64::from(number)).sum()
}

/// Probabilities in proportion to the exponentials of these numbers, such as log probabilities; all NaN if one
/// is, or if none is possible.
pub fn softmax(logits: &[f64]) -> Vec<f64> {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logits.iter().map(|logit| (logit - top).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tokens_are_not_certain() {
        let nothing = Score {
            logprobs: Vec::new(),
        };
        assert!(nothing.sum().is_nan());
        for scores in [[f64::NAN, -1.0], [f64::NEG_INFINITY; 2]] {
            assert!(
                softmax(&scores)
                    .iter()
                    .all(|probability| probability.is_nan()),
                "{scores:?}"
            );
        }
    }
}
