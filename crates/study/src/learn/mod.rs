//! Heads trained on measurements, and evaluated on held-out ones: the query router on probe records
//! ([`router`]), the gate on the same ([`gate`]), the corpus pruner on mastery records ([`pruner`]), and the policy datastore on labeled
//! sources ([`datastore`]). How a head is fitted is in `ken_train`, how it is applied in `ken_route`.

pub mod datastore;
mod error;
pub mod gate;
mod layers;
pub mod pruner;
mod recorded;
pub mod router;
mod target;

pub use error::LearnError;
pub use layers::LayerChoice;
pub use recorded::{
    Taught, assessor_scores, check_model, choice_scores, question_vectors, router_scores, taught,
};
pub use target::Target;

use ken_route::{Input, Purpose};
use ken_train::heads::{Fitted, HeadError, HeadOptions};
use serde::Serialize;

use crate::probe::ProbeRecord;
use crate::split::Fold;

/// How well a head fits one candidate's vectors.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CandidateLoss {
    /// The vectors.
    pub input: Input,
    /// The smaller, the better.
    pub loss: f64,
}

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

/// Fits a head to each candidate's vectors and selects the one with the least loss. `fit` returns the
/// input and the vectors beside the head. Returns the selected candidate's vectors and head, its input,
/// and the losses of all.
fn select<'c, C, V>(
    purpose: Purpose,
    candidates: &'c [C],
    mut fit: impl FnMut(&'c C) -> Result<(Input, V, Fitted), LearnError>,
) -> Result<(V, Fitted, Input, Vec<CandidateLoss>), LearnError> {
    let mut best: Option<(Input, V, Fitted)> = None;
    let mut losses = Vec::new();
    for candidate in candidates {
        let (input, vectors, fitted) = fit(candidate)?;
        let loss = fitted.loss;
        losses.push(CandidateLoss { input, loss });
        if best.as_ref().is_none_or(|(.., best)| loss < best.loss) {
            best = Some((input, vectors, fitted));
        }
    }
    let none = || LearnError::Head {
        purpose,
        source: HeadError::Shapes,
    };
    let (input, vectors, fitted) = best.ok_or_else(none)?;
    Ok((vectors, fitted, input, losses))
}

/// How a head is trained and evaluated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnOptions {
    /// How it is trained.
    pub head: HeadOptions,
    /// Which labels are held out to evaluate it.
    pub held_out: Fold,
}
