//! Which source a model would choose behind a question (SR-RAG, section 3.4), with what it holds of
//! the question there.

use std::sync::Arc;

use super::Decoder;
use super::backend::Backend;
use super::engine::{Depth, Engine, Reading};
use super::error::DecoderError;
use super::prompt::Prompt;
use super::runtime::with_engine;
use super::sampling::log_probability;
use crate::language::{SourceChoice, shares};

/// Prompts that are read together.
const GROUP: usize = 16;

impl Decoder {
    /// As [`crate::language::LanguageModel::choose_sources`], of tokenized prompts. `sources` are
    /// the tokens of the sources.
    pub(super) fn choose_sources(
        &self,
        prompts: &[Prompt],
        sources: &[u32],
        layer: usize,
    ) -> Result<Vec<SourceChoice>, DecoderError> {
        self.check_states(prompts, layer)?;
        with_engine!(self.engines.exact(), |engine| engine
            .choose_sources(prompts, sources, layer))
    }
}

impl<B: Backend> Engine<B> {
    fn choose_sources(
        &self,
        prompts: &[Prompt],
        sources: &[u32],
        layer: usize,
    ) -> Result<Vec<SourceChoice>, DecoderError> {
        let mut choices = Vec::with_capacity(prompts.len());
        for group in prompts.chunks(GROUP) {
            let mut readings = group
                .iter()
                .map(|prompt| {
                    let (sequence, read) = self.behind(prompt)?;
                    Ok(Reading {
                        tokens: prompt.tokens()[read..].to_vec(),
                        sequence,
                        wanted: 1,
                    })
                })
                .collect::<Result<Vec<_>, DecoderError>>()?;
            let states = self.read(&mut readings, Depth::FinalAndResidual(layer))?;
            let mut last = Vec::new();
            let mut residuals = Vec::new();
            for both in &states {
                let (state, residual) = both.split_at(both.len() / 2);
                last.extend_from_slice(state);
                residuals.push(residual.to_vec());
            }
            let mut chosen = Vec::with_capacity(group.len());
            self.logits(&last, |_, logits| {
                for logits in logits.chunks(self.vocabulary()) {
                    let likely = sources.iter().map(|&token| {
                        let likely = log_probability(logits, token);
                        likely.map(f64::from).ok_or(DecoderError::NotFinite)
                    });
                    chosen.push(shares(&likely.collect::<Result<Vec<f64>, _>>()?));
                }
                Ok(())
            })?;
            for (shares, state) in chosen.into_iter().zip(residuals) {
                choices.push(SourceChoice { shares, state });
            }
            for (prompt, reading) in group.iter().zip(readings) {
                self.hold(prompt.tokens().to_vec(), Arc::new(reading.sequence));
            }
        }
        Ok(choices)
    }
}
