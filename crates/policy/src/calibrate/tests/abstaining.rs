//! A threshold of the question, and one of abstention.

use ken_testing::with;

use crate::calibrate::candidates::Candidate;
use crate::calibrate::sequence::surest_first;
use crate::calibrate::{Calibration, Goal, Observation, Tally, calibrate};
use crate::{Policy, Signal};
use ken_random::unit;
use proptest::prelude::*;

const GOAL: Goal = Goal::Errors {
    max_error: 0.1,
    confidence: 0.9,
};

/// `None` if no threshold keeps the promise.
fn calibrated(observations: &[Observation], abstain: Signal) -> Option<Calibration> {
    let policy = Policy::above(Signal::PERPLEXITY, None);
    let calibration = calibrate(&policy, Some(abstain), 0, observations, GOAL);
    calibration.is_met.then_some(calibration)
}

/// Questions that memory, the corpus, or nothing answers; signals tell them apart the better, the less
/// noise there is.
fn drawn(state: &mut u64, count: usize, noise: f64) -> Vec<Observation> {
    let each = (0..count).map(|_| {
        let (without, with) = match unit(state) {
            kind if kind < 0.3 => (1.0, 1.0),
            kind if kind < 0.6 => (0.0, 1.0),
            _ => (0.0, 0.0),
        };
        with!(Observation::of(1.0 - without + noise * unit(state), without, with),
            review: 1.0 - with + noise * unit(state), second_half: unit(state) < 0.5)
    });
    each.collect()
}

#[test]
fn what_neither_knows_stays_without_an_answer() {
    let observations = drawn(&mut 1, 800, 0.5);
    let calibration = calibrated(&observations, Signal::PERPLEXITY).unwrap();
    // All that one of them knows, and as many others as may be wrong.
    assert!(
        (0.58..0.72).contains(&calibration.coverage()),
        "{calibration:?}"
    );
    assert!(
        calibration.error() <= 0.1 && calibration.bound <= 0.1,
        "{calibration:?}"
    );
    assert!(
        calibration.right_abstentions().unwrap() > 0.95,
        "{calibration:?}"
    );
    assert!(calibration.from_memory() > 0.0, "{calibration:?}");
    // The same by a signal that rises with what answers are worth.
    let turned = observations
        .iter()
        .map(|one| with!(one.clone(), review: -one.review));
    let turned = calibrated(&turned.collect::<Vec<_>>(), Signal::EVIDENCE_CONFIDENCE).unwrap();
    assert!(
        (turned.coverage() - calibration.coverage()).abs() < 0.03,
        "{turned:?}"
    );
}

#[test]
fn where_nothing_can_be_promised_nothing_is() {
    assert_eq!(calibrated(&[], Signal::PERPLEXITY), None);
    let few = drawn(&mut 1, 20, 0.5);
    assert_eq!(calibrated(&few, Signal::PERPLEXITY), None);
    let wrong = drawn(&mut 2, 500, 0.5).into_iter();
    let wrong = wrong.map(|one| with!(one, memory: 0.0, always: 0.0));
    assert_eq!(
        calibrated(&wrong.collect::<Vec<_>>(), Signal::PERPLEXITY),
        None
    );
    // Where all is right, all is answered.
    let right = drawn(&mut 3, 500, 0.5).into_iter();
    let right = right.map(|one| with!(one, memory: 1.0, always: 1.0, review: f64::NAN));
    let calibration = calibrated(&right.collect::<Vec<_>>(), Signal::PERPLEXITY).unwrap();
    assert_eq!(
        (calibration.coverage(), calibration.right_abstentions()),
        (1.0, None)
    );
}

#[test]
fn new_answers_are_wrong_no_more_often_than_promised() {
    let mut broken = 0;
    let mut answered = 0.0;
    for seed in 0..200 {
        let mut state = seed;
        // Signals that tell so little that what a pair gets wrong is near the border.
        let (seen, new) = (drawn(&mut state, 500, 2.5), drawn(&mut state, 4000, 2.5));
        let Some(calibration) = calibrated(&seen, Signal::PERPLEXITY) else {
            continue;
        };
        let tally = Tally::of(&calibration.policy, calibration.abstain, &new, 1);
        broken += usize::from(tally.wrong > 0.1 * tally.given);
        answered += tally.given / 4000.0;
    }
    // 20 on average at most, and three standard deviations; and it is no promise of nothing.
    assert!(broken <= 33, "{broken}");
    assert!(answered / 200.0 > 0.05, "{answered}");
}

proptest! {
    #[test]
    fn no_pair_beats_one_of_the_sequence(seed in 0_u64..200, count in 1_usize..40) {
        let mut state = seed;
        let mut below = |most: f64| (unit(&mut state) * most).floor();
        let tried: Vec<Candidate> = (0..count)
            .map(|at| Candidate {
                values: [Some(at as f64), None, None, None],
                tally: Tally {
                    given: below(6.0),
                    // Stands for the p-value.
                    wrong: below(5.0) / 5.0,
                    ..Tally::default()
                },
            })
            .collect();
        let p_value = |one: &Candidate| one.tally.wrong;
        let sequence = surest_first(tried.clone(), p_value);
        for one in &sequence {
            let beats = |other: &Candidate| {
                let (more, surer) = (other.tally.given, p_value(other));
                let as_good = more >= one.tally.given && surer <= p_value(one);
                as_good && (more > one.tally.given || surer < p_value(one))
            };
            prop_assert!(one.tally.given > 0.0 && !tried.iter().any(beats));
        }
        for two in sequence.windows(2) {
            let rises = two[0].tally.given < two[1].tally.given;
            prop_assert!(rises && p_value(&two[0]) < p_value(&two[1]));
        }
        // What is not in it is matched by one that is.
        for one in tried.iter().filter(|one| one.tally.given > 0.0) {
            let matched = |other: &Candidate| {
                other.tally.given >= one.tally.given && p_value(other) <= p_value(one)
            };
            prop_assert!(sequence.iter().any(matched));
        }
    }
}
