//! Calibration: chooses the thresholds of a policy and of abstention from questions whose correctness with and without
//! retrieval is known. It measures nothing itself.

mod bounds;
mod candidates;
mod isotonic;
mod observation;
mod sequence;
#[cfg(test)]
mod tests;

use self::bounds::{risk_bound, risk_p_value};
use self::candidates::{Candidate, Open, Values};
use self::isotonic::{Block, falling};
use self::sequence::{ever_less, last_that_holds, surest_first};
use crate::fewest::fewest;
use crate::{Abstention, Policy, Rule, Signal};

pub use self::observation::{Observation, Tally};

/// The goal of a calibration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// At most this share of the questions retrieves, in `[0, 1]`.
    RetrievalRatio(f64),
    /// The highest accuracy on these questions, with the fewest retrievals among equals.
    BestAccuracy,
    /// The fewest retrievals at which the accuracy on these questions falls by at most this much, compared
    /// with always retrieving.
    AtMostLost(f64),
    /// The fewest retrievals that miss at most this share of the beneficial ones: of the questions that retrieval alone
    /// answers right, the share answered wrong. Gains from skipping elsewhere do not count.
    AtMostMissed(f64),
    /// The fewest retrievals with the guarantee that, with this confidence, new questions of the same
    /// kind lose at most `max_loss` of the accuracy of always retrieving.
    Guarantee {
        /// The accuracy that may be lost, in `(0, 1)`.
        max_loss: f64,
        /// The probability that the guarantee holds, in `(0, 1)`.
        confidence: f64,
    },
    /// The most answers given of which, with this confidence, at most `max_error` are wrong for new questions of the
    /// same kind. For a policy with an abstention.
    Errors {
        /// The share of wrong answers among those given, in `(0, 1)`.
        max_error: f64,
        /// The probability that the promise holds, in `(0, 1)`.
        confidence: f64,
    },
}

impl Goal {
    /// The confidence of bounds.
    pub fn confidence(self) -> f64 {
        match self {
            Self::Guarantee { confidence, .. } | Self::Errors { confidence, .. } => confidence,
            _ => CONFIDENCE,
        }
    }
}

/// The thresholds, and their effect on the questions that prove them: the second half for a promise that needs one
/// half to order its candidates, else all.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// The policy with its thresholds. A door without one is open; if nothing meets the goal, all are.
    pub policy: Policy,
    /// The abstention with its threshold; `None` if all answers are given.
    pub abstain: Option<Abstention>,
    /// Whether thresholds meet the goal.
    pub is_met: bool,
    /// The effect of the policy.
    pub tally: Tally,
    /// The upper bound of the mean loss, or of the share of wrong answers among those given, with the confidence of the
    /// goal.
    pub bound: f64,
    /// The accuracy of always retrieving.
    pub always: f64,
    /// The questions of each k, from the least, if the policy chooses k.
    pub each_k: Vec<Graded>,
    /// The number of questions.
    pub questions: usize,
    /// If one threshold cannot keep the guarantee: roughly how many questions like these would be needed; `None` if no
    /// number would do.
    pub needed: Option<usize>,
}

impl Calibration {
    /// Divides a sum of the tally by the number of questions.
    fn mean(&self, sum: f64) -> f64 {
        sum / self.questions.max(1) as f64
    }

    /// The share of questions that retrieve.
    pub fn retrieval_ratio(&self) -> f64 {
        self.mean(self.tally.retrieved)
    }

    /// The share of questions that are answered with evidence.
    pub fn evidence_ratio(&self) -> f64 {
        self.mean(self.tally.used)
    }

    /// The mean number of search results, if the policy chooses k.
    pub fn mean_k(&self) -> f64 {
        self.mean(self.tally.results)
    }

    /// The accuracy.
    pub fn accuracy(&self) -> f64 {
        self.mean(self.tally.right)
    }

    /// The mean loss compared with always retrieving; gains do not offset losses.
    pub fn loss(&self) -> f64 {
        self.mean(self.tally.lost)
    }

    /// The share of questions whose answer is given.
    pub fn coverage(&self) -> f64 {
        self.mean(self.tally.given)
    }

    /// The share of questions that are answered from memory without having retrieved.
    pub fn from_memory(&self) -> f64 {
        self.mean(self.questions as f64 - self.tally.retrieved)
    }

    /// The share of wrong answers among those given.
    pub fn error(&self) -> f64 {
        self.tally.wrong / self.tally.given.max(1.0)
    }

    /// The share of wrong answers among those withheld; `None` if none is withheld.
    pub fn right_abstentions(&self) -> Option<f64> {
        let withheld = self.questions as f64 - self.tally.given;
        (withheld > 0.0).then(|| self.tally.withheld_wrong / withheld)
    }
}

/// The questions that get one k.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Graded {
    /// Search results.
    pub k: usize,
    /// The least calibrated probability that memory is right at which a question gets this k: the one at its
    /// threshold; `None` for the largest k, and for one that no question gets.
    pub least_probability: Option<f64>,
    /// The share of all questions.
    pub share: f64,
    /// The accuracy of their answers from memory.
    pub memory: Option<f64>,
    /// The accuracy with this k.
    pub accuracy: Option<f64>,
    /// The accuracy of always retrieving.
    pub always: Option<f64>,
}

/// The confidence of bounds if the goal has none.
pub const CONFIDENCE: f64 = 0.95;

/// The limit of [`Calibration::needed`].
const MOST_NEEDED: usize = 10_000_000;

/// The rounding error allowed for sums of fractions.
const ROUNDED: f64 = 1e-9;

/// Chooses for a goal the thresholds that a policy leaves open, and that of the signal that withholds answers.
/// `always_k`: the search results of always retrieving, which count only if the policy chooses k.
///
/// Every candidate is judged by the decisions of [`decide`](crate::decide). A question counts as a retrieval for the
/// goal if it uses evidence; if the policy chooses k, it counts by its share of the search results of always retrieving.
///
/// - One threshold: every value of the signal is a candidate. The loss never falls as the threshold rises, so for
///   a guarantee it is raised on all questions as long as each step's risk is shown to be at most `max_loss` (Learn
///   then Test with fixed-sequence testing, Angelopoulos et al. 2021; risk-controlling prediction sets, Bates et al. 2021).
/// - One threshold of double judgment: the loss does not follow the threshold, so candidates for a guarantee are chosen
///   on one half of the questions and proved on the other.
/// - Two signals: pairs of quantiles, proved likewise.
/// - Several thresholds between values of k: the signal is turned into the probability that memory is right by isotonic
///   regression, and they are borders between its values, so they rise in the signal as they fall in the probability;
///   proved likewise.
///
/// A guarantee holds for questions that are exchangeable with these, with the same model, corpus and settings. The risk is
/// bounded by the exact binomial distribution if all losses are 0 or 1, else by Hoeffding and Bentkus. Given how many
/// questions are answered, the wrong answers are binomial if each is right or wrong, so a promise of few errors is valid as
/// well (with a threshold of memory and one of retrieval as in BalanceRAG).
pub fn calibrate(
    policy: &Policy,
    abstain: Option<Signal>,
    always_k: usize,
    observations: &[Observation],
    goal: Goal,
) -> Calibration {
    let open = Open {
        policy: *policy,
        abstain,
        always_k: if policy.is_graded() { always_k } else { 1 },
    };
    let is_promise = matches!(goal, Goal::Guarantee { .. } | Goal::Errors { .. });
    let is_split = is_promise && !open.is_monotone();
    let halves = observations.iter().cloned();
    let (second, first): (Vec<_>, Vec<_>) = halves.partition(|case| is_split && case.second_half);
    let proved = if is_split { &second } else { &first };
    let n = proved.len();
    let blocks = blocks(&first);
    let candidates = open.candidates(&first, observations, &blocks);
    let delta = 1.0 - goal.confidence();
    let exact = match goal {
        Goal::Errors { .. } => observations.iter().all(Observation::is_right_or_wrong),
        _ => proved.iter().all(Observation::loses_all_or_nothing),
    };
    let first_step = candidates.get(1).copied();
    let chosen = choose(&open, candidates, [&first, proved], goal, exact);
    let values = chosen.map(|chosen| chosen.values);
    let (policy, abstain) = match values {
        Some(values) => open.at(values),
        None if open.policy.is_graded() => (Policy::ALWAYS, None),
        None => open.at(Values::default()),
    };
    let tally = Tally::of(&policy, abstain, proved, open.always_k);
    let is_sparing = tally.used < n as f64 || policy.is_graded();
    let bound = match goal {
        Goal::Errors { .. } => risk_bound(tally.wrong, tally.given as usize, delta, exact),
        _ if is_sparing => risk_bound(tally.lost, n, delta, exact),
        _ => 0.0,
    };
    let needed = match goal {
        Goal::Guarantee { max_loss, .. } if open.is_monotone() && !is_sparing => {
            first_step.and_then(|first| needed(first.tally.lost / n as f64, max_loss, delta, exact))
        }
        _ => None,
    };
    Calibration {
        is_met: values.is_some(),
        each_k: each_k(&policy, proved, &blocks),
        policy,
        abstain,
        tally,
        bound,
        always: proved.iter().map(|case| case.always).sum::<f64>() / n.max(1) as f64,
        questions: n,
        needed,
    }
}

/// The candidate that meets the goal, chosen on the first observations and proved on the second; `None` if none does.
/// `exact`: whether losses, or errors, are binomial.
fn choose(
    open: &Open,
    candidates: Vec<Candidate>,
    [first, proved]: [&[Observation]; 2],
    goal: Goal,
    exact: bool,
) -> Option<Candidate> {
    let (n, delta) = (proved.len(), 1.0 - goal.confidence());
    match goal {
        Goal::Guarantee { max_loss, .. } if open.is_monotone() => {
            last_that_holds(&candidates, |candidate| {
                candidate.values == Values::default()
                    || risk_p_value(candidate.tally.lost, n, max_loss, exact) <= delta
            })
        }
        Goal::Guarantee { max_loss, .. } => {
            let all = (first.len() * open.always_k) as f64;
            last_that_holds(&ever_less(&candidates, all), |candidate| {
                let lost = open.tally(candidate.values, proved).lost;
                risk_p_value(lost, n, max_loss, exact) <= delta
            })
        }
        Goal::Errors { max_error, .. } => {
            let p_value =
                |tally: Tally| risk_p_value(tally.wrong, tally.given as usize, max_error, exact);
            last_that_holds(&surest_first(candidates, |c| p_value(c.tally)), |c| {
                p_value(open.tally(c.values, proved)) <= delta
            })
        }
        goal => best(open, &candidates, first, goal),
    }
}

/// The probability that memory is right, as a function of the signal of the question.
fn blocks(observations: &[Observation]) -> Vec<Block> {
    let scored = observations.iter().filter(|case| case.question.is_finite());
    falling(scored.map(|case| (case.question, case.memory)).collect())
}

/// The best candidate for a goal without a promise; `None` if none meets it.
fn best(
    open: &Open,
    candidates: &[Candidate],
    observations: &[Observation],
    goal: Goal,
) -> Option<Candidate> {
    let n = observations.len() as f64;
    let always: f64 = observations.iter().map(|case| case.always).sum();
    let beneficial: f64 = observations.iter().map(Observation::beneficial).sum();
    let meets = |tally: &Tally| match goal {
        Goal::RetrievalRatio(ratio) => tally.results <= ratio * n * open.always_k as f64 + ROUNDED,
        Goal::AtMostLost(most) => tally.right + ROUNDED >= always - most * n,
        Goal::AtMostMissed(most) => tally.missed <= most * beneficial + ROUNDED,
        Goal::BestAccuracy | Goal::Guarantee { .. } | Goal::Errors { .. } => true,
    };
    let is_graded = open.policy.is_graded();
    // Higher is better, from the first number on.
    let worth = |tally: &Tally| {
        let (fewer, right) = (-tally.results, (tally.right / ROUNDED).round());
        // Searches whose results are not used count only between equals.
        let sparing = if is_graded { 0.0 } else { -tally.retrieved };
        match goal {
            // One threshold uses as many as the ratio allows.
            Goal::RetrievalRatio(_) if open.is_monotone() => [tally.results, right, sparing],
            Goal::AtMostLost(_) | Goal::AtMostMissed(_) if open.policy.keep == Rule::Settled => {
                [fewer, sparing, right]
            }
            Goal::AtMostLost(_) | Goal::AtMostMissed(_) => [fewer, right, sparing],
            _ => [right, fewer, sparing],
        }
    };
    let met = candidates.iter().enumerate();
    let met = met.filter(|(_, candidate)| meets(&candidate.tally));
    let best = met.max_by(|(index, candidate), (other_index, other)| {
        // Of equals, the later one; between values of k, the earlier.
        let later = if is_graded {
            other_index.cmp(index)
        } else {
            index.cmp(other_index)
        };
        let compared = worth(&candidate.tally).partial_cmp(&worth(&other.tally));
        compared.unwrap_or(std::cmp::Ordering::Equal).then(later)
    });
    let least = || candidates.last().filter(|_| open.is_monotone());
    best.map(|(_, candidate)| candidate).or_else(least).copied()
}

/// The questions of each k; none if the policy does not choose k.
fn each_k(policy: &Policy, observations: &[Observation], blocks: &[Block]) -> Vec<Graded> {
    if !policy.is_graded() {
        return Vec::new();
    }
    let of_k = |(grade, &k): (usize, &usize)| {
        let own = observations
            .iter()
            .filter(|case| policy.retrieve.grade(Some(case.question)) == Some(grade));
        let own: Vec<&Observation> = own.collect();
        let mean = |of: &dyn Fn(&Observation) -> f64| {
            let sum: f64 = own.iter().map(|case| of(case)).sum();
            (!own.is_empty()).then(|| sum / own.len() as f64)
        };
        let threshold = policy.retrieve.thresholds().and_then(|all| all.get(grade));
        let up_to = |block: &&Block| threshold.is_some_and(|threshold| block.up_to <= *threshold);
        Graded {
            k,
            least_probability: blocks.iter().rfind(up_to).map(|block| block.probability),
            share: own.len() as f64 / observations.len().max(1) as f64,
            memory: mean(&|case| case.memory),
            accuracy: mean(&|case| case.at_k.get(grade).copied().unwrap_or(case.always)),
            always: mean(&|case| case.always),
        }
    };
    policy.ks.values().iter().enumerate().map(of_k).collect()
}

/// The least number of questions that would meet the guarantee at this mean loss.
fn needed(loss: f64, max_loss: f64, delta: f64, exact: bool) -> Option<usize> {
    fewest(MOST_NEEDED, |n| {
        let lost = loss * n as f64;
        let lost = if exact { lost.ceil() } else { lost };
        risk_p_value(lost, n, max_loss, exact) <= delta
    })
}
