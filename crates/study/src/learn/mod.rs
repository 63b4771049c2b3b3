//! Heads learned from what was measured, with how good they are on what they were not learned from:
//! the query router from probe records ([`router`]), the corpus pruner from mastery records
//! ([`pruner`]), and the policy datastore from labelled sources
//! ([`datastore`]). How a head finds its weights is in `ken_train`, how it is applied in `ken_route`.

pub mod datastore;
mod error;
mod layers;
pub mod pruner;
mod recorded;
pub mod router;

pub use error::LearnError;
pub use layers::LayerChoice;
pub use recorded::{
    assessor_scores, check_model, choice_scores, question_vectors, router_scores, untaught_share,
};

use ken_answer::chance;
use ken_route::Input;
use ken_train::heads::HeadOptions;
use serde::Serialize;

/// How well vectors served.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CandidateLoss {
    /// The vectors.
    pub input: Input,
    /// The smaller, the better.
    pub loss: f64,
}

/// How a head is learned and judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnOptions {
    /// How it is learned.
    pub head: HeadOptions,
    /// The share of the labels that are kept aside to judge it, in `(0, 1)`.
    pub held_out: f64,
}

impl LearnOptions {
    /// Whether what has this name is kept aside. The same name always is, or never.
    fn holds_out(&self, name: &str) -> bool {
        chance(self.head.seed, name) < self.held_out
    }
}
