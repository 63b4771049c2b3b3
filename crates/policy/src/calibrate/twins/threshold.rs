//! One threshold.

use crate::calibrate::bounds::{risk_bound, risk_p_value};
use crate::calibrate::{CONFIDENCE, Goal, MOST_NEEDED};

/// A question with known correctness.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// The policy's score; what is no finite number, such as NaN of a signal that cannot tell, retrieves at every
    /// threshold, and counts among the questions as any other.
    pub score: f64,
    /// The correctness of the answer without retrieval, in `[0, 1]`.
    pub without: f64,
    /// The correctness of the answer with retrieval, in `[0, 1]`.
    pub with: f64,
}

impl Observation {
    /// The loss from skipping retrieval, in `[0, 1]`. Gains count as 0 and do not offset other
    /// questions' losses.
    fn lost(&self) -> f64 {
        (self.with - self.without).clamp(0.0, 1.0)
    }
}

/// A threshold and its effect on the calibration questions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    /// Scores above it retrieve; `None` if every question must.
    pub threshold: Option<f64>,
    /// The share of questions that retrieve.
    pub retrieval_ratio: f64,
    /// The mean loss compared with always retrieving; gains do not offset losses.
    pub loss: f64,
    /// The upper bound of the mean loss, with the confidence of the goal or 0.95.
    pub loss_bound: f64,
    /// The accuracy.
    pub accuracy: f64,
    /// The number of questions.
    pub questions: usize,
    /// If no threshold meets the guarantee: roughly how many questions like these would be needed;
    /// `None` if no number would do.
    pub needed: Option<usize>,
}

/// Chooses the threshold for a goal.
///
/// The guarantee holds for questions that are exchangeable with these, with the same model, corpus
/// and settings. It follows risk-controlling prediction sets (Bates et al. 2021): the loss never falls
/// as the threshold rises, so the threshold is raised as long as each step's risk is shown to be at most
/// `max_loss` (Learn then Test with fixed-sequence testing, Angelopoulos et al. 2021), without a
/// correction for multiple tests. The risk is bounded by the exact binomial distribution if all losses
/// are 0 or 1, else by Hoeffding and Bentkus.
#[must_use]
pub fn calibrate(observations: &[Observation], goal: Goal) -> Calibration {
    let steps = steps(observations);
    let n = observations.len();
    let delta = match goal {
        Goal::Guarantee { confidence, .. } => 1.0 - confidence,
        Goal::RetrievalRatio(_)
        | Goal::BestAccuracy
        | Goal::AtMostLost(_)
        | Goal::AtMostMissed(_)
        | Goal::Errors { .. } => 1.0 - CONFIDENCE,
    };
    let exact = observations
        .iter()
        .all(|one| [0.0, 1.0].contains(&one.lost()));
    let chosen = match goal {
        Goal::RetrievalRatio(ratio) => {
            let most = ratio * observations.len() as f64;
            let met = |step: &&Step| step.retrieved as f64 <= most + 1e-9;
            steps.iter().find(met).or(steps.last())
        }
        Goal::BestAccuracy => steps.iter().reduce(|best, next| {
            // Later steps retrieve less.
            match next.right + 1e-9 >= best.right {
                true => next,
                false => best,
            }
        }),
        Goal::AtMostLost(most) => {
            let least = steps.first().map_or(0.0, |all| all.right) - most * n as f64;
            let holds = |step: &&Step| step.right + 1e-9 >= least;
            steps.iter().rev().find(holds)
        }
        Goal::AtMostMissed(most) => {
            // What all beneficial retrievals would lose together.
            let beneficial: f64 = observations.iter().map(Observation::lost).sum();
            let holds = |step: &&Step| step.lost <= most * beneficial + 1e-9;
            steps.iter().rev().find(holds)
        }
        Goal::Errors { .. } => None,
        Goal::Guarantee { max_loss, .. } => {
            let holds = |step: &&Step| {
                step.threshold.is_none() || risk_p_value(step.lost, n, max_loss, exact) <= delta
            };
            steps.iter().take_while(holds).last()
        }
    };
    let chosen = chosen.copied().unwrap_or_default();
    let needed = match goal {
        Goal::Guarantee { max_loss, .. } if chosen.threshold.is_none() && n > 0 => steps
            .get(1)
            .and_then(|first| needed(first.lost / n as f64, max_loss, delta, exact)),
        _ => None,
    };
    Calibration {
        threshold: chosen.threshold,
        retrieval_ratio: chosen.retrieved as f64 / n.max(1) as f64,
        loss: chosen.lost / n.max(1) as f64,
        loss_bound: match chosen.threshold {
            None => 0.0,
            Some(_) => risk_bound(chosen.lost, n, delta, exact),
        },
        accuracy: chosen.right / n.max(1) as f64,
        questions: n,
        needed,
    }
}

/// A threshold with its totals over all questions.
#[derive(Debug, Clone, Copy, Default)]
struct Step {
    /// `None` before the first question is skipped.
    threshold: Option<f64>,
    retrieved: usize,
    lost: f64,
    right: f64,
}

/// All distinct thresholds, from the one that skips nothing to the one that skips most.
fn steps(observations: &[Observation]) -> Vec<Step> {
    let mut sorted: Vec<&Observation> = observations.iter().collect();
    sorted.retain(|one| one.score.is_finite());
    sorted.sort_by(|one, other| one.score.total_cmp(&other.score));
    let mut step = Step {
        threshold: None,
        retrieved: observations.len(),
        lost: 0.0,
        right: observations.iter().map(|one| one.with).sum(),
    };
    let mut steps = vec![step];
    for same in sorted.chunk_by(|one, next| one.score == next.score) {
        for one in same {
            step.threshold = Some(one.score);
            step.retrieved -= 1;
            step.lost += one.lost();
            step.right += one.without - one.with;
        }
        steps.push(step);
    }
    steps
}

/// The least number of questions that would meet the guarantee at this mean loss.
fn needed(loss: f64, max_loss: f64, delta: f64, exact: bool) -> Option<usize> {
    let keeps = |n: usize| {
        let lost = loss * n as f64;
        let lost = if exact { lost.ceil() } else { lost };
        risk_p_value(lost, n, max_loss, exact) <= delta
    };
    let mut most = 1;
    while !keeps(most) {
        most *= 2;
        if most > MOST_NEEDED {
            return None;
        }
    }
    // Rounding makes it not quite monotonic; the least of the last doubling is close enough.
    let (mut low, mut high) = (most / 2, most);
    while low + 1 < high {
        let middle = low.midpoint(high);
        if keeps(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}
