//! The hidden states of prompts.

use super::Decoder;
use super::backend::Backend;
use super::engine::{Depth, Engine, Reading};
use super::error::DecoderError;
use super::prompt::Prompt;
use super::runtime::with_engine;

/// Prompts that are read together.
const GROUP: usize = 16;

impl Decoder {
    /// The residual stream at the last token of each prompt, after layer `layer`, not
    /// normalized; 0 is the token's embedding.
    ///
    /// # Shapes
    /// Returns `[prompts][hidden]`.
    ///
    /// # Errors
    /// A layer that the model does not have, a prompt that does not fit into the context.
    pub fn hidden(&self, prompts: &[&Prompt], layer: usize) -> Result<Vec<Vec<f32>>, DecoderError> {
        self.check_states(prompts.iter().copied(), layer)?;
        let states = with_engine!(self.engines.exact(), |engine| engine.hidden(prompts, layer))?;
        if states.iter().flatten().all(|number| number.is_finite()) {
            Ok(states)
        } else {
            Err(DecoderError::NotFinite)
        }
    }

    /// Refuses a layer that does not exist, and prompts that do not fit.
    pub(super) fn check_states<'p>(
        &self,
        prompts: impl IntoIterator<Item = &'p Prompt>,
        layer: usize,
    ) -> Result<(), DecoderError> {
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
        Ok(())
    }
}

impl<B: Backend> Engine<B> {
    fn hidden(&self, prompts: &[&Prompt], layer: usize) -> Result<Vec<Vec<f32>>, DecoderError> {
        let mut states = Vec::with_capacity(prompts.len());
        // A group's keys and values are dropped before the next begins.
        for group in prompts.chunks(GROUP) {
            let mut readings = group
                .iter()
                .map(|prompt| {
                    let (shared, rest) = prompt.parts();
                    Ok(Reading {
                        tokens: rest.to_vec(),
                        sequence: self.after(shared, rest.len())?,
                        wanted: 1,
                    })
                })
                .collect::<Result<Vec<_>, DecoderError>>()?;
            states.extend(self.read(&mut readings, Depth::Residual(layer))?);
        }
        Ok(states)
    }
}
