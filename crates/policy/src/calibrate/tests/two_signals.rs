//! Two thresholds: of the question, and of the evidence.

use ken_testing::with;

use super::guarantee;
use crate::calibrate::{Calibration, Goal, Observation, Tally, calibrate};
use crate::{Policy, Rule, Signal};
use ken_random::unit;
use proptest::prelude::*;

/// A signal that retrieves and one that weighs the evidence.
fn pair(question: Option<f64>, evidence: Option<f64>) -> Policy {
    with!(Policy::above(Signal::PERPLEXITY, question), keep: Rule::above(Signal::EVIDENCE_COSINE, evidence))
}

fn calibrated(observations: &[Observation], goal: Goal) -> Calibration {
    calibrate(&pair(None, None), None, 0, observations, goal)
}

/// Questions of which each kind is told by one signal: known ones by the first, misled ones by the second.
fn mixed(seed: u64, count: usize) -> Vec<Observation> {
    let mut state = seed;
    let each = (0..count).map(|number| {
        let (without, with) = [(1.0, 1.0), (0.0, 1.0), (1.0, 0.0)][number % 3];
        let told = if (without, with) == (1.0, 1.0) {
            0.0
        } else {
            0.5
        };
        with!(Observation::of(told + 0.4 * unit(&mut state), without, with),
            review: with + 0.4 * unit(&mut state), second_half: unit(&mut state) < 0.5)
    });
    each.collect()
}

#[test]
fn both_thresholds_are_found() {
    let observations = mixed(1, 600);
    let best = calibrated(&observations, Goal::BestAccuracy);
    // No candidate need lie on the border itself.
    assert!(best.accuracy() > 0.98, "{best:?}");
    let third = 1.0 / 3.0;
    assert!((best.evidence_ratio() - third).abs() < 0.02, "{best:?}");
    assert!(
        (0.0..0.5).contains(&best.policy.retrieve.threshold().unwrap()),
        "{best:?}"
    );
    assert!(
        (0.0..1.0).contains(&best.policy.keep.threshold().unwrap()),
        "{best:?}"
    );
    // What is given stays.
    let given = calibrate(
        &pair(Some(-1.0), None),
        None,
        0,
        &observations,
        Goal::BestAccuracy,
    );
    assert_eq!(
        (given.policy.retrieve.threshold(), given.retrieval_ratio()),
        (Some(-1.0), 1.0)
    );
    let few = calibrated(&observations, Goal::RetrievalRatio(0.1));
    assert!(
        few.evidence_ratio() <= 0.1 && few.accuracy() < 1.0,
        "{few:?}"
    );
    let lossless = calibrated(&observations, Goal::AtMostLost(0.0));
    // Misled questions pay for others.
    assert!(lossless.evidence_ratio() < 0.02, "{lossless:?}");
}

#[test]
fn a_guarantee_is_proved_on_the_other_half() {
    let goal = |max_loss| guarantee(max_loss, 0.95);
    let observations = mixed(2, 900);
    let found = calibrated(&observations, goal(0.02));
    assert!(
        found.evidence_ratio() < 0.5 && found.bound <= 0.02,
        "{found:?}"
    );
    let half = observations.iter().filter(|one| one.second_half).count();
    assert_eq!(found.questions, half);
    let few = calibrated(&observations[..60], goal(0.02));
    assert_eq!(
        (
            few.policy.retrieve.threshold(),
            few.policy.keep.threshold(),
            few.evidence_ratio()
        ),
        (None, None, 1.0)
    );
}

#[test]
fn new_questions_lose_no_more_than_guaranteed() {
    let goal = guarantee(0.05, 0.9);
    let mut broken = 0;
    for seed in 0..200 {
        let mut state = seed;
        // Signals that tell little: what a pair loses is near the border.
        let mut drawn = |count: usize| -> Vec<Observation> {
            let each = (0..count).map(|_| {
                let helps = unit(&mut state) < 0.2;
                let shift = if helps { 0.3 } else { 0.0 };
                let memory = f64::from(u8::from(!helps));
                with!(Observation::of(unit(&mut state) + shift, memory, 1.0),
                    review: unit(&mut state) + shift, second_half: unit(&mut state) < 0.5)
            });
            each.collect()
        };
        let (seen, new) = (drawn(400), drawn(4000));
        let found = calibrated(&seen, goal);
        let lost = Tally::of(&found.policy, None, &new, 1).lost / 4000.0;
        broken += usize::from(lost > 0.05);
    }
    // 20 on average at most, and three standard deviations.
    assert!(broken <= 33, "{broken}");
}

proptest! {
    #[test]
    fn no_pair_of_candidates_is_better(seed in 0_u64..500) {
        let observations = mixed(seed, 40);
        let best = calibrated(&observations, Goal::BestAccuracy);
        // All pairs of values, one by one.
        for question in observations.iter().map(|one| one.question) {
            for evidence in observations.iter().map(|one| one.review) {
                let pair = pair(Some(question), Some(evidence));
                let right = Tally::of(&pair, None, &observations, 1).right / 40.0;
                prop_assert!(right <= best.accuracy() + 1e-9);
            }
        }
    }

    #[test]
    fn no_pair_uses_less_evidence_and_misses_as_little(seed in 0_u64..500, most in 0_u8..4) {
        let observations = mixed(seed, 40);
        let most = f64::from(most) / 10.0;
        let strict = calibrated(&observations, Goal::AtMostMissed(most));
        // Counted question by question: [used, missed] at a pair of thresholds.
        let counted = |question: Option<f64>, evidence: Option<f64>| {
            let used = |one: &&Observation| {
                question.is_none_or(|at| one.question > at)
                    && evidence.is_none_or(|at| one.review > at)
            };
            let beneficial = |one: &&Observation| one.always > one.memory;
            let missed = |one: &&Observation| beneficial(one) && !used(one);
            [
                observations.iter().filter(used).count(),
                observations.iter().filter(missed).count(),
            ]
        };
        let beneficial = observations.iter().filter(|one| one.always > one.memory).count();
        let allowed = most * beneficial as f64 + 1e-9;
        let [used, missed] = counted(strict.policy.retrieve.threshold(), strict.policy.keep.threshold());
        prop_assert!(missed as f64 <= allowed);
        for question in observations.iter().map(|one| one.question) {
            for evidence in observations.iter().map(|one| one.review) {
                let [fewer, missed] = counted(Some(question), Some(evidence));
                prop_assert!(missed as f64 > allowed || fewer >= used);
            }
        }
    }
}
