//! Choosing the threshold of a policy from questions whose answers with and without retrieval are
//! known.
//!
//! A policy gives each question a score, the larger the more it needs retrieval; a question
//! retrieves where its score is above the threshold. Nothing is measured here.

mod bounds;

use self::bounds::{risk_bound, risk_p_value};

/// A question whose right answer is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// The policy's score; one that is infinite or not a number retrieves at every threshold.
    pub score: f64,
    /// How right the answer without retrieval is: in `[0, 1]`.
    pub without: f64,
    /// How right the answer with retrieval is: in `[0, 1]`.
    pub with: f64,
}

impl Observation {
    /// What skipping its retrieval loses: in `[0, 1]`. A question that skipping answers better
    /// loses nothing; what it gains is not set against the losses of others.
    fn lost(&self) -> f64 {
        (self.with - self.without).clamp(0.0, 1.0)
    }
}

/// What a threshold is to achieve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// At most this share of the questions retrieves: in `[0, 1]`.
    RetrievalRatio(f64),
    /// The answers of these questions are as right as they can be; with the fewest retrievals
    /// among equals.
    BestAccuracy,
    /// The fewest retrievals such that, with this confidence, at most `max_loss` of the accuracy of
    /// always retrieving is lost on other questions of the same kind.
    Guarantee {
        /// Accuracy that may be lost: in `(0, 1)`.
        max_loss: f64,
        /// One less than the chance that the guarantee is broken: in `(0, 1)`.
        confidence: f64,
    },
}

/// A threshold and what it does to the questions that it was chosen on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    /// Scores above it retrieve; `None` where every question has to.
    pub threshold: Option<f64>,
    /// The share of questions that retrieve.
    pub retrieval_ratio: f64,
    /// Mean loss against always retrieving, gains not set against losses.
    pub loss: f64,
    /// What the mean loss is at most, with the confidence of the goal, else with 0.95.
    pub loss_bound: f64,
    /// Mean rightness.
    pub accuracy: f64,
    /// Questions.
    pub questions: usize,
    /// Where no threshold keeps the guarantee: about how many questions in all would be needed, if
    /// further ones are like these; `None` where no number would do.
    pub needed: Option<usize>,
}

/// The confidence of bounds where the goal has none.
pub const CONFIDENCE: f64 = 0.95;

/// The most questions that [`Calibration::needed`] looks for.
const MOST_NEEDED: usize = 10_000_000;

/// Chooses the threshold for a goal.
///
/// The guarantee holds for questions that are exchangeable with these, with the same model, corpus
/// and settings. It is that of risk-controlling prediction sets (Bates and others 2021): the loss
/// never falls as the threshold rises, so a threshold can be raised for as long as the risk at each
/// step is shown to be at most `max_loss` (Learn then Test with fixed-sequence testing, Angelopoulos
/// and others 2021), and nothing has to be paid for looking at many. The risk is bounded by the
/// exact binomial distribution where losses are 0 or 1, else by Hoeffding and Bentkus.
#[must_use]
pub fn calibrate(observations: &[Observation], goal: Goal) -> Calibration {
    let steps = steps(observations);
    let n = observations.len();
    let delta = match goal {
        Goal::Guarantee { confidence, .. } => 1.0 - confidence,
        Goal::RetrievalRatio(_) | Goal::BestAccuracy => 1.0 - CONFIDENCE,
    };
    let exact = observations.iter().all(|one| {
        let lost = one.lost();
        lost == 0.0 || lost == 1.0
    });
    let chosen = match goal {
        Goal::RetrievalRatio(ratio) => {
            let most = ratio * observations.len() as f64;
            let met = |step: &&Step| step.retrieved as f64 <= most + 1e-9;
            steps.iter().find(met).or(steps.last())
        }
        Goal::BestAccuracy => steps.iter().reduce(|best, next| {
            // Later ones retrieve less.
            if next.right + 1e-9 >= best.right {
                next
            } else {
                best
            }
        }),
        Goal::Guarantee { max_loss, .. } => {
            let holds = |step: &&Step| {
                step.threshold.is_none() || risk_p_value(step.lost, n, max_loss, exact) <= delta
            };
            steps.iter().take_while(holds).last()
        }
    };
    let Some(chosen) = chosen else {
        return nothing();
    };
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

/// Of no questions nothing follows.
fn nothing() -> Calibration {
    Calibration {
        threshold: None,
        retrieval_ratio: 1.0,
        loss: 0.0,
        loss_bound: 0.0,
        accuracy: 0.0,
        questions: 0,
        needed: None,
    }
}

/// A threshold with what it sums up to over all questions.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// `None` before the first question is skipped.
    threshold: Option<f64>,
    retrieved: usize,
    lost: f64,
    right: f64,
}

/// All thresholds that differ, from the one that skips nothing to the one that skips most.
fn steps(observations: &[Observation]) -> Vec<Step> {
    let mut sorted: Vec<&Observation> = observations.iter().collect();
    sorted.retain(|one| one.score < f64::INFINITY);
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

/// The least number of questions that would keep the guarantee at this mean loss.
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
    // Whole numbers make it rise and fall a little; the least of the last doubling is near enough.
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

#[cfg(test)]
mod tests;
