//! Feedback on answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::refusal::Refusal;
use crate::service::traces::trace_record::Rating;

/// The most answers.
const MOST: usize = 20;

/// The most bytes of one.
const LONGEST: usize = 1000;

/// Feedback on an answer: a rating, right answers, or both. For the guarantee, the first answers count.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeedbackRequest {
    /// The id of the answer: the header `x-request-id`, and `request_id` in its trace.
    pub(crate) request_id: String,
    /// `good` or `bad`.
    pub(crate) rating: Option<Rating>,
    /// Short answers, each of which is right: 1 to 20.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) answers: Vec<String>,
}

impl FeedbackRequest {
    /// Checks the values.
    ///
    /// # Errors
    /// Empty feedback; invalid answers.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        match (self.rating, self.answers.as_slice()) {
            (Some(_), []) => Ok(()),
            (_, answers) => check_answers("answers", answers),
        }
    }
}

/// Checks right answers.
///
/// # Errors
/// No answers, too many, empty ones, too long ones.
pub(crate) fn check_answers(param: &str, answers: &[String]) -> Result<(), Refusal> {
    let is_good = |answer: &String| !answer.trim().is_empty() && answer.len() <= LONGEST;
    if !(1..=MOST).contains(&answers.len()) || !answers.iter().all(is_good) {
        let message = format!("1 to {MOST} answers are expected, of 1 to {LONGEST} bytes each");
        return Err(Refusal::invalid(param, message));
    }
    Ok(())
}

/// The effect of feedback.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FeedbackResponse {
    pub(crate) request_id: String,
    /// Whether it counts for the guarantee: if the question was drawn, not too long ago, and has no right answers
    /// yet.
    pub(crate) counts: bool,
    /// Whether it makes the question one to evaluate on: if right answers are given, and the server keeps questions.
    pub(crate) eval_question: bool,
}
