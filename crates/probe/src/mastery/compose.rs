//! Pairs that a model writes whole, question and answer (Zero-RAG, appendix A.2): one after the other, each after having
//! read those before.

use ken_language::{LanguageModel, ModelError, Prompt};

use super::pair::Stated;
use super::wording::Wording;
use super::write::question_in;
use crate::sample::greedy_lines;

/// Writes so many lines for each sentence, each meant to be a question with its answer. A question has at most
/// `max_tokens`, and an answer as many.
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

/// The question and the answer in a line; `None` where one of them is missing.
pub(super) fn pair_in(line: &str, wording: &Wording) -> Option<(String, String)> {
    let question = question_in(line, wording.labels())?;
    let (_, after) = line.split_once(question)?;
    let (_, answer) = after.split_once(wording.answer_label())?;
    let answer = answer.trim_matches(|c: char| {
        c.is_whitespace() || matches!(c, '"' | '“' | '”' | '*' | '.' | '。')
    });
    (!answer.is_empty()).then(|| (question.to_owned(), answer.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_found_in_what_models_write() {
        for (line, pair) in [
            ("Who came? Answer: Ida", Some(("Who came?", "Ida"))),
            (
                "1. Question: Who came? Answer: \"Ida.\"",
                Some(("Who came?", "Ida")),
            ),
            ("Who came? Ida", None),
            ("Who came? Answer: ", None),
            ("Ida came. Answer: Ida", None),
        ] {
            let found = pair_in(line, Wording::of("x"));
            let found = found
                .as_ref()
                .map(|(question, answer)| (&**question, &**answer));
            assert_eq!(found, pair, "{line}");
        }
        let found = pair_in("谁来了？答案：艾达。", Wording::of("谁"));
        assert_eq!(found, Some(("谁来了？".to_owned(), "艾达".to_owned())));
    }
}
