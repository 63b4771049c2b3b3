//! The gate: it predicts from numbers about a question, its evidence and the model's answers how much exact match the
//! evidence adds. The target is half of 1 plus that: 0 if the evidence turns a right answer wrong, 1 if it turns a
//! wrong one right, one half if it changes nothing. Evidence predicted above one half is worth using, and a budget of
//! evidence is best spent in this order.

use std::borrow::Cow;
use std::ops::ControlFlow;

use ken_answer::{Measurements, evidence_vector, gate_fits};
use ken_diagnostic::Diagnostic;
use ken_eval::calibration::{both_right, recorded, recorded_with_evidence};
use ken_eval::compare::Weighable;
use ken_eval::discrimination::auroc;
use ken_eval::paired_interval;
use ken_eval::probe::ProbeRecord;
use ken_eval::split::{AboutSubject, untaught};
use ken_eval::statistics::{mean, number};
use ken_policy::{Head, Input, MeasuredOn, Purpose};
use ken_train::heads::{HeadOptions, Shape, Watch, regress};
use serde::Serialize;

use super::head::{HeadReport, HeadTask, Judged, learn};
use super::{LearnError, LearnOptions, same_model};

/// Questions answered both without and with evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct GateLabels {
    labels: Vec<GateLabel>,
    /// The fingerprint of the model.
    pub model: String,
    /// The fingerprint of the prompts.
    pub prompt: String,
    /// Questions without a corpus or golden answers in their probe record.
    left_out: usize,
}

/// A question with its numbers.
#[derive(Debug, Clone, PartialEq)]
struct GateLabel {
    question: String,
    subject: String,
    /// Right from memory, and right with evidence; 0 or 1.
    right: [f64; 2],
    without: Measurements,
    with: Measurements,
}

impl GateLabel {
    /// Half of 1 plus the exact match that evidence adds.
    fn worth(&self) -> f64 {
        f64::midpoint(1.0, self.right[1] - self.right[0])
    }
}

/// The report of a gate, by questions.
pub type GateReport = HeadReport<GateMeasures>;

/// How good a gate is on held-out questions. Values are `None` if there are none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateMeasures {
    /// Training questions that evidence turns right.
    pub helped: usize,
    /// Training questions that evidence turns wrong.
    pub harmed: usize,
    /// The area under the ROC curve for helpful against harmful evidence.
    pub auroc: Option<f64>,
    /// Exact match without evidence.
    pub never_em: Option<f64>,
    /// Exact match with evidence.
    pub always_em: Option<f64>,
    /// Exact match if evidence is used exactly when its predicted worth is above one half.
    pub em: Option<f64>,
    /// The lead of `em` over the better of these two; if equal, over `always_em`.
    pub vs_better: Option<f64>,
    /// Its 95 % paired interval.
    pub vs_better_interval: Option<[f64; 2]>,
    /// The lead of `em` over `always_em`.
    pub vs_always: Option<f64>,
    /// Its 95 % paired interval.
    pub vs_always_interval: Option<[f64; 2]>,
    /// The share of questions whose evidence is used.
    pub evidence_ratio: Option<f64>,
}

/// The labels in probe records.
///
/// # Errors
/// Records without labels, or of several models.
pub fn gate_labels(records: &[ProbeRecord]) -> Result<GateLabels, LearnError> {
    let mut labels = Vec::new();
    let mut of = None;
    for record in records {
        let (Some((without, with)), Some(_)) = (both_right(record), record.rating) else {
            continue;
        };
        of = Some(same_model(of, record)?);
        labels.push(GateLabel {
            question: record.question.trim().to_owned(),
            subject: record.subject().to_owned(),
            right: [without, with],
            without: recorded(record, 0),
            with: recorded_with_evidence(record),
        });
    }
    let usable = |label: &GateLabel| {
        let vector = evidence_vector(Input::EvidenceAndAnswer, &label.without, &label.with);
        vector.is_some_and(|vector| is_told(&vector))
    };
    labels.retain(usable);
    match of {
        Some((model, prompt)) if !labels.is_empty() => Ok(GateLabels {
            left_out: records.len() - labels.len(),
            model: model.to_owned(),
            prompt: prompt.to_owned(),
            labels,
        }),
        _ => Err(LearnError::NoLabels {
            purpose: Purpose::Gate,
            records: records.len(),
        }),
    }
}

/// Whether all numbers are finite; gates are trained on such vectors only.
fn is_told(vector: &[f32]) -> bool {
    vector.iter().all(|number| number.is_finite())
}

/// Scores each half of the questions with a gate trained on the other half. NaN for a question with a number that is
/// not finite, `None` for one without its numbers.
///
/// # Shapes
/// Returns `[questions]`.
///
/// # Errors
/// Too few questions in a half, or a half in which evidence changes nothing.
pub fn cross_fitted_worth(
    questions: &[Weighable<'_>],
    seed: u64,
) -> Result<Vec<Option<f64>>, Box<dyn Diagnostic + Send + Sync>> {
    let options = HeadOptions {
        shape: Shape::Logistic,
        seed,
    };
    let vectors: Vec<Option<Vec<f32>>> = questions
        .iter()
        .map(|question| evidence_vector(Input::EvidenceAndAnswer, question.without, question.with))
        .collect();
    let mut worth = vec![None; questions.len()];
    for half in [0, 1] {
        let others = questions.iter().zip(&vectors);
        let others = others.filter_map(|(question, vector)| {
            let [without, with] = question.right.map(number);
            let vector = vector.as_deref().filter(|_| question.half != half);
            let vector = vector.filter(|vector| is_told(vector))?;
            Some((vector, f64::midpoint(1.0, with - without)))
        });
        let (vectors_of_others, targets): (Vec<&[f32]>, Vec<f64>) = others.unzip();
        let watch = &mut |_, _| ControlFlow::Continue(());
        let fitted = regress(&vectors_of_others, &targets, options, watch);
        let network = fitted
            .map_err(|source| Box::new(LearnError::of_head(Purpose::Gate, source)) as Box<_>)?
            .network;
        for ((question, vector), worth) in questions.iter().zip(&vectors).zip(&mut worth) {
            if question.half == half {
                *worth = vector.as_deref().map(|vector| network.apply(vector));
            }
        }
    }
    Ok(worth)
}

/// Trains a gate on the labels that are not held out, with the candidate that fits best, and evaluates it on the
/// held-out labels. The split is by subject. `embedder` is the fingerprint of the embedder behind the numbers.
///
/// # Errors
/// Too few labels, or all alike; cancellation by `watch`.
pub fn learn_gate(
    labels: &GateLabels,
    candidates: &[Input],
    embedder: &str,
    options: LearnOptions,
    watch: Watch<'_>,
) -> Result<(Head, GateReport), LearnError> {
    let labeled = &labels.labels;
    let task = HeadTask {
        purpose: Purpose::Gate,
        fit: regress,
        targets: labeled.iter().map(GateLabel::worth).collect(),
        subjects: labeled.iter().map(|label| &label.subject[..]).collect(),
        texts: labeled.iter().map(|label| &label.question[..]).collect(),
        digests: &[],
        left_out: labels.left_out,
        measured_on: MeasuredOn {
            model: labels.model.clone(),
            prompt: Some(labels.prompt.clone()),
            embedder: Some(embedder.to_owned()),
            ..MeasuredOn::default()
        },
    };
    let vectors_of = |&input: &Input, _: Watch<'_>| {
        let vectors = labeled
            .iter()
            .filter_map(|label| evidence_vector(input, &label.without, &label.with));
        Ok((input, Cow::Owned(vectors.collect())))
    };
    let measure = |judged: Judged<'_>| measures(labeled, &judged, options.head.seed);
    let (head, _, report) = learn(task, candidates, vectors_of, measure, options, watch)?;
    Ok((head, report))
}

fn measures(labels: &[GateLabel], judged: &Judged<'_>, seed: u64) -> GateMeasures {
    let of_each = |measure: &dyn Fn(&GateLabel, f64) -> f64| -> Vec<f64> {
        let predicted = judged.predicted.iter();
        predicted
            .map(|&(label, worth)| measure(&labels[label], worth))
            .collect()
    };
    let right = |label: &GateLabel, worth: f64| label.right[usize::from(worth > 0.5)];
    let ahead_of = |arm: usize| of_each(&|label, worth| right(label, worth) - label.right[arm]);
    let [never, always] = [0, 1].map(|arm| mean(&of_each(&|label, _| label.right[arm])));
    let better = ahead_of(usize::from(never <= always));
    let ahead = ahead_of(1);
    let matters: Vec<(f64, bool)> = judged
        .predicted
        .iter()
        .map(|&(label, worth)| (worth, labels[label].right))
        .filter(|(_, [without, with])| without != with)
        .map(|(worth, [without, with])| (worth, with > without))
        .collect();
    let trained = judged.trained;
    GateMeasures {
        helped: trained.iter().filter(|worth| **worth > 0.5).count(),
        harmed: trained.iter().filter(|worth| **worth < 0.5).count(),
        auroc: auroc(&matters),
        never_em: never,
        always_em: always,
        em: mean(&of_each(&right)),
        vs_better: mean(&better),
        vs_better_interval: paired_interval(&better, seed),
        vs_always: mean(&ahead),
        vs_always_interval: paired_interval(&ahead, seed),
        evidence_ratio: mean(&of_each(&|_, worth| number(worth > 0.5))),
    }
}

/// The score of a gate for each record, NaN if it cannot tell: `[records]`; `None` for records on a subject that it
/// was trained on, and for those without its numbers.
///
/// # Errors
/// Records without labels, of several models, or of a different model than the gate's.
pub fn gate_scores(head: &Head, records: &[ProbeRecord]) -> Result<Vec<Option<f64>>, LearnError> {
    gate_fits(head, &gate_labels(records)?.model, None)?;
    let untaught = untaught(records, AboutSubject::subject, |record| {
        head.knows(&record.question)
    });
    let scores = records.iter().zip(untaught).map(|(record, is_new)| {
        let with = recorded_with_evidence(record);
        let vector = evidence_vector(head.input, &recorded(record, 0), &with)?;
        head.apply(&vector).filter(|_| is_new)
    });
    Ok(scores.collect())
}
