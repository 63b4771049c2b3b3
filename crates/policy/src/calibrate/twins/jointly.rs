//! Two thresholds chosen together: one decides whether a question retrieves, the other whether what was
//! retrieved is used.

use super::sequence::{self, Candidate};
use crate::calibrate::bounds::risk_bound;
use crate::calibrate::{CONFIDENCE, Goal};

/// Values that a threshold is chosen among at most: evenly many questions lie between them.
const CANDIDATES: usize = 50;

/// A question with known correctness and both signals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JointObservation {
    /// The signal of the question: above its threshold it retrieves. What is no number does.
    pub question: f64,
    /// The signal of the evidence: above its threshold the evidence is used. What is no number is. Of a policy that
    /// judges twice, the signal of the question, measured again with the evidence.
    pub evidence: f64,
    /// The correctness of the answer from memory, in `[0, 1]`.
    pub without: f64,
    /// The correctness of the answer with the evidence, in `[0, 1]`.
    pub with: f64,
    /// Which of two random halves the question belongs to. A guarantee is looked for on the first and proved
    /// on the second.
    pub second_half: bool,
}

impl JointObservation {
    /// What the evidence wins, and leaving it out loses; a loss by evidence counts as 0.
    pub(super) fn beneficial(&self) -> f64 {
        (self.with - self.without).max(0.0)
    }
}

/// Both thresholds and their effect on the questions that they are proved on: those of the second half for a
/// guarantee, else all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JointCalibration {
    /// Signals of questions above it retrieve; `None` if all do.
    pub question: Option<f64>,
    /// Signals of evidence above it have it used; `None` if all is.
    pub evidence: Option<f64>,
    /// The share of questions that retrieve.
    pub retrieval_ratio: f64,
    /// The share of questions whose evidence is used.
    pub evidence_ratio: f64,
    /// The mean loss compared with always using evidence; gains do not offset losses.
    pub loss: f64,
    /// The upper bound of the mean loss, with the confidence of the goal or 0.95.
    pub loss_bound: f64,
    /// The accuracy.
    pub accuracy: f64,
    /// The number of questions.
    pub questions: usize,
}

/// What thresholds do to some questions.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Outcome {
    pub(super) retrieved: usize,
    pub(super) used: usize,
    pub(super) right: f64,
    pub(super) lost: f64,
}

impl Outcome {
    /// Adds a question that was searched for, or not, and answered with the evidence, or not.
    pub(super) fn add(&mut self, one: &JointObservation, retrieved: bool, used: bool) {
        self.retrieved += usize::from(retrieved);
        self.used += usize::from(used);
        match used {
            true => self.right += one.with,
            false => {
                self.right += one.without;
                self.lost += one.beneficial();
            }
        }
    }
}

type Pair = (Option<f64>, Option<f64>);

/// Chooses both thresholds for a goal, among quantiles of the signals; a threshold that is given stays.
///
/// What counts as retrieval for the goal is evidence that is used. A guarantee is looked for on one half of the
/// questions and proved on the other.
#[must_use]
pub fn calibrate_jointly(
    observations: &[JointObservation],
    given: Pair,
    goal: Goal,
) -> JointCalibration {
    let candidates = |given: Option<f64>, number: fn(&JointObservation) -> f64| match given {
        Some(threshold) => vec![Some(threshold)],
        None => quantiles(observations.iter().map(number).collect()),
    };
    let of_evidence = candidates(given.1, |one| one.evidence);
    let pairs: Vec<Pair> = candidates(given.0, |one| one.question)
        .into_iter()
        .flat_map(|question| {
            of_evidence
                .iter()
                .map(move |evidence| (question, *evidence))
        })
        .collect();
    let (chosen, proved, confidence) = match goal {
        Goal::Guarantee {
            max_loss,
            confidence,
        } => {
            let (second, first): (Vec<_>, Vec<_>) = observations
                .iter()
                .copied()
                .partition(|one| one.second_half);
            let delta = 1.0 - confidence;
            (
                guaranteed(&first, &second, &pairs, max_loss, delta),
                second,
                confidence,
            )
        }
        goal => (
            best(observations, &pairs, given, goal),
            observations.to_vec(),
            CONFIDENCE,
        ),
    };
    calibrated(chosen, outcome(&proved, chosen), &proved, confidence)
}

/// Thresholds with what they do to the questions that they are proved on.
pub(super) fn calibrated(
    chosen: Pair,
    outcome: Outcome,
    proved: &[JointObservation],
    confidence: f64,
) -> JointCalibration {
    let n = proved.len();
    let share = |count: f64| count / n.max(1) as f64;
    JointCalibration {
        question: chosen.0,
        evidence: chosen.1,
        retrieval_ratio: share(outcome.retrieved as f64),
        evidence_ratio: share(outcome.used as f64),
        loss: share(outcome.lost),
        loss_bound: match outcome.used < n {
            true => risk_bound(outcome.lost, n, 1.0 - confidence, is_exact(proved)),
            false => 0.0,
        },
        accuracy: share(outcome.right),
        questions: n,
    }
}

/// The best pair for a goal without a guarantee.
fn best(observations: &[JointObservation], pairs: &[Pair], given: Pair, goal: Goal) -> Pair {
    let n = observations.len() as f64;
    let always: f64 = observations.iter().map(|one| one.with).sum();
    let beneficial: f64 = observations.iter().map(JointObservation::beneficial).sum();
    let meets = |outcome: &Outcome| match goal {
        Goal::RetrievalRatio(ratio) => outcome.used as f64 <= ratio * n + 1e-9,
        Goal::AtMostLost(most) => outcome.right + 1e-9 >= always - most * n,
        Goal::AtMostMissed(most) => outcome.lost <= most * beneficial + 1e-9,
        Goal::BestAccuracy | Goal::Guarantee { .. } | Goal::Errors { .. } => true,
    };
    // The larger, the better; of equals the later, which retrieves less.
    let worth = |outcome: &Outcome| {
        let (used, retrieved) = (-(outcome.used as f64), -(outcome.retrieved as f64));
        match goal {
            Goal::AtMostLost(_) | Goal::AtMostMissed(_) => [used, outcome.right, retrieved],
            _ => [outcome.right, used, retrieved],
        }
    };
    let met = pairs
        .iter()
        .map(|&pair| (pair, outcome(observations, pair)));
    let met = met.filter(|(_, outcome)| meets(outcome));
    let best = met.max_by(|(_, one), (_, other)| {
        worth(one)
            .partial_cmp(&worth(other))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    best.map_or(given, |(pair, _)| pair)
}

/// The pair that drops most evidence among those that are shown to lose at most `max_loss`; no thresholds
/// where none is.
fn guaranteed(
    first: &[JointObservation],
    second: &[JointObservation],
    pairs: &[Pair],
    max_loss: f64,
    delta: f64,
) -> Pair {
    let candidates = pairs.iter().map(|&candidate| {
        let Outcome { used, lost, .. } = outcome(first, candidate);
        Candidate {
            candidate,
            used: used as f64,
            lost,
        }
    });
    let candidates: Vec<Candidate<Pair>> = candidates.collect();
    let lost = |pair| outcome(second, pair).lost;
    let tested = (lost, second.len(), is_exact(second));
    let all = first.len() as f64;
    sequence::guaranteed(&candidates, all, (max_loss, delta), tested).unwrap_or_default()
}

fn outcome(observations: &[JointObservation], (question, evidence): Pair) -> Outcome {
    let mut sum = Outcome::default();
    for one in observations {
        let above = |score: f64, threshold: Option<f64>| {
            !threshold.is_some_and(|threshold| score <= threshold)
        };
        let retrieved = above(one.question, question);
        let used = retrieved && above(one.evidence, evidence);
        sum.add(one, retrieved, used);
    }
    sum
}

/// Nothing, and values of a signal with evenly many questions between them.
pub(super) fn quantiles(mut scores: Vec<f64>) -> Vec<Option<f64>> {
    scores.retain(|score| score.is_finite());
    scores.sort_by(f64::total_cmp);
    let last = scores.len().saturating_sub(1);
    let places = (0..CANDIDATES).map(|at| at * last / (CANDIDATES - 1));
    let values = places.filter_map(|place| scores.get(place).copied());
    let mut all: Vec<Option<f64>> = std::iter::once(None).chain(values.map(Some)).collect();
    all.dedup();
    all
}

/// Whether each question loses all or nothing.
pub(super) fn is_exact(observations: &[JointObservation]) -> bool {
    observations
        .iter()
        .all(|one| [0.0, 1.0].contains(&one.beneficial()))
}
