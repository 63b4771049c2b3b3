//! Prompts that stand beside one another and begin alike, as those with evidence and with the same
//! evidence masked: what they begin with is read once. No bit of what comes of them depends on it.

use std::ops::Range;
use std::sync::Arc;

use super::backend::{Backend, Sequence};
use super::engine::{Depth, Engine, Reading};
use super::error::DecoderError;
use super::prompt::{Course, Prompt};

/// Tokens from which on a beginning is worth a segment of its own.
const WORTH: usize = 32;

/// Prompts that stand beside one another, and how many tokens all of them begin with where they are
/// several.
struct Stem {
    prompts: Range<usize>,
    tokens: usize,
}

impl<B: Backend> Engine<B> {
    /// Makes ready to read prompts to their last tokens, whose hidden states are wanted; what several
    /// of them begin with is read by then.
    pub(super) fn readings(
        &self,
        prompts: &[&Prompt],
    ) -> Result<Vec<Reading<B::Sequence>>, DecoderError> {
        let stems = stems(prompts);
        let mut beginnings = stems
            .iter()
            .filter(|stem| stem.prompts.len() > 1)
            .map(|stem| {
                let first = prompts[stem.prompts.start];
                let (known, _) = first.parts();
                let tokens = &first.tokens()[known.len()..stem.tokens];
                Ok(Reading {
                    sequence: self.after(known, tokens.len())?,
                    tokens: tokens.to_vec(),
                    wanted: 0,
                })
            })
            .collect::<Result<Vec<_>, DecoderError>>()?;
        self.read(&mut beginnings, Depth::Final)?;
        let mut beginnings = beginnings.into_iter();
        let mut readings = Vec::with_capacity(prompts.len());
        for stem in stems {
            let several = stem.prompts.len() > 1;
            let beginning = several.then(|| beginnings.next()).flatten();
            let beginning = beginning.map(|reading| Arc::new(reading.sequence));
            for prompt in &prompts[stem.prompts] {
                let tokens = prompt.tokens();
                let (sequence, known) = match &beginning {
                    Some(read) => (read.branch(tokens.len() - stem.tokens)?, stem.tokens),
                    None => self.behind(prompt)?,
                };
                readings.push(Reading {
                    tokens: tokens[known..].to_vec(),
                    sequence,
                    wanted: 1,
                });
            }
        }
        Ok(readings)
    }
}

/// Parts prompts into those that begin alike.
fn stems(prompts: &[&Prompt]) -> Vec<Stem> {
    let mut stems: Vec<Stem> = Vec::new();
    for (index, prompt) in prompts.iter().enumerate() {
        if let Some(last) = stems.last_mut()
            && let Some(tokens) = common(prompts[last.prompts.start], prompt)
        {
            last.tokens = match last.prompts.len() {
                1 => tokens,
                _ => tokens.min(last.tokens),
            };
            last.prompts.end += 1;
            continue;
        }
        stems.push(Stem {
            prompts: index..index + 1,
            tokens: 0,
        });
    }
    stems
}

/// How many tokens two prompts begin with, where reading them once is worth it. Of each the last is
/// left, which tells what comes next.
fn common(one: &Prompt, other: &Prompt) -> Option<usize> {
    let ((known, rest), (other_known, other_rest)) = (one.parts(), other.parts());
    let alone = one.course() == Course::Alone && other.course() == Course::Alone;
    if !alone || known != other_known {
        return None;
    }
    let alike = rest.iter().zip(other_rest).take_while(|(a, b)| a == b);
    let alike = alike.count().min(rest.len().min(other_rest.len()) - 1);
    (alike >= WORTH).then_some(known.len() + alike)
}
