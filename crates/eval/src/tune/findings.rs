//! All results of tuning, with its questions and settings.

use ken_answer::{Policy, Style};

use super::candidates::Candidates;
use super::row::Row;
use super::work::{Confirmed, Labels, Tuned};

/// The results of tuning.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// The number of questions.
    pub n: usize,
    /// Questions without golden answers, if others have some.
    pub left_out_questions: usize,
    /// The style of the answers.
    pub style: Style,
    /// What counts as a right answer.
    pub labels: Labels,
    /// The loss against the better arm that a policy may have.
    pub max_loss: f64,
    /// The tested policies, and those that could not be tested.
    pub candidates: Candidates,
    /// The results of the tested policies.
    pub tuned: Tuned,
    /// The accuracy of the chosen policy on other questions, if there are any.
    pub confirmed: Option<Confirmed>,
}

impl Findings {
    /// The chosen policy.
    pub fn chosen(&self) -> &Row {
        &self.tuned.rows[self.tuned.choice.row]
    }
}

/// A policy as users would have it.
pub fn named(row: &Row) -> String {
    match row.policy == Policy::ALWAYS && row.tried != Policy::ALWAYS {
        true => format!("{} (spares nothing)", row.tried),
        false => row.policy.to_string(),
    }
}
