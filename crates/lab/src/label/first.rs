//! The first text about each question, which the model writes after built-in examples: GenRead's first round. These
//! texts are the examples of the second round.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use ken_answer::{AnswerError, VERBALIZED_TOKENS, prompt};
use ken_eval::dataset::Question;
use ken_eval::record::Failure;
use ken_eval::record_of_question;
use ken_eval::run::Records;
use ken_language::{LanguageModel, Prompt};
use ken_probe::{DrawRequest, draw_watched};
use serde::{Deserialize, Serialize};

/// The line kept for one question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstText {
    /// The question's id.
    pub id: String,
    /// The question.
    pub question: String,
    /// Its choices, if it is multiple-choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// What the model wrote; may be empty.
    pub text: String,
    /// The number of tokens that the model wrote.
    pub tokens: usize,
    /// Why the model wrote no text.
    pub error: Option<Failure>,
}

record_of_question!(FirstText, FirstText by LabelSources, [question, choices]);

impl FirstText {
    /// The record of a question without a text.
    pub(super) fn failed(question: &Question, error: &AnswerError) -> Self {
        Self {
            error: Some(Failure::of(error)),
            ..Self::of(question)
        }
    }
}

/// Has the model write a greedy text about each question.
///
/// # Errors
/// An empty question, one that does not fit, a model that fails.
pub(super) fn first_texts(
    model: &dyn LanguageModel,
    questions: &[&Question],
    cancel: &AtomicBool,
) -> Records<FirstText> {
    let prompts = questions
        .iter()
        .map(|question| Ok(prompt::verbalize(question.asked()?, None)))
        .collect::<Result<Vec<Prompt>, AnswerError>>()?;
    let requests: Vec<DrawRequest<'_>> = prompts
        .iter()
        .map(|prompt| DrawRequest::greedy(prompt, VERBALIZED_TOKENS))
        .collect();
    let drawn = draw_watched(model, &requests, &mut |_, _| unless(cancel))?;
    let texts = questions.iter().zip(drawn).map(|(question, drawn)| {
        let drawn = drawn.ok_or(AnswerError::Interrupted)?;
        Ok(FirstText {
            tokens: drawn.written_tokens(),
            text: drawn.into_text(),
            ..FirstText::of(question)
        })
    });
    Ok(texts.collect())
}

/// Breaks if the work is cancelled.
pub(super) fn unless(cancel: &AtomicBool) -> ControlFlow<()> {
    ken_language::break_if(cancel.load(Ordering::Relaxed))
}
