//! The threshold of a policy that judges twice (KBM, section 3.2): one number both sends questions to the corpus and
//! keeps what is found. So no order of the questions tells which thresholds lose less: the lower it is, the more is
//! searched and the less is kept. Every threshold is tried.

use super::jointly::{JointCalibration, JointObservation, Outcome, calibrated, is_exact};
use super::sequence::{self, Candidate};
use crate::calibrate::{CONFIDENCE, Goal};

/// A threshold and what it does to some questions; without one, all are answered with evidence.
type Tried = (Option<f64>, Outcome);

/// Chooses the one threshold for a goal, of questions whose signal was measured without evidence (`question`) and
/// again with it (`evidence`): a question is answered with evidence where it is above the threshold without and not
/// above it with the evidence. What is no number retrieves, and keeps what is found.
///
/// What counts as retrieval for the goal is evidence that is used. A guarantee is looked for on one half of the
/// questions and proved on the other. The threshold is `question` of what is returned; without one all questions have
/// to be answered with evidence.
#[must_use]
pub fn calibrate_double(observations: &[JointObservation], goal: Goal) -> JointCalibration {
    let Goal::Guarantee {
        max_loss,
        confidence,
    } = goal
    else {
        let tried = best(observations, goal);
        return calibrated((tried.0, None), tried.1, observations, CONFIDENCE);
    };
    let (second, first): (Vec<_>, Vec<_>) = observations
        .iter()
        .copied()
        .partition(|one| one.second_half);
    let delta = 1.0 - confidence;
    let threshold = guaranteed(&first, &second, max_loss, delta);
    let outcome = outcome(&second, threshold);
    calibrated((threshold, None), outcome, &second, confidence)
}

/// The best threshold for a goal without a guarantee; among equals the one that uses the least evidence, and searches
/// least for it.
fn best(observations: &[JointObservation], goal: Goal) -> Tried {
    let n = observations.len() as f64;
    let all = outcome(observations, None);
    let beneficial: f64 = observations.iter().map(JointObservation::beneficial).sum();
    let mut tried = vec![(None, all)];
    tried.extend(outcomes(observations));
    let most_right = tried.iter().map(|(_, one)| one.right);
    let most_right = most_right.fold(f64::NEG_INFINITY, f64::max);
    let meets = |(_, one): &&Tried| match goal {
        Goal::RetrievalRatio(ratio) => one.used as f64 <= ratio * n + 1e-9,
        Goal::AtMostLost(most) => one.right + 1e-9 >= all.right - most * n,
        Goal::AtMostMissed(most) => one.lost <= most * beneficial + 1e-9,
        Goal::BestAccuracy | Goal::Guarantee { .. } | Goal::Errors { .. } => {
            one.right + 1e-9 >= most_right
        }
    };
    // The larger, the better.
    let worth = |one: &Outcome| {
        let (used, retrieved) = (-(one.used as f64), -(one.retrieved as f64));
        match goal {
            // Of what may be used, the most is to be made.
            Goal::RetrievalRatio(_) => [one.right, used, retrieved],
            _ => [used, retrieved, one.right],
        }
    };
    let meeting = tried.iter().filter(meets);
    let best = meeting.max_by(|(_, one), (_, other)| {
        let compared = worth(one).partial_cmp(&worth(other));
        compared.unwrap_or(std::cmp::Ordering::Equal)
    });
    best.copied().unwrap_or((None, all))
}

/// The threshold that uses least evidence among those that are shown to lose at most `max_loss`.
fn guaranteed(
    first: &[JointObservation],
    second: &[JointObservation],
    max_loss: f64,
    delta: f64,
) -> Option<f64> {
    let candidates = outcomes(first).into_iter();
    let candidates = candidates.map(|(candidate, Outcome { used, lost, .. })| Candidate {
        candidate,
        used: used as f64,
        lost,
    });
    let candidates: Vec<Candidate<Option<f64>>> = candidates.collect();
    let lost = |threshold| outcome(second, threshold).lost;
    let tested = (lost, second.len(), is_exact(second));
    let all = first.len() as f64;
    sequence::guaranteed(&candidates, all, (max_loss, delta), tested).flatten()
}

/// What one threshold does to some questions.
fn outcome(observations: &[JointObservation], threshold: Option<f64>) -> Outcome {
    let mut sum = Outcome::default();
    for one in observations {
        let is_up_to = |score: f64| threshold.is_some_and(|threshold| score <= threshold);
        let retrieved = !is_up_to(one.question);
        let keeps = threshold.is_none() || one.evidence.is_nan() || is_up_to(one.evidence);
        sum.add(one, retrieved, retrieved && keeps);
    }
    sum
}

/// All thresholds that make a difference, ascending, with what each does. A question is answered with evidence at those
/// from its signal with the evidence up to the one below its signal without, so that all are summed up in one pass.
fn outcomes(observations: &[JointObservation]) -> Vec<Tried> {
    let each = observations.iter();
    let scores = each.flat_map(|one| [one.question, one.evidence]);
    let mut thresholds: Vec<f64> = scores.filter(|score| score.is_finite()).collect();
    thresholds.sort_by(f64::total_cmp);
    thresholds.dedup();
    // At each threshold, what changes between it and the one before.
    let mut searches = vec![0_i64; thresholds.len() + 1];
    let mut uses = vec![0_i64; thresholds.len() + 1];
    let mut gains = vec![0.0; thresholds.len() + 1];
    let mut spares = vec![0.0; thresholds.len() + 1];
    let first_from = |score: f64| thresholds.partition_point(|threshold| *threshold < score);
    for one in observations {
        let searched = match one.question.is_nan() {
            true => thresholds.len(),
            false => first_from(one.question),
        };
        searches[0] += 1;
        searches[searched] -= 1;
        let kept = match one.evidence.is_nan() {
            true => 0,
            false => first_from(one.evidence),
        };
        if kept < searched {
            for (at, sign) in [(kept, 1), (searched, -1)] {
                uses[at] += sign;
                gains[at] += sign as f64 * (one.with - one.without);
                spares[at] += sign as f64 * one.beneficial();
            }
        }
    }
    let mut sum = Outcome::default();
    for one in observations {
        sum.add(one, false, false);
    }
    let (mut retrieved, mut used) = (0_i64, 0_i64);
    let each = thresholds.into_iter().enumerate();
    each.map(|(at, threshold)| {
        retrieved += searches[at];
        used += uses[at];
        sum.right += gains[at];
        sum.lost -= spares[at];
        let outcome = Outcome {
            retrieved: usize::try_from(retrieved).unwrap_or_default(),
            used: usize::try_from(used).unwrap_or_default(),
            ..sum
        };
        (Some(threshold), outcome)
    })
    .collect()
}
