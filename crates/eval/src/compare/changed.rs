//! The questions that evidence helps and harms.

use serde::Serialize;

use super::compose::{Answered, gain};

/// A question that either memory or evidence answers right, but not both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Changed {
    /// Its id.
    pub id: String,
    /// The question.
    pub question: String,
    /// Whether evidence turns a wrong answer right; otherwise it turns a right one wrong.
    pub is_helped: bool,
    /// The answer from memory.
    pub never: String,
    /// The answer with evidence.
    pub always: String,
    /// The policies that answer it right.
    pub right: Vec<String>,
}

/// The questions that evidence harms, then those that it helps. `right` says for each policy, by name, which
/// questions it answers right: `[questions]`.
pub(super) fn changed(answered: &[Answered<'_>], right: &[(String, Vec<bool>)]) -> Vec<Changed> {
    let mut changed: Vec<Changed> = (answered.iter().enumerate())
        .filter(|(_, question)| gain(question) != 0.0)
        .map(|(index, question)| Changed {
            id: question.never.id.clone(),
            question: question.never.question.clone(),
            is_helped: gain(question) > 0.0,
            never: question.never.answer.clone(),
            always: question.always.answer.clone(),
            right: (right.iter())
                .filter(|(_, right)| right.get(index) == Some(&true))
                .map(|(policy, _)| policy.clone())
                .collect(),
        })
        .collect();
    changed.sort_by_key(|question| question.is_helped);
    changed
}
