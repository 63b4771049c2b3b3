//! Query likelihood: the probability of the question to a language model, given a chunk that may answer it.

use ken_language::{LanguageModel, Prompt};
use ken_probe::{FewShot, worked_examples};

use super::Scores;
use crate::AnswerError;
use crate::measure::score::score_texts;
use crate::prompt::truncate::{SPARE_TOKENS, truncate};

const QUESTION: FewShot = FewShot {
    instruction: "Write a question that the passage answers.",
    examples: worked_examples! {
        "Passage: Violin\nA violin has four strings, tuned in perfect fifths, and is played with a bow.\nQuestion:"
            => "how many strings does a violin have",
        "Passage: Harbour Bell\nThe bronze bell over Orsand harbour was cast in 1734 by Maria Tolvik.\nQuestion:"
            => "who made the bell of orsand harbour",
    },
};

/// The mean natural-log probability of each question's tokens after each of its chunks. All chunks of
/// a question are scored on the same tokens, so the sum would rank them alike. A chunk that does not
/// fit into the model's context is truncated.
///
/// # Shapes
/// `texts`: `[questions][chunks]`, as the scores.
pub(super) fn score(
    model: &dyn LanguageModel,
    questions: &[&str],
    texts: &[Vec<String>],
) -> Result<Scores, AnswerError> {
    let mut prompts: Vec<(Prompt, &str)> = Vec::new();
    for (question, texts) in questions.iter().zip(texts) {
        let budget = chunk_budget(model, question)?;
        for text in texts {
            prompts.push((prompt(truncate(model, text, budget)?), question.trim()));
        }
    }
    let pairs = prompts.iter().map(|(prompt, text)| (prompt, *text));
    let pairs: Vec<_> = pairs.collect();
    let mut scores = prompts.iter().zip(score_texts(model, &pairs)?);
    let (mut by_query, mut tokens) = (Vec::new(), Vec::new());
    for texts in texts {
        let (mut means, mut read) = (Vec::new(), 0);
        for ((prompt, _), score) in scores.by_ref().take(texts.len()) {
            read += model.count_prompt_tokens(prompt)? + score.logprobs.len();
            means.push((score.sum() / score.logprobs.len() as f64) as f32);
        }
        by_query.push(means);
        tokens.push(read);
    }
    Ok(Scores { by_query, tokens })
}

fn prompt(text: &str) -> Prompt {
    QUESTION.prompt(format!("Passage: {text}\nQuestion:"))
}

/// Tokens that a chunk may have beside the question.
fn chunk_budget(model: &dyn LanguageModel, question: &str) -> Result<usize, AnswerError> {
    let used = model.count_prompt_tokens(&prompt(""))? + SPARE_TOKENS;
    let limit = model.context_tokens().saturating_sub(used);
    let received = model.count_tokens(question)?;
    if received >= limit {
        return Err(AnswerError::QuestionTooLong { received, limit });
    }
    Ok(limit - received)
}
