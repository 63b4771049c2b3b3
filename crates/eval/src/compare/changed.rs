//! The questions that evidence helps and harms, by name.

use serde::Serialize;

use super::compose::{Answered, gain};

/// A question that is answered rightly either from memory or with evidence.
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
    /// The policies that answer it rightly.
    pub right: Vec<String>,
}

/// Those that evidence harms, and then those that it helps. `right` tells of each policy, by its name, which questions
/// it answers rightly: `[questions]`.
pub(super) fn changed(answered: &[Answered<'_>], right: &[(String, Vec<bool>)]) -> Vec<Changed> {
    let mut changed: Vec<Changed> = (answered.iter().enumerate())
        .filter(|(_, one)| gain(one) != 0.0)
        .map(|(at, one)| Changed {
            id: one.never.id.clone(),
            question: one.never.question.clone(),
            is_helped: gain(one) > 0.0,
            never: one.never.answer.clone(),
            always: one.always.answer.clone(),
            right: (right.iter())
                .filter(|(_, right)| right.get(at) == Some(&true))
                .map(|(policy, _)| policy.clone())
                .collect(),
        })
        .collect();
    changed.sort_by_key(|question| question.is_helped);
    changed
}
