//! The probabilities of given continuations.

use ken_language::total;

use crate::decoder::Decoder;
use crate::decoder::error::DecoderError;
use crate::decoder::scheduler::shared_prefix::{kept_length, shared_lengths};
use crate::decoder::scheduler::{Job, Message, Work};
use crate::decoder::text::prompt::Prompt;

/// A request for the probabilities of continuations of a tokenized prompt.
pub type ScoreRequest<'a> = ken_language::ScoreRequest<'a, Prompt>;

/// A continuation's tokens and their natural-log probabilities, each given all before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// The token ids.
    pub tokens: Vec<u32>,
    /// One natural-log probability per token.
    pub logprobs: Vec<f32>,
}

impl Score {
    /// Natural-log probability of the whole continuation.
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
        let request = ScoreRequest::new(prompt, continuations);
        let scores = self.score_many(&[request])?;
        Ok(scores.into_iter().next().unwrap_or_default())
    }

    /// Scores continuations of many prompts; each prompt is read once. A special token spelled out in a continuation
    /// is read as a token only after a [`Decoder::raw_prompt`].
    ///
    /// # Errors
    /// An empty continuation, or one that does not fit into the context; a full queue of callers; weights whose
    /// logits are not finite.
    pub fn score_many(
        &self,
        requests: &[ScoreRequest<'_>],
    ) -> Result<Vec<Vec<Score>>, DecoderError> {
        let tokenized = requests.iter().map(|request| {
            let texts = request.continuations.iter();
            let tokens = texts.map(|text| self.continuation(request.prompt, text));
            tokens.collect::<Result<Vec<_>, _>>()
        });
        let tokenized = tokenized.collect::<Result<Vec<_>, DecoderError>>()?;
        let prompts: Vec<&Prompt> = requests.iter().map(|request| request.prompt).collect();
        let jobs = requests
            .iter()
            .zip(shared_lengths(&prompts))
            .zip(&tokenized);
        let jobs = jobs.map(|((request, shared), tokens)| {
            // What was read to write is kept.
            let kept = kept_length(request.prompt, &shared).filter(|_| !request.exact);
            Job {
                prompt: request.prompt.clone(),
                shared: shared.into_iter().chain(kept).collect(),
                work: Work::Score {
                    continuations: tokens.clone(),
                    exact: request.exact,
                },
            }
        });
        let mut scores: Vec<Vec<Score>> = requests.iter().map(|_| Vec::new()).collect();
        if requests.is_empty() {
            return Ok(scores);
        }
        let call = self.scheduler.call(jobs.collect())?;
        for _ in requests {
            if let Message::Scored { request, logprobs } = call.wait(&self.cancel)? {
                let pairs = tokenized[request].iter().zip(logprobs);
                let score = |(tokens, logprobs): (&Vec<u32>, _)| Score {
                    tokens: tokens.clone(),
                    logprobs,
                };
                scores[request] = pairs.map(score).collect();
            }
        }
        Ok(scores)
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
