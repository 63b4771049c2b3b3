//! The hidden states of prompts.

use crate::decoder::Decoder;
use crate::decoder::error::DecoderError;
use crate::decoder::scheduler::shared_prefix::shared_lengths;
use crate::decoder::scheduler::{Job, Message, ReadState, Work};
use crate::decoder::text::prompt::Prompt;

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
        let states = self.states(prompts, layer, || Work::State(layer))?;
        Ok(states.into_iter().map(|state| state.residual).collect())
    }

    /// The residual streams of prompts after a layer, with the log probabilities that the work requests.
    pub(in crate::decoder) fn states(
        &self,
        prompts: &[&Prompt],
        layer: usize,
        work: impl Fn() -> Work,
    ) -> Result<Vec<ReadState>, DecoderError> {
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
        let jobs = prompts.iter().zip(shared_lengths(prompts));
        let jobs = jobs.map(|(prompt, shared)| Job {
            prompt: (*prompt).clone(),
            shared,
            work: work(),
        });
        let mut states = vec![ReadState::default(); prompts.len()];
        if states.is_empty() {
            return Ok(states);
        }
        let call = self.scheduler.call(jobs.collect())?;
        for _ in 0..prompts.len() {
            if let Message::State { request, state } = call.wait(&self.cancel)? {
                if !state.residual.iter().all(|number| number.is_finite()) {
                    return Err(DecoderError::NotFinite);
                }
                states[request] = state;
            }
        }
        Ok(states)
    }
}
