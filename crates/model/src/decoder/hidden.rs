//! The hidden states of prompts.

use super::Decoder;
use super::error::DecoderError;
use super::prompt::Prompt;
use super::scheduler::{Job, Message, Work};
use super::shared_prefix::shared_lengths;

impl Decoder {
    /// The residual stream at the last token of each prompt, after layer `layer`, not
    /// normalized; 0 is the token's embedding.
    ///
    /// # Shapes
    /// Returns `[prompts][hidden]`.
    ///
    /// # Errors
    /// A layer that the model does not have, a prompt that does not fit into the context, a full queue
    /// of callers.
    pub fn hidden(&self, prompts: &[&Prompt], layer: usize) -> Result<Vec<Vec<f32>>, DecoderError> {
        let states = self.states(prompts, layer, |_| Work::State(layer))?;
        Ok(states.into_iter().map(|(state, _)| state).collect())
    }

    /// The residual streams of prompts after a layer, and the log probabilities that the work asks for.
    pub(super) fn states(
        &self,
        prompts: &[&Prompt],
        layer: usize,
        work: impl Fn(usize) -> Work,
    ) -> Result<Vec<(Vec<f32>, Vec<f32>)>, DecoderError> {
        let layers = self.config.layers;
        if layer > layers {
            return Err(DecoderError::NoSuchLayer { layer, layers });
        }
        let context = self.context_tokens();
        for prompt in prompts {
            let received = prompt.tokens().len();
            if received > context {
                return Err(DecoderError::ContextExceeded { received, context });
            }
        }
        let jobs = prompts.iter().zip(shared_lengths(prompts)).enumerate();
        let jobs = jobs.map(|(index, (prompt, shared))| Job {
            prompt: (*prompt).clone(),
            shared,
            work: work(index),
        });
        let mut states = vec![(Vec::new(), Vec::new()); prompts.len()];
        if states.is_empty() {
            return Ok(states);
        }
        let call = self.scheduler.call(jobs.collect())?;
        for _ in 0..prompts.len() {
            let message = call.wait()?;
            if let Message::State {
                request,
                state,
                logprobs,
            } = message
            {
                if !state.iter().all(|number| number.is_finite()) {
                    return Err(DecoderError::NotFinite);
                }
                states[request] = (state, logprobs);
            }
        }
        Ok(states)
    }
}
