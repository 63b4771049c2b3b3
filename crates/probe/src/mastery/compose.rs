//! Pairs that a model writes whole, question and answer (Zero-RAG, appendix A.2): one at a time, each after reading
//! the earlier ones.

use ken_language::{LanguageModel, ModelError, Prompt};

use super::pair::Stated;
use super::wording::Wording;
use crate::sample::greedy_lines;

/// Writes `wanted` lines for each sentence, each meant to be a question with its answer. Question and answer together
/// have at most twice `max_tokens`.
///
/// # Shapes
/// `wanted`: `[sentences]`. Returns `[sentences][wanted]`; `None` for a sentence on which the model was stopped from
/// outside.
///
/// # Errors
/// A sentence that does not fit into the model's context, a model that fails.
pub(super) fn compose(
    writer: &dyn LanguageModel,
    stated: &[Stated<'_>],
    wanted: &[usize],
    max_tokens: usize,
) -> Result<Vec<Option<Vec<String>>>, ModelError> {
    let mut lines: Vec<Option<Vec<String>>> = vec![Some(Vec::new()); stated.len()];
    let rounds = wanted.iter().copied().max().unwrap_or_default();
    for round in 0..rounds {
        let mut open = Vec::new();
        for (place, (stated, wanted)) in stated.iter().zip(wanted).enumerate() {
            if let Some(Some(before)) = lines.get(place).filter(|_| round < *wanted) {
                let wording = Wording::of(stated.sentence);
                open.push((place, wording.compose(*stated, before)));
            }
        }
        let (places, prompts): (Vec<usize>, Vec<Prompt>) = open.into_iter().unzip();
        let written = greedy_lines(writer, &prompts, 2 * max_tokens)?;
        for (place, line) in places.into_iter().zip(written) {
            let Some(own) = lines.get_mut(place) else {
                continue;
            };
            *own = own.take().zip(line).map(|(mut own, line)| {
                own.push(line.trim().to_owned());
                own
            });
        }
    }
    Ok(lines)
}
