//! How likely given continuations are.

use std::sync::Arc;

use ken_language::{softmax, total};
use rayon::prelude::*;

use super::Decoder;
use super::backend::{Backend, Sequence};
use super::engine::{Depth, Engine, Reading};
use super::error::DecoderError;
use super::prompt::Prompt;
use super::runtime::with_engine;
use super::sampling::log_probability;

/// A request for the probabilities of continuations of a tokenized prompt.
pub type ScoreRequest<'a> = ken_language::ScoreRequest<'a, Prompt>;

/// A continuation's tokens and their natural-log probabilities, each given all before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// The token ids.
    pub tokens: Vec<u32>,
    /// One natural-log probability a token.
    pub logprobs: Vec<f32>,
}

impl Score {
    /// Natural-log probability of the whole continuation.
    #[must_use]
    pub fn sum(&self) -> f64 {
        total(&self.logprobs)
    }
}

impl Decoder {
    /// Scores several continuations of one prompt.
    ///
    /// # Errors
    /// As [`Decoder::score_many`].
    pub fn score(
        &self,
        prompt: &Prompt,
        continuations: &[&str],
    ) -> Result<Vec<Score>, DecoderError> {
        let request = ScoreRequest {
            prompt,
            continuations,
        };
        let scores = self.score_many(&[request])?;
        Ok(scores.into_iter().next().unwrap_or_default())
    }

    /// The probability of each choice, given that what follows the prompt is one of them.
    ///
    /// # Errors
    /// As [`Decoder::score_many`].
    pub fn choose(&self, prompt: &Prompt, choices: &[&str]) -> Result<Vec<f64>, DecoderError> {
        let sums: Vec<f64> = self
            .score(prompt, choices)?
            .iter()
            .map(Score::sum)
            .collect();
        Ok(softmax(&sums))
    }

    /// Scores continuations of many prompts in batches; each prompt is read once. A special token
    /// written in a continuation is read as such only after a [`Decoder::raw_prompt`].
    ///
    /// # Errors
    /// An empty continuation, or one that does not fit into the context; weights that give no
    /// numbers.
    pub fn score_many(
        &self,
        requests: &[ScoreRequest<'_>],
    ) -> Result<Vec<Vec<Score>>, DecoderError> {
        let tokenized = requests
            .iter()
            .map(|request| {
                let continuations = request
                    .continuations
                    .iter()
                    .map(|text| self.continuation(request.prompt, text))
                    .collect::<Result<Vec<_>, _>>()?;
                Ok((request.prompt, continuations))
            })
            .collect::<Result<Vec<_>, DecoderError>>()?;
        with_engine!(self.engines.exact(), |engine| engine.score(tokenized))
    }

    /// The tokens of a continuation.
    fn continuation(&self, prompt: &Prompt, text: &str) -> Result<Vec<u32>, DecoderError> {
        let tokens = self.known(self.tokenizer.encode_continuation(text, prompt.reading())?)?;
        if tokens.is_empty() {
            return Err(DecoderError::EmptyText {
                what: "continuation",
            });
        }
        let received = prompt.tokens().len() + tokens.len();
        let context = self.context_tokens();
        if received > context {
            return Err(DecoderError::ContextExceeded { received, context });
        }
        Ok(tokens)
    }
}

/// A prompt and the tokens of its continuations.
type Tokenized<'a> = (&'a Prompt, Vec<Vec<u32>>);

/// A hidden state, and the token that followed it.
struct Step {
    request: usize,
    continuation: usize,
    token: u32,
}

impl<B: Backend> Engine<B> {
    fn score(&self, requests: Vec<Tokenized<'_>>) -> Result<Vec<Vec<Score>>, DecoderError> {
        let mut scores = Vec::with_capacity(requests.len());
        let mut group: Vec<Tokenized<'_>> = Vec::new();
        let mut held = 0;
        for request in requests {
            let tokens: usize = request.1.iter().map(Vec::len).sum();
            let more = request.0.parts().1.len() + tokens;
            if !group.is_empty() && held + more > self.budget() {
                scores.extend(self.score_group(std::mem::take(&mut group))?);
                held = 0;
            }
            held += more;
            group.push(request);
        }
        scores.extend(self.score_group(group)?);
        Ok(scores)
    }

    /// Scores requests whose keys and values all fit into memory.
    fn score_group(&self, requests: Vec<Tokenized<'_>>) -> Result<Vec<Vec<Score>>, DecoderError> {
        let mut steps = Vec::new();
        let mut states = Vec::new();

        // The prompts; a single continuation is read with its prompt.
        let mut readings = Vec::with_capacity(requests.len());
        for (prompt, continuations) in &requests {
            let (shared, rest) = prompt.parts();
            let mut tokens = rest.to_vec();
            let mut wanted = 1;
            if let [only] = continuations.as_slice() {
                tokens.extend_from_slice(&only[..only.len() - 1]);
                wanted = only.len();
            }
            readings.push(Reading {
                sequence: self.after(shared, tokens.len())?,
                tokens,
                wanted,
            });
        }
        let read = self.read(&mut readings, Depth::Final)?;
        let mut branches = Vec::new();
        for (request, ((reading, hidden), (_, continuations))) in
            readings.into_iter().zip(read).zip(&requests).enumerate()
        {
            if let [only] = continuations.as_slice() {
                steps.extend(only.iter().map(|&token| Step {
                    request,
                    continuation: 0,
                    token,
                }));
                states.extend(hidden);
                continue;
            }
            let sequence = Arc::new(reading.sequence);
            for (continuation, tokens) in continuations.iter().enumerate() {
                steps.push(Step {
                    request,
                    continuation,
                    token: tokens[0],
                });
                states.extend_from_slice(&hidden);
                if tokens.len() > 1 {
                    let before = &tokens[..tokens.len() - 1];
                    branches.push((
                        request,
                        continuation,
                        &tokens[1..],
                        Reading {
                            sequence: sequence.branch(before.len())?,
                            tokens: before.to_vec(),
                            wanted: before.len(),
                        },
                    ));
                }
            }
        }

        // Where there are several continuations, each branches from its prompt.
        let mut readings = Vec::with_capacity(branches.len());
        for (request, continuation, after, reading) in branches {
            steps.extend(after.iter().map(|&token| Step {
                request,
                continuation,
                token,
            }));
            readings.push(reading);
        }
        states.extend(
            self.read(&mut readings, Depth::Final)?
                .into_iter()
                .flatten(),
        );

        let mut scores: Vec<Vec<Score>> = requests
            .into_iter()
            .map(|(_, continuations)| {
                let unscored = |tokens: Vec<u32>| Score {
                    logprobs: Vec::with_capacity(tokens.len()),
                    tokens,
                };
                continuations.into_iter().map(unscored).collect()
            })
            .collect();
        self.logits(&states, |first, logits| {
            let logprobs: Vec<Option<f32>> = logits
                .par_chunks(self.vocabulary())
                .zip(&steps[first..])
                .map(|(logits, step)| log_probability(logits, step.token))
                .collect();
            for (step, logprob) in steps[first..].iter().zip(logprobs) {
                scores[step.request][step.continuation]
                    .logprobs
                    .push(logprob.ok_or(DecoderError::NotFinite)?);
            }
            Ok(())
        })?;
        Ok(scores)
    }
}
