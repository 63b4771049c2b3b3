//! Heads trained on measurements, and evaluated on held-out ones: the query router on probe records
//! ([`router`]), the gate on the same ([`gate`]), the corpus pruner on mastery records ([`pruner`]), and the policy datastore on labeled
//! sources ([`datastore`]). Heads are learned in one way ([`HeadReport`]);
//! how one is fitted is in `ken_train`, how it is applied in `ken_policy`.

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

/// The model and the prompts that records are of, after one more record; `before` are those of the records before it.
///
/// # Errors
/// A record of others.
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

/// How a head is trained and evaluated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnOptions {
    /// How it is trained.
    pub head: HeadOptions,
    /// Which labels are held out to evaluate it.
    pub held_out: Fold,
}
