//! The query router (Zero-RAG, section 3.2 and Eq. 5): from a vector of a question, the probability
//! that the model does not answer it right from memory.
//!
//! A question counts as mastered where the greedy answer from memory is right, which is the
//! answer that is given where nothing is retrieved.

use ken_answer::QuestionPrompt;
use ken_route::{Head, Input, MeasuredOn, Purpose, digest_of};
use ken_train::heads::{Watch, classify};
use serde::Serialize;

use super::{CandidateLoss, LearnError, LearnOptions, select};
use crate::bootstrap::interval;
use crate::discrimination::{Prediction, auroc, average_precision, expected_calibration_error};
use crate::probe::ProbeRecord;
use crate::statistics::share;
use crate::training_examples::place_in_split;

/// Bars that the calibration error is counted over.
const BINS: usize = 10;

/// Draws of the interval.
const DRAWS: usize = 2000;

/// A question, and whether the model answers it right from memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouterLabel {
    /// The question.
    pub question: String,
    /// Its choices, where it is multiple-choice.
    pub choices: Vec<String>,
    /// Whether the greedy answer from memory is right.
    pub mastered: bool,
}

/// The labels of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouterLabels {
    /// One for each question that was answered and has golden answers.
    pub labels: Vec<RouterLabel>,
    /// The model's fingerprint.
    pub model: String,
    /// The fingerprint of the prompts.
    pub prompt: String,
    /// Questions without a label, or that the assessor that it reads was trained on.
    pub left_out: usize,
}

impl RouterLabels {
    /// Leaves out the questions that the model whose verdicts the router reads was trained on: of them
    /// it says what it learned by heart. `held_out` is the share that it was not.
    ///
    /// # Errors
    /// [`LearnError::AllTaught`].
    pub fn leave_out_taught(&mut self, held_out: f64) -> Result<(), LearnError> {
        let all = self.labels.len();
        self.labels
            .retain(|label| place_in_split(&label.question) < held_out);
        self.left_out += all - self.labels.len();
        match self.labels.is_empty() {
            true => Err(LearnError::AllTaught { questions: all }),
            false => Ok(()),
        }
    }

    /// The questions as they are asked.
    #[must_use]
    pub fn questions(&self) -> Vec<QuestionPrompt<'_>> {
        let each = self.labels.iter().map(|label| QuestionPrompt {
            question: &label.question,
            choices: &label.choices,
        });
        each.collect()
    }
}

/// Vectors that a router may take.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Where they come from.
    pub input: Input,
    /// One for each label: `[labels][dimensions]`.
    pub vectors: Vec<Vec<f32>>,
}

/// How good a router is on held-out questions. Values are `None` where those are
/// all of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RouterReport {
    /// The vector that it takes.
    pub input: Input,
    /// Its architecture.
    pub head: String,
    /// The weight decay.
    pub decay: f64,
    /// Questions that it was trained on.
    pub learned_from: usize,
    /// Held-out questions that it was evaluated on.
    pub held_out: usize,
    /// Questions without a label, or that the assessor that it reads was trained on.
    pub left_out: usize,
    /// The share of those held out that the model answers right from memory.
    pub mastered: Option<f64>,
    /// How well it separates these from the others.
    pub auroc: Option<f64>,
    /// Its 95 % bootstrap interval over questions.
    pub auroc_interval: Option<[f64; 2]>,
    /// The area under the precision-recall curve of finding these.
    pub auprc: Option<f64>,
    /// The expected calibration error of its probabilities.
    pub ece: Option<f64>,
    /// The candidates that its input was selected from: the cross-validated mean cross entropy of each,
    /// in nats, on the training questions.
    pub candidates: Vec<CandidateLoss>,
}

/// The labels that probe records hold.
///
/// # Errors
/// Records without any, or of several models.
pub fn router_labels(records: &[ProbeRecord]) -> Result<RouterLabels, LearnError> {
    let mut labels = Vec::new();
    let mut of: Option<(&str, &str)> = None;
    for record in records {
        let greedy = record.greedy.from_self.as_ref();
        let Some(mastered) = greedy.and_then(|answer| answer.correct) else {
            continue;
        };
        let by = (
            record.fingerprint.model.as_str(),
            record.fingerprint.prompt.as_str(),
        );
        let of = *of.get_or_insert(by);
        if !ken_storage::same_fingerprint(of.0, by.0) || of.1 != by.1 {
            return Err(LearnError::SeveralModels {
                id: record.id.clone(),
            });
        }
        labels.push(RouterLabel {
            question: record.question.trim().to_owned(),
            choices: record.choices.clone(),
            mastered,
        });
    }
    let Some((model, prompt)) = of else {
        return Err(LearnError::NoLabels {
            purpose: Purpose::Router,
            records: records.len(),
        });
    };
    Ok(RouterLabels {
        left_out: records.len() - labels.len(),
        model: model.to_owned(),
        prompt: prompt.to_owned(),
        labels,
    })
}

/// Trains a router on the labels that are not held out, on the candidate that fits best, and evaluates
/// it on those that are. The split is by the question's words, so that a duplicate is on the same side.
/// `beside` names what the candidates were measured with beside the labels' model and prompts.
///
/// # Errors
/// Too few labels, or of one class only; vectors that do not fit; a `watch` that ended it.
pub fn learn_router(
    labels: &RouterLabels,
    candidates: &[Candidate],
    beside: MeasuredOn,
    options: LearnOptions,
    watch: Watch<'_>,
) -> Result<(Head, RouterReport), LearnError> {
    let sides = labels
        .labels
        .iter()
        .map(|label| options.holds_out(&label.question));
    let held_out: Vec<bool> = sides.collect();
    let (judged_on, learned_from): (Vec<usize>, Vec<usize>) =
        (0..held_out.len()).partition(|&at| held_out[at]);
    let known: Vec<bool> = learned_from
        .iter()
        .map(|&at| !labels.labels[at].mastered)
        .collect();
    let (vectors, fitted, input, candidates) = select(Purpose::Router, candidates, |candidate| {
        let own: Option<Vec<&[f32]>> = learned_from
            .iter()
            .map(|&at| candidate.vectors.get(at).map(Vec::as_slice))
            .collect();
        let fitted = classify(&own.unwrap_or_default(), &known, options.head, watch);
        let fitted = fitted.map_err(|source| LearnError::Head {
            purpose: Purpose::Router,
            source,
        })?;
        Ok((candidate.input, candidate.vectors.as_slice(), fitted))
    })?;
    let predictions: Vec<Prediction> = judged_on
        .iter()
        .filter_map(|&at| {
            let need = fitted.network.apply(vectors.get(at)?);
            Some((1.0 - need, labels.labels[at].mastered))
        })
        .collect();
    let report = RouterReport {
        input,
        head: options.head.shape.to_string(),
        decay: fitted.decay,
        learned_from: learned_from.len(),
        held_out: predictions.len(),
        left_out: labels.left_out,
        mastered: share(predictions.iter().map(|one| one.1)),
        auroc: auroc(&predictions),
        auroc_interval: interval(&predictions, DRAWS, options.head.seed, auroc),
        auprc: average_precision(&predictions),
        ece: expected_calibration_error(&predictions, BINS),
        candidates,
    };
    let measured_on = MeasuredOn {
        model: labels.model.clone(),
        prompt: Some(labels.prompt.clone()),
        ..beside
    };
    let digests = learned_from
        .iter()
        .map(|&at| digest_of(&labels.labels[at].question));
    let head = Head::new(
        Purpose::Router,
        input,
        measured_on,
        digests.collect(),
        fitted.network,
    );
    Ok((head, report))
}
