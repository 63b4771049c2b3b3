//! Thresholds between values of k.

use super::guarantee;
use crate::calibrate::candidates::borders;
use crate::calibrate::{Calibration, Goal, Observation, Tally, blocks, calibrate};
use crate::{Ks, Policy, Signal};
use ken_random::unit;
use proptest::prelude::*;

fn grades() -> Policy {
    Policy::graded(Signal::PERPLEXITY, Ks::new(&[0, 1, 8]).unwrap())
}

fn calibrated(observations: &[Observation], goal: Goal) -> Calibration {
    calibrate(&grades(), None, 8, observations, goal)
}

/// Questions of three kinds, told apart by the signal: known, answered by one passage, and by many only.
fn mixed(seed: u64, count: usize) -> Vec<Observation> {
    let mut state = seed;
    let each = (0..count).map(|number| {
        let kind = number % 3;
        Observation {
            question: kind as f64 + 0.9 * unit(&mut state),
            review: 0.0,
            memory: f64::from(u8::from(kind == 0)),
            at_k: (0..3)
                .map(|grade| f64::from(u8::from(grade >= kind)))
                .collect(),
            always: 1.0,
            second_half: unit(&mut state) < 0.5,
        }
    });
    each.collect()
}

/// The same, with a signal that tells less and answers of all kinds.
fn noisy(seed: u64, count: usize) -> Vec<Observation> {
    let mut state = seed;
    let mut observations = mixed(seed, count);
    for one in &mut observations {
        one.question = (one.question + 3.0 * unit(&mut state)).round();
        if unit(&mut state) < 0.1 {
            one.question = f64::NAN;
        }
        for right in &mut one.at_k {
            if unit(&mut state) < 0.2 {
                *right = 1.0 - *right;
            }
        }
        one.memory = one.at_k[0];
        one.always = one.at_k[2];
    }
    observations
}

#[test]
fn each_question_gets_as_few_results_as_it_takes() {
    let observations = mixed(1, 600);
    // Of two blocks, one is known and the other not: what takes one passage cannot be told from the probability.
    let best = calibrated(&observations, Goal::BestAccuracy);
    assert_eq!((best.accuracy(), best.loss()), (1.0, 0.0));
    assert!((best.mean_k() - 8.0 * 2.0 / 3.0).abs() < 0.1, "{best:?}");
    // With a few answers from memory among those, it can.
    let mut observations = observations;
    for (number, one) in observations.iter_mut().enumerate() {
        if number % 3 == 1 && number % 5 == 0 {
            one.memory = 1.0;
        }
    }
    let best = calibrated(&observations, Goal::BestAccuracy);
    assert_eq!((best.accuracy(), best.loss()), (1.0, 0.0));
    assert!((best.mean_k() - 3.0).abs() < 0.3, "{best:?}");
    let probabilities: Vec<_> = best
        .each_k
        .iter()
        .map(|one| one.least_probability)
        .collect();
    assert_eq!(probabilities[0], Some(1.0));
    assert!((0.01..0.5).contains(&probabilities[1].unwrap()), "{best:?}");
    assert_eq!(probabilities[2], None);
    assert_eq!(best.each_k[2].always, Some(1.0));
    let few = calibrated(&observations, Goal::RetrievalRatio(0.05));
    assert!(few.mean_k() <= 0.4 && few.accuracy() < 0.8, "{few:?}");
}

#[test]
fn a_guarantee_is_proved_on_the_other_half() {
    let goal = guarantee(0.02, 0.95);
    let observations = mixed(2, 1200);
    let found = calibrated(&observations, goal);
    assert!(found.mean_k() < 6.5 && found.bound <= 0.02, "{found:?}");
    let half = observations.iter().filter(|one| one.second_half).count();
    assert_eq!(found.questions, half);
    let few = calibrated(&observations[..60], goal);
    assert_eq!((few.is_met, few.mean_k(), few.bound), (false, 8.0, 0.0));
}

#[test]
fn new_questions_lose_no_more_than_guaranteed() {
    let goal = guarantee(0.05, 0.9);
    let mut broken = 0;
    for seed in 0..200 {
        let found = calibrated(&noisy(seed, 400), goal);
        let new = noisy(seed + 1000, 4000);
        let lost = Tally::of(&found.policy, None, &new, 8).lost / 4000.0;
        broken += usize::from(lost > 0.05);
    }
    // 20 on average at most, and three standard deviations.
    assert!(broken <= 33, "{broken}");
}

proptest! {
    #[test]
    fn no_thresholds_are_better(seed in 0_u64..300, most in 0_u8..4) {
        let observations = noisy(seed, 60);
        let n = 60.0;
        let always: f64 = observations.iter().map(|one| one.always).sum();
        let most = f64::from(most) / 20.0;
        let found = calibrated(&observations, Goal::AtMostLost(most));
        let best = calibrated(&observations, Goal::BestAccuracy);
        let strict = calibrated(&observations, Goal::AtMostMissed(most));
        // All pairs of borders, question by question.
        let borders = borders(&blocks(&observations));
        let mut fewest = f64::INFINITY;
        let mut fewest_missing = f64::INFINITY;
        let is_beneficial = |one: &&Observation| one.always > one.memory;
        let allowed = most * observations.iter().filter(is_beneficial).count() as f64;
        for &low in &borders {
            for &high in borders.iter().filter(|high| **high >= low) {
                let policy = grades().at(&[low, high]).unwrap();
                let tried = Tally::of(&policy, None, &observations, 8);
                prop_assert!(tried.right / n <= best.accuracy() + 1e-9);
                if tried.right + 1e-9 >= always - most * n {
                    fewest = fewest.min(tried.results);
                }
                let is_missed = |one: &&Observation| {
                    is_beneficial(one) && one.at_k[policy.retrieve.grade(Some(one.question)).unwrap()] < one.always
                };
                if observations.iter().filter(is_missed).count() as f64 <= allowed + 1e-9 {
                    fewest_missing = fewest_missing.min(tried.results);
                }
            }
        }
        prop_assert!((strict.mean_k() * n - fewest_missing).abs() < 1e-6, "{strict:?}");
        prop_assert!((found.mean_k() * n - fewest).abs() < 1e-6, "{found:?} {fewest}");
        prop_assert!(found.accuracy() + most + 1e-9 >= always / n);
    }
}
