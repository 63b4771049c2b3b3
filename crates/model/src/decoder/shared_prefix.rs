//! Neighboring prompts with a common prefix, such as one with evidence and one with the same evidence
//! masked: the prefix is read once. Results do not depend on it, bit for bit.

use std::ops::Range;
use std::sync::Arc;

use super::backend::{Backend, Sequence};
use super::engine::{Depth, Engine, Reading};
use super::error::DecoderError;
use super::prompt::{Course, Prompt};

/// The shortest common prefix, in tokens, that is worth a segment of its own.
const SHORTEST: usize = 32;

/// Neighboring prompts, and the length in tokens of their common prefix where they are several.
struct Group {
    prompts: Range<usize>,
    tokens: usize,
}

impl<B: Backend> Engine<B> {
    /// Prepares to read prompts to their last tokens, whose hidden states are requested. Common
    /// prefixes are read already.
    pub(super) fn readings(
        &self,
        prompts: &[&Prompt],
    ) -> Result<Vec<Reading<B::Sequence>>, DecoderError> {
        let groups = groups(prompts);
        let mut prefixes = groups
            .iter()
            .filter(|group| group.prompts.len() > 1)
            .map(|group| {
                let first = prompts[group.prompts.start];
                let (known, _) = first.parts();
                let tokens = &first.tokens()[known.len()..group.tokens];
                Ok(Reading {
                    sequence: self.after(known, tokens.len())?,
                    tokens: tokens.to_vec(),
                    wanted: 0,
                })
            })
            .collect::<Result<Vec<_>, DecoderError>>()?;
        self.read(&mut prefixes, Depth::Final)?;
        let mut prefixes = prefixes.into_iter();
        let mut readings = Vec::with_capacity(prompts.len());
        for group in groups {
            let several = group.prompts.len() > 1;
            let prefix = several.then(|| prefixes.next()).flatten();
            let prefix = prefix.map(|reading| Arc::new(reading.sequence));
            for prompt in &prompts[group.prompts] {
                let tokens = prompt.tokens();
                let (sequence, known) = match &prefix {
                    Some(read) => (read.branch(tokens.len() - group.tokens)?, group.tokens),
                    None => self.continuing(prompt)?,
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

/// Groups neighboring prompts by common prefixes.
fn groups(prompts: &[&Prompt]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (index, prompt) in prompts.iter().enumerate() {
        if let Some(last) = groups.last_mut()
            && let Some(tokens) = common(prompts[last.prompts.start], prompt)
        {
            last.tokens = match last.prompts.len() {
                1 => tokens,
                _ => tokens.min(last.tokens),
            };
            last.prompts.end += 1;
            continue;
        }
        groups.push(Group {
            prompts: index..index + 1,
            tokens: 0,
        });
    }
    groups
}

/// The length in tokens of the common prefix of two prompts, where reading it once is worth it. It
/// leaves at least the last token of each, which gives the logits of what comes next.
fn common(one: &Prompt, other: &Prompt) -> Option<usize> {
    let ((known, rest), (other_known, other_rest)) = (one.parts(), other.parts());
    let alone = one.course() == Course::Alone && other.course() == Course::Alone;
    if !alone || known != other_known {
        return None;
    }
    let alike = rest.iter().zip(other_rest).take_while(|(a, b)| a == b);
    let alike = alike.count().min(rest.len().min(other_rest.len()) - 1);
    (alike >= SHORTEST).then_some(known.len() + alike)
}
