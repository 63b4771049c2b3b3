//! Heads trained on measurements and evaluated on held-out ones: the query router ([`router`]) and the gate
//! ([`gate`]) on probe records, the corpus pruner ([`pruner`]) on mastery records; and the policy datastore
//! ([`datastore`]) on labeled sources. All heads are learned in one way ([`HeadReport`]); `ken_train` fits them,
//! `ken_policy` applies them.

pub mod datastore;
mod error;
pub mod gate;
mod head;
mod layers;
pub mod pruner;
pub mod router;
mod scores;
mod target;

pub use error::LearnError;
pub use head::{CandidateLoss, HeadReport};
pub use layers::LayerChoice;
pub use scores::{
    Taught, assessor_scores, check_model, choice_scores, question_vectors, router_scores, taught,
};
pub use target::Target;

use ken_eval::probe::ProbeRecord;
use ken_eval::split::Fold;
use ken_train::heads::HeadOptions;

/// The model and prompts of the records up to this one; `before` are those of the earlier records.
///
/// # Errors
/// A record of a different model or with different prompts.
fn same_model<'r>(
    before: Option<(&'r str, &'r str)>,
    record: &'r ProbeRecord,
) -> Result<(&'r str, &'r str), LearnError> {
    let fingerprint = &record.fingerprint;
    let by = (fingerprint.model.as_str(), fingerprint.prompt.as_str());
    let of = before.unwrap_or(by);
    match of == by {
        true => Ok(of),
        false => Err(LearnError::SeveralModels {
            id: record.id.clone(),
        }),
    }
}

/// How to train and evaluate a head.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnOptions {
    /// How to train it.
    pub head: HeadOptions,
    /// Which labels are held out for its evaluation.
    pub held_out: Fold,
}
