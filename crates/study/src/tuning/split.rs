//! Which questions a training leaves out, learns and validates on.

use crate::training_examples::place_in_split;

/// The shares of questions, told apart by [`place_in_split`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// Of all, those that are left out for evaluation.
    pub held_out: f64,
    /// Of the others, those that validate.
    pub validation: f64,
}

impl Split {
    /// Whether a question is not left out.
    pub(super) fn keeps(self, question: &str) -> bool {
        place_in_split(question) >= self.held_out
    }

    /// Whether a question that is not left out validates.
    pub(super) fn validates(self, question: &str) -> bool {
        let border = self.held_out + self.validation * (1.0 - self.held_out);
        place_in_split(question) < border
    }
}
