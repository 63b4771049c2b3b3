//! How likely given continuations are.

use super::Decoder;
use super::error::DecoderError;
use super::prefix::Prompt;
use super::sampling::log_probability;

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
        self.logprobs
            .iter()
            .map(|&logprob| f64::from(logprob))
            .sum()
    }
}

impl Decoder {
    /// Scores several continuations of one prompt, which is read once. A special token written
    /// in a continuation is read as such only after a [`Decoder::raw_prompt`].
    ///
    /// # Errors
    /// An empty continuation, or one that does not fit into the context.
    pub fn score(
        &self,
        prompt: &Prompt,
        continuations: &[&str],
    ) -> Result<Vec<Score>, DecoderError> {
        let continuations = continuations
            .iter()
            .map(|text| {
                match self.known(self.tokenizer.encode_continuation(text, prompt.reading())?)? {
                    tokens if tokens.is_empty() => Err(DecoderError::EmptyText {
                        what: "continuation",
                    }),
                    tokens => Ok(tokens),
                }
            })
            .collect::<Result<Vec<_>, _>>()?;
        let longest = continuations.iter().map(Vec::len).max().unwrap_or(0);
        let received = prompt.tokens().len() + longest;
        let context = self.context_tokens();
        if received > context {
            return Err(DecoderError::ContextExceeded { received, context });
        }
        let (mut cache, hidden) = self.read(prompt, longest)?;
        let read = cache.length();
        let first = self.graph.logits(&hidden)?.squeeze(0)?.to_vec1::<f32>()?;
        continuations
            .into_iter()
            .map(|tokens| {
                let mut logprobs = vec![log_probability(&first, tokens[0])];
                if tokens.len() > 1 {
                    cache.truncate(read);
                    let hidden = self
                        .graph
                        .forward(&tokens[..tokens.len() - 1], &mut cache)?;
                    let logits = self.graph.logits(&hidden)?.to_vec2::<f32>()?;
                    let later = logits.iter().zip(&tokens[1..]);
                    logprobs.extend(later.map(|(logits, &token)| log_probability(logits, token)));
                }
                Ok(Score { tokens, logprobs })
            })
            .collect()
    }

    /// The probability of each choice, given that the answer is one of them.
    ///
    /// # Errors
    /// As [`Decoder::score`].
    pub fn choose(&self, prompt: &Prompt, choices: &[&str]) -> Result<Vec<f64>, DecoderError> {
        let sums: Vec<f64> = self
            .score(prompt, choices)?
            .iter()
            .map(Score::sum)
            .collect();
        let top = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = sums.iter().map(|sum| (sum - top).exp()).collect();
        let total: f64 = weights.iter().sum();
        Ok(weights.into_iter().map(|weight| weight / total).collect())
    }
}
