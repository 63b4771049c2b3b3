//! How all heads are learned: labels are split by subject, the candidate vectors that fit best are chosen, and the
//! head's predictions for held-out labels are measured. Each head has its own labels and measures.

use std::borrow::Cow;

use ken_policy::{Head, Input, MeasuredOn, Purpose, digest_of};
use ken_train::heads::{Fitted, HeadError, HeadOptions, Watch};
use serde::Serialize;

use super::{LearnError, LearnOptions};

/// How well a head fits the vectors of a candidate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CandidateLoss {
    /// The vectors.
    pub input: Input,
    /// Cross-validated on the training labels; lower is better.
    pub loss: f64,
}

/// How good a head is. The counts are of labels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeadReport<M> {
    /// The vector that it takes.
    pub input: Input,
    /// Its architecture.
    pub head: String,
    /// The weight decay.
    pub decay: f64,
    /// Training labels.
    pub learned_from: usize,
    /// Held-out labels.
    pub held_out: usize,
    /// Records without a label, or whose label was left out.
    pub left_out: usize,
    /// Measures on the held-out labels.
    #[serde(flatten)]
    pub measured: M,
    /// The candidates that its input was selected from.
    pub candidates: Vec<CandidateLoss>,
}

/// Fits a head to vectors `[labels][dimensions]` and targets `[labels]`.
pub(super) type Fit = fn(&[&[f32]], &[f64], HeadOptions, Watch<'_>) -> Result<Fitted, HeadError>;

/// A candidate with its input, its vectors, and the head fitted to them.
type Chosen<'c, C> = (&'c C, Input, Cow<'c, [Vec<f32>]>, Fitted);

/// The task of a head. A label is a target, a subject and a text, at the same index.
pub(super) struct HeadTask<'a> {
    pub(super) purpose: Purpose,
    pub(super) fit: Fit,
    /// The values to predict, in `[0, 1]`.
    pub(super) targets: Vec<f64>,
    /// They decide on which side of the split a label is.
    pub(super) subjects: Vec<&'a str>,
    /// The head keeps the digests of those texts that it learned from.
    pub(super) texts: Vec<&'a str>,
    /// More digests that it keeps.
    pub(super) digests: &'a [u64],
    pub(super) left_out: usize,
    pub(super) measured_on: MeasuredOn,
}

/// The predictions for held-out labels, and the training targets.
pub(super) struct Judged<'a> {
    /// Held-out labels by index, with the predictions.
    pub(super) predicted: &'a [(usize, f64)],
    /// The training targets.
    pub(super) trained: &'a [f64],
}

/// Trains a head on the labels that are not held out, with the candidate that fits best, and has `measure` judge it
/// on the held-out labels. `vectors_of` returns a candidate's vectors: `[labels][dimensions]`.
///
/// # Errors
/// Too few labels, or all alike; vectors of the wrong shape; cancellation by `watch`.
pub(super) fn learn<'c, C, M>(
    task: HeadTask<'_>,
    candidates: &'c [C],
    mut vectors_of: impl FnMut(&'c C, Watch<'_>) -> Result<(Input, Cow<'c, [Vec<f32>]>), LearnError>,
    measure: impl FnOnce(Judged<'_>) -> M,
    options: LearnOptions,
    watch: Watch<'_>,
) -> Result<(Head, &'c C, HeadReport<M>), LearnError> {
    let failed = |source| LearnError::of_head(task.purpose, source);
    let (held_out, learned): (Vec<usize>, Vec<usize>) = (0..task.targets.len())
        .partition(|&label| options.held_out.holds_out(task.subjects[label]));
    let trained: Vec<f64> = learned.iter().map(|&label| task.targets[label]).collect();
    let mut best: Option<Chosen<'c, C>> = None;
    let mut losses = Vec::new();
    for candidate in candidates {
        let (input, vectors) = vectors_of(candidate, watch)?;
        if vectors.len() != task.targets.len() {
            return Err(failed(HeadError::Shapes));
        }
        let own: Vec<&[f32]> = learned.iter().map(|&label| &vectors[label][..]).collect();
        let fitted = (task.fit)(&own, &trained, options.head, watch).map_err(failed)?;
        let loss = fitted.loss;
        losses.push(CandidateLoss { input, loss });
        if best.as_ref().is_none_or(|(.., best)| loss < best.loss) {
            best = Some((candidate, input, vectors, fitted));
        }
    }
    let (candidate, input, vectors, fitted) = best.ok_or_else(|| failed(HeadError::Shapes))?;
    let predicted: Vec<(usize, f64)> = held_out
        .iter()
        .map(|&label| (label, fitted.network.apply(&vectors[label])))
        .collect();
    let report = HeadReport {
        input,
        head: options.head.shape.to_string(),
        decay: fitted.decay,
        learned_from: learned.len(),
        held_out: held_out.len(),
        left_out: task.left_out,
        measured: measure(Judged {
            predicted: &predicted,
            trained: &trained,
        }),
        candidates: losses,
    };
    let digests = learned.iter().map(|&label| digest_of(task.texts[label]));
    let digests = digests.chain(task.digests.iter().copied()).collect();
    let head = Head::new(
        task.purpose,
        input,
        task.measured_on,
        digests,
        fitted.network,
    );
    Ok((head, candidate, report))
}
