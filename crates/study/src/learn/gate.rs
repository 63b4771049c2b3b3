//! The gate: from numbers of a question, its evidence and the model's answers, how much exact match the
//! evidence adds. What is predicted is half of 1 plus that: 0 where the evidence turns a right answer wrong,
//! 1 where it turns a wrong one right, one half where it changes nothing. Above one half evidence is worth
//! using, and the order is the best one to spend evidence by.

use ken_answer::{Measurements, evidence_vector, gate_fits};
use ken_policy::{Head, Input, MeasuredOn, Purpose, digest_of};
use ken_train::heads::{HeadError, HeadOptions, Watch, regress};
use serde::Serialize;

use super::{CandidateLoss, LearnError, LearnOptions, same_model, select};
use crate::bootstrap::interval;
use crate::calibration::{both_right, recorded, recorded_with_evidence};
use crate::discrimination::auroc;
use crate::probe::ProbeRecord;
use crate::split::{AboutSubject, untaught};
use crate::statistics::{mean, number};

/// Draws of an interval.
const DRAWS: usize = 2000;

/// Questions of which it is known what evidence does.
#[derive(Debug, Clone, PartialEq)]
pub struct GateLabels {
    labels: Vec<GateLabel>,
    /// The fingerprint of the model.
    pub model: String,
    /// The fingerprint of the prompts.
    pub prompt: String,
    /// Questions that were not probed with a corpus and golden answers, or not by this version of ken.
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
    /// Half of 1 plus what evidence adds.
    fn worth(&self) -> f64 {
        f64::midpoint(1.0, self.right[1] - self.right[0])
    }
}

/// How good a gate is on held-out questions. Values are `None` where there are none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateReport {
    /// The numbers that it takes.
    pub input: Input,
    /// Its architecture.
    pub head: String,
    /// The weight decay.
    pub decay: f64,
    /// Questions that it was trained on.
    pub learned_from: usize,
    /// Of these, those that evidence turns right.
    pub helped: usize,
    /// Of these, those that evidence turns wrong.
    pub harmed: usize,
    /// Held-out questions that it was evaluated on.
    pub held_out: usize,
    /// Questions without a label.
    pub left_out: usize,
    /// Of the questions for which evidence matters, how well it tells those that it helps from those that it
    /// harms.
    pub auroc: Option<f64>,
    /// Exact match without evidence.
    pub never_em: Option<f64>,
    /// Exact match with evidence.
    pub always_em: Option<f64>,
    /// Exact match where the evidence is used whose predicted worth is above one half.
    pub em: Option<f64>,
    /// By how much that is above `always_em`.
    pub vs_always: Option<f64>,
    /// Its 95 % paired bootstrap interval.
    pub vs_always_interval: Option<[f64; 2]>,
    /// The share of questions whose evidence is used.
    pub evidence_ratio: Option<f64>,
    /// The candidates that its input was selected from: the cross-validated mean squared error of each.
    pub candidates: Vec<CandidateLoss>,
}

/// The labels that probe records hold.
///
/// # Errors
/// Records without any, or of several models.
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

/// Whether all numbers can be told; no gate is trained on others.
fn is_told(vector: &[f32]) -> bool {
    vector.iter().all(|number| number.is_finite())
}

/// A question with what was measured of it, and whether its answers are right, for cross-fitting.
#[derive(Debug, Clone, Copy)]
pub struct Weighable<'a> {
    /// What was measured without evidence.
    pub without: &'a Measurements,
    /// What was measured with it.
    pub with: &'a Measurements,
    /// Whether the answers from memory and with evidence are right.
    pub right: [bool; 2],
    /// The half that the question belongs to, 0 or 1.
    pub half: usize,
}

/// What gates make of questions that they were not trained on: for each half of the questions, one that was
/// trained on the other half. NaN for a question of which a number cannot be told, `None` for one without its numbers.
///
/// # Shapes
/// Returns `[questions]`.
///
/// # Errors
/// Too few questions in a half, or evidence that changes nothing in one; a `watch` that ended it.
pub fn cross_fitted_worth(
    questions: &[Weighable<'_>],
    options: HeadOptions,
    watch: Watch<'_>,
) -> Result<Vec<Option<f64>>, LearnError> {
    let vectors: Vec<Option<Vec<f32>>> = questions
        .iter()
        .map(|one| evidence_vector(Input::EvidenceAndAnswer, one.without, one.with))
        .collect();
    let mut worth = vec![None; questions.len()];
    for half in [0, 1] {
        let others = questions.iter().zip(&vectors);
        let others = others.filter_map(|(one, vector)| {
            let [without, with] = one.right.map(number);
            let vector = vector.as_deref().filter(|_| one.half != half);
            let vector = vector.filter(|vector| is_told(vector))?;
            Some((vector, f64::midpoint(1.0, with - without)))
        });
        let (vectors_of_others, targets): (Vec<&[f32]>, Vec<f64>) = others.unzip();
        let fitted = regress(&vectors_of_others, &targets, options, watch);
        let network = fitted.map_err(of_gate)?.network;
        for ((one, vector), worth) in questions.iter().zip(&vectors).zip(&mut worth) {
            if one.half == half {
                *worth = vector.as_deref().map(|vector| network.apply(vector));
            }
        }
    }
    Ok(worth)
}

fn of_gate(source: HeadError) -> LearnError {
    LearnError::Head {
        purpose: Purpose::Gate,
        source,
    }
}

/// Trains a gate on the labels that are not held out, on the candidate that fits best, and evaluates it on
/// those that are. The split is by what questions are about. `embedder` is the fingerprint of the one that the
/// numbers come from.
///
/// # Errors
/// Too few labels, or all alike; a `watch` that ended it.
pub fn learn_gate(
    labels: &GateLabels,
    candidates: &[Input],
    embedder: &str,
    options: LearnOptions,
    watch: Watch<'_>,
) -> Result<(Head, GateReport), LearnError> {
    let (judged_on, learned_from): (Vec<&GateLabel>, Vec<&GateLabel>) = labels
        .labels
        .iter()
        .partition(|label| options.held_out.holds_out(&label.subject));
    let targets: Vec<f64> = learned_from.iter().map(|label| label.worth()).collect();
    let vectors = |input: Input, labels: &[&GateLabel]| -> Vec<Vec<f32>> {
        let each = labels.iter();
        each.filter_map(|label| evidence_vector(input, &label.without, &label.with))
            .collect()
    };
    let ((), fitted, input, losses) = select(Purpose::Gate, candidates, |&input| {
        let own = vectors(input, &learned_from);
        let own: Vec<&[f32]> = own.iter().map(Vec::as_slice).collect();
        let fitted = regress(&own, &targets, options.head, watch);
        let fitted = fitted.map_err(of_gate)?;
        Ok((input, (), fitted))
    })?;
    let worth: Vec<f64> = vectors(input, &judged_on)
        .iter()
        .map(|vector| fitted.network.apply(vector))
        .collect();
    let answered: Vec<f64> = judged_on
        .iter()
        .zip(&worth)
        .map(|(label, worth)| label.right[usize::from(*worth > 0.5)])
        .collect();
    let ahead = judged_on.iter().zip(&answered);
    let ahead: Vec<f64> = ahead.map(|(label, em)| em - label.right[1]).collect();
    let matters = judged_on.iter().zip(&worth);
    let matters = matters.filter(|(label, _)| label.right[0] != label.right[1]);
    let matters: Vec<(f64, bool)> = matters
        .map(|(label, worth)| (*worth, label.right[1] > label.right[0]))
        .collect();
    let right = |place: usize| -> Option<f64> {
        mean(
            &judged_on
                .iter()
                .map(|label| label.right[place])
                .collect::<Vec<_>>(),
        )
    };
    let report = GateReport {
        input,
        head: options.head.shape.to_string(),
        decay: fitted.decay,
        learned_from: learned_from.len(),
        helped: targets.iter().filter(|worth| **worth > 0.5).count(),
        harmed: targets.iter().filter(|worth| **worth < 0.5).count(),
        held_out: judged_on.len(),
        left_out: labels.left_out,
        auroc: auroc(&matters),
        never_em: right(0),
        always_em: right(1),
        em: mean(&answered),
        vs_always: mean(&ahead),
        vs_always_interval: interval(&ahead, DRAWS, options.head.seed, mean),
        evidence_ratio: mean(
            &worth
                .iter()
                .map(|one| number(*one > 0.5))
                .collect::<Vec<_>>(),
        ),
        candidates: losses,
    };
    let measured_on = MeasuredOn {
        model: labels.model.clone(),
        prompt: Some(labels.prompt.clone()),
        embedder: Some(embedder.to_owned()),
        ..MeasuredOn::default()
    };
    let digests = learned_from.iter().map(|label| digest_of(&label.question));
    let head = Head::new(
        Purpose::Gate,
        input,
        measured_on,
        digests.collect(),
        fitted.network,
    );
    Ok((head, report))
}

/// What a gate makes of each record, NaN where it cannot tell: `[records]`; `None` of those whose subject it was trained on, and of those without
/// its numbers.
///
/// # Errors
/// Records without labels, of several models, or of another model than the gate.
pub fn gate_scores(head: &Head, records: &[ProbeRecord]) -> Result<Vec<Option<f64>>, LearnError> {
    gate_fits(head, &gate_labels(records)?.model, None)?;
    let untaught = untaught(records, AboutSubject::subject, |record| {
        head.knows(&record.question)
    });
    let each = records.iter().zip(untaught).map(|(record, is_new)| {
        let with = recorded_with_evidence(record);
        let vector = evidence_vector(head.input, &recorded(record, 0), &with)?;
        head.apply(&vector).filter(|_| is_new)
    });
    Ok(each.collect())
}
