//! Query likelihood: how likely a language model holds a question, given a chunk that may answer it.

use ken_model::language::{Examples, LanguageModel, Prompt, ScoreRequest, WorkedExample};

use super::Scores;
use crate::AnswerError;
use crate::truncate::truncate;

const INSTRUCTION: &str = "Write a question that the passage answers.";

const EXAMPLES: [WorkedExample<'static>; 2] = [
    WorkedExample {
        input: "Passage: Violin\nA violin has four strings, tuned in perfect fifths, and is played with a bow.\nQuestion:",
        output: "how many strings does a violin have",
    },
    WorkedExample {
        input: "Passage: Harbour Bell\nThe bronze bell over Orsand harbour was cast in 1734 by Maria Tolvik.\nQuestion:",
        output: "who made the bell of orsand harbour",
    },
];

/// Tokens left free, for those that come about where texts meet.
const SPARE_TOKENS: usize = 8;

/// The mean natural-log probability of each question's tokens after each of its chunks. Since the
/// tokens are the same for all chunks of a question, the sum would rank them alike. What of a chunk
/// does not fit into the model's context is left out at its end.
///
/// # Shapes
/// `texts`: `[questions][chunks]`, as the scores.
pub(super) fn score(
    model: &dyn LanguageModel,
    questions: &[&str],
    texts: &[Vec<String>],
) -> Result<Scores, AnswerError> {
    let mut prompts: Vec<Vec<Prompt>> = Vec::with_capacity(texts.len());
    for (question, texts) in questions.iter().zip(texts) {
        let room = room(model, question)?;
        let prompts_of_question = texts
            .iter()
            .map(|text| Ok(prompt(truncate(model, text, room)?)))
            .collect::<Result<_, AnswerError>>()?;
        prompts.push(prompts_of_question);
    }
    let continuations: Vec<[String; 1]> = questions
        .iter()
        .map(|question| [format!(" {}", question.trim())])
        .collect();
    let continuations: Vec<[&str; 1]> =
        continuations.iter().map(|[text]| [text.as_str()]).collect();
    let requests: Vec<ScoreRequest<'_, Prompt>> = prompts
        .iter()
        .zip(&continuations)
        .flat_map(|(prompts, continuations)| {
            prompts.iter().map(move |prompt| ScoreRequest {
                prompt,
                continuations,
            })
        })
        .collect();
    let mut scores = model.score(&requests)?.into_iter().flatten();
    let (mut by_query, mut tokens) = (Vec::new(), Vec::new());
    for prompts in &prompts {
        let (mut means, mut read) = (Vec::new(), 0);
        for (prompt, score) in prompts.iter().zip(scores.by_ref()) {
            read += model.count_prompt_tokens(prompt)? + score.logprobs.len();
            means.push((score.sum() / score.logprobs.len().max(1) as f64) as f32);
        }
        by_query.push(means);
        tokens.push(read);
    }
    Ok(Scores { by_query, tokens })
}

fn prompt(text: &str) -> Prompt {
    Prompt {
        instruction: INSTRUCTION,
        examples: Examples::Fixed(&EXAMPLES),
        input: format!("Passage: {text}\nQuestion:"),
        sourced: None,
    }
}

/// Tokens that a chunk may have beside the question.
fn room(model: &dyn LanguageModel, question: &str) -> Result<usize, AnswerError> {
    let used = model.count_prompt_tokens(&prompt(""))? + SPARE_TOKENS;
    let limit = model.context_tokens().saturating_sub(used);
    let received = model.count_tokens(question)?;
    if received >= limit {
        return Err(AnswerError::QuestionTooLong { received, limit });
    }
    Ok(limit - received)
}
