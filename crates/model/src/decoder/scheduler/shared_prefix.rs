//! What the prompts of a call begin with in common: each prefix is read once. Results do not depend on
//! it, bit for bit on the CPU.

use std::ops::Range;

use crate::decoder::text::prompt::{Course, Prompt};

/// The shortest common prefix, in tokens, that is worth a segment of its own.
const SHORTEST: usize = 32;

/// Neighboring prompts, such as one with evidence and one with the same evidence masked, and the length
/// in tokens of their common prefix where they are several.
struct Group {
    prompts: Range<usize>,
    tokens: usize,
}

/// The lengths in tokens of the prefixes that each prompt shares with others: the one that it names,
/// and the longer one that its neighbors have as well.
///
/// # Shapes
/// Returns `[prompts]`, each in ascending order and less than the prompt's length.
pub(in crate::decoder) fn shared_lengths(prompts: &[&Prompt]) -> Vec<Vec<usize>> {
    let mut lengths = Vec::with_capacity(prompts.len());
    for group in groups(prompts) {
        let common = (group.prompts.len() > 1).then_some(group.tokens);
        for prompt in &prompts[group.prompts] {
            let named = Some(prompt.parts().0.len()).filter(|&named| named > 0);
            lengths.push(named.into_iter().chain(common).collect());
        }
    }
    lengths
}

/// The shortest prompt, in tokens after what it shares with others, that is kept.
const KEPT: usize = 192;

/// How much of a prompt is kept for later calls, which begin with it as well where something is measured before an
/// answer is written, or a question is asked again: of a long one all but the last token.
pub(super) fn kept_length(prompt: &Prompt, shared: &[usize]) -> Option<usize> {
    let whole = prompt.tokens().len() - 1;
    let read = shared.last().copied().unwrap_or_default();
    (prompt.course() == Course::Alone && whole >= read + KEPT).then_some(whole)
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
