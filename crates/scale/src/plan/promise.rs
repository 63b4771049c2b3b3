//! The cheapest set-up that with high confidence loses little against another one.
//!
//! The first half of the questions determines a walk: from the reference down to cheaper set-ups, along the Pareto
//! front. On the second half each step is tested in this order, and the first failure ends the walk. Since the walk
//! does not depend on the second half, and no step after a failure is considered, the promise holds for the chosen
//! set-up with the confidence of a single test (fixed-sequence testing; Angelopoulos et al. 2021, Learn then Test).
//!
//! A step is tested by betting that its mean loss is below the allowed loss (Waudby-Smith and Ramdas 2024). If it is
//! not, any bet multiplies its stake by 1 / (1 - confidence) or more with a probability of at most 1 - confidence.
//! That holds for any number of questions and any distribution of losses (gains count as negative losses). The stake
//! is chosen on the first half.

use ken_eval::statistics::mean;
use ken_policy::fewest;
use serde::Serialize;

use super::candidate::{CHOOSING, Candidate, REPORTING};
use super::choose::{better, front};
use super::quantity::Quantity;

/// A promise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Promise {
    /// The accuracy to compare.
    pub accuracy: Quantity,
    /// The cost to lower.
    pub cost: Quantity,
    /// The loss of accuracy that is allowed, between 0 and 1.
    pub max_loss: f64,
    /// The probability that the promise holds, between 0 and 1.
    pub confidence: f64,
}

/// A step of the walk.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// The set-up.
    pub name: String,
    /// Its cost.
    pub cost: f64,
    /// The mean loss on the second half of the questions.
    pub loss: f64,
    /// What the bet made of a stake of 1: at least 1 / (1 - confidence) if the step passes.
    pub evidence: f64,
    /// Whether the step passes.
    pub passes: bool,
    /// For a failed step: about how many questions like those of the first half, in total, it would need to pass;
    /// `None` if no number would do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed: Option<usize>,
}

/// The steps of a walk, and where it ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Walk<'c> {
    /// The last set-up that passed; the reference if none did.
    #[serde(skip)]
    pub chosen: &'c Candidate,
    /// The tested steps; only the last may have failed.
    pub steps: Vec<Step>,
}

/// Walks from the reference to cheaper set-ups.
pub fn walk<'c>(
    candidates: &'c [Candidate],
    reference: &'c Candidate,
    promise: Promise,
) -> Walk<'c> {
    let Promise {
        accuracy,
        cost,
        confidence,
        ..
    } = promise;
    let dear = reference.value(cost).unwrap_or(f64::INFINITY);
    let cheaper = candidates.iter().filter(|candidate| {
        candidate.value(cost).is_some_and(|value| value <= dear)
            && !std::ptr::eq(*candidate, reference)
    });
    let mut path = front(
        &cheaper.collect::<Vec<_>>(),
        accuracy,
        cost,
        Candidate::value_for_choice,
    );
    // From expensive to cheap.
    path.sort_by(|a, b| better(b, a, cost));
    let mut chosen = reference;
    let mut steps = Vec::new();
    for candidate in path {
        let losses = |half| losses(reference, candidate, accuracy, half);
        let (before, tested) = (losses(CHOOSING), losses(REPORTING));
        let stake = stake(&before, before.len(), promise.max_loss);
        let evidence = evidence(&tested, promise.max_loss, stake);
        let passes = evidence >= 1.0 / (1.0 - confidence);
        steps.push(Step {
            name: candidate.name.clone(),
            cost: candidate.value(cost).unwrap_or_default(),
            loss: mean(&tested).unwrap_or_default(),
            evidence,
            passes,
            needed: match passes {
                true => None,
                false => needed(&before, promise),
            },
        });
        if !passes {
            break;
        }
        chosen = candidate;
    }
    Walk { chosen, steps }
}

/// The loss of a set-up against another on each question of a half, from -1 to 1.
fn losses(
    reference: &Candidate,
    candidate: &Candidate,
    accuracy: Quantity,
    half: usize,
) -> Vec<f64> {
    let (before, after) = (
        reference.on_half(accuracy, half),
        candidate.on_half(accuracy, half),
    );
    before
        .iter()
        .zip(&after)
        .map(|(before, after)| before - after)
        .collect()
}

/// The number of stakes to try.
const STAKES: u32 = 200;

/// The stake on each question that would have grown most on `questions` questions with losses like these and half of
/// a total loss more, since what never failed on a few questions may fail on the next.
fn stake(losses: &[f64], questions: usize, max_loss: f64) -> f64 {
    let grown = |stake: f64| {
        let of_these = growth(losses, max_loss, stake) * questions as f64;
        of_these + 0.5 * growth(&[1.0], max_loss, stake)
    };
    // A higher stake could turn negative by a total loss.
    let most = 1.0 / (1.0 - max_loss);
    let stakes = (0..STAKES).map(|step| most * f64::from(step) / f64::from(STAKES));
    stakes
        .max_by(|a, b| grown(*a).total_cmp(&grown(*b)))
        .unwrap_or_default()
}

/// The mean logarithm of the factor by which a question multiplies the stake.
fn growth(losses: &[f64], max_loss: f64, stake: f64) -> f64 {
    let logs = losses
        .iter()
        .map(|loss| (stake * (max_loss - loss)).ln_1p());
    mean(&logs.collect::<Vec<_>>()).unwrap_or_default()
}

/// What the bet makes of a stake of 1.
fn evidence(losses: &[f64], max_loss: f64, stake: f64) -> f64 {
    (growth(losses, max_loss, stake) * losses.len() as f64).exp()
}

/// More questions than any data set has.
const MOST_NEEDED: usize = 1 << 30;

/// How many questions in total, half of them for choosing, would be enough if they are like these.
fn needed(losses: &[f64], promise: Promise) -> Option<usize> {
    let half = fewest(MOST_NEEDED, |questions| {
        let stake = stake(losses, questions, promise.max_loss);
        let grown = growth(losses, promise.max_loss, stake) * questions as f64;
        grown >= (1.0 / (1.0 - promise.confidence)).ln()
    });
    Some(2 * half?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ken_random::unit;

    fn drawn(state: &mut u64, n: usize, lost: f64, gained: f64) -> Vec<f64> {
        let loss = |chance: f64| match chance {
            c if c < lost => 1.0,
            c if c < lost + gained => -1.0,
            _ => 0.0,
        };
        (0..n).map(|_| loss(unit(state))).collect()
    }

    /// The share of tests that pass if the mean loss is `max_loss` or lower.
    fn passing(lost: f64, gained: f64, n: usize, max_loss: f64) -> f64 {
        let (mut state, mut passed, times) = (11, 0, 2000);
        for _ in 0..times {
            let before = drawn(&mut state, n, lost, gained);
            let stake = stake(&before, n, max_loss);
            let evidence = evidence(&drawn(&mut state, n, lost, gained), max_loss, stake);
            passed += usize::from(evidence >= 20.0);
        }
        passed as f64 / f64::from(times)
    }

    #[test]
    fn what_loses_too_much_passes_no_oftener_than_it_may() {
        // Three standard deviations above 0.05 in 2,000 tests.
        let most = 0.05 + 3.0 * (0.05 * 0.95 / 2000.0_f64).sqrt();
        for (lost, gained) in [(0.02, 0.0), (0.05, 0.03), (0.12, 0.10), (0.3, 0.28)] {
            for n in [20, 150, 400] {
                let share = passing(lost, gained, n, 0.02);
                assert!(
                    share <= most,
                    "{lost} lost and {gained} gained of {n}: {share}"
                );
            }
        }
    }

    #[test]
    fn losses_between_whole_ones_keep_the_promise_as_well() {
        // Losses as of F1: anything from -1 to 1, `max_loss` on average.
        let most = 0.05 + 3.0 * (0.05 * 0.95 / 2000.0_f64).sqrt();
        let mut state = 7;
        for (width, n) in [(0.1, 150), (0.6, 150), (0.95, 400)] {
            let mut losses = || -> Vec<f64> {
                (0..n)
                    .map(|_| 0.02 + width * (2.0 * unit(&mut state) - 1.0))
                    .collect()
            };
            let passed = (0..2000)
                .filter(|_| {
                    let stake = stake(&losses(), n, 0.02);
                    evidence(&losses(), 0.02, stake) >= 20.0
                })
                .count();
            assert!(passed as f64 <= most * 2000.0, "{width}, {n}: {passed}");
        }
    }

    #[test]
    fn what_loses_little_is_found_to() {
        assert!(passing(0.0, 0.0, 180, 0.02) > 0.99);
        assert!(passing(0.0, 0.05, 150, 0.02) > 0.8);
        assert!(passing(0.01, 0.01, 600, 0.05) > 0.9);
    }

    #[test]
    fn a_stake_never_turns_negative() {
        for losses in [vec![], vec![-1.0; 30], vec![1.0; 30], vec![0.0; 300]] {
            let stake = stake(&losses, losses.len(), 0.02);
            assert!(evidence(&[1.0; 5], 0.02, stake) >= 0.0);
            assert!(stake * (1.0 - 0.02) < 1.0, "{stake}");
        }
        assert_eq!(stake(&[1.0; 30], 30, 0.02), 0.0);
    }

    #[test]
    fn how_many_are_needed_is_about_what_passes() {
        let promise = Promise {
            accuracy: Quantity::Em,
            cost: Quantity::Memory,
            max_loss: 0.02,
            confidence: 0.95,
        };
        // Even a few questions show how many are needed.
        for few in [4, 60] {
            let needed = needed(&vec![0.0; few], promise).unwrap();
            let passes = |half: usize| {
                let losses = vec![0.0; half];
                evidence(&losses, 0.02, stake(&losses, half, 0.02)) >= 20.0
            };
            assert!(passes(needed / 2) && !passes(needed / 2 - 1), "{needed}");
        }
        assert_eq!(needed(&[0.5; 60], promise), None);
    }
}
