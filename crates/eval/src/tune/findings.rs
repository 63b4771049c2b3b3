//! All that tuning found, and on what.

use ken_answer::{Policy, Style};

use super::candidates::Candidates;
use super::row::Row;
use super::work::{Confirmed, Labels, Tuned};

/// What was found, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// Questions.
    pub n: usize,
    /// Questions without golden answers, where others have some.
    pub left_out_questions: usize,
    /// The style of the answers.
    pub style: Style,
    /// By what answers count as right.
    pub labels: Labels,
    /// What a policy may lose against the better arm.
    pub max_loss: f64,
    /// The policies that were tried, and those that could not be.
    pub candidates: Candidates,
    /// What was found of them.
    pub tuned: Tuned,
    /// What the chosen one does on other questions, where there are some.
    pub confirmed: Option<Confirmed>,
}

impl Findings {
    /// The chosen policy.
    #[must_use]
    pub fn chosen(&self) -> &Row {
        &self.tuned.rows[self.tuned.choice.row]
    }
}

/// A policy as it would be used.
#[must_use]
pub fn named(row: &Row) -> String {
    match row.policy == Policy::ALWAYS && row.tried != Policy::ALWAYS {
        true => format!("{} (spares nothing)", row.tried),
        false => row.policy.to_string(),
    }
}
