//! One threshold of two judgments.

use ken_testing::with;

use super::{candidates, guarantee};
use crate::calibrate::{Calibration, Goal, Observation, Tally, calibrate};
use crate::{Policy, Rule, Signal};
use ken_random::unit;
use proptest::prelude::*;

const OPEN: Policy = Policy {
    retrieve: Rule::above(Signal::MASTERY, None),
    keep: Rule::Settled,
    ..Policy::ALWAYS
};

/// Without a threshold, every question is answered with evidence.
fn double(threshold: Option<f64>) -> Policy {
    threshold.map_or(
        Policy::ALWAYS,
        |_| with!(OPEN, retrieve: Rule::above(Signal::MASTERY, threshold)),
    )
}

fn calibrated(observations: &[Observation], goal: Goal) -> Calibration {
    calibrate(&OPEN, None, 0, observations, goal)
}

/// The judgments without and with evidence, and whether memory and evidence answer right.
type Row = (u8, u8, bool, bool);

fn observed(rows: &[Row]) -> Vec<Observation> {
    let share = |tenths: u8| f64::from(tenths) / 10.0;
    let number = |right: bool| f64::from(u8::from(right));
    let each = rows.iter().enumerate();
    each.map(|(at, &(before, after, never, always))| {
        with!(Observation::of(share(before), number(never), number(always)),
            review: share(after), second_half: at % 2 == 1)
    })
    .collect()
}

#[test]
fn if_every_question_has_to_retrieve_its_evidence_is_used() {
    // Questions that evidence answers right look mastered without it, and unknown with it.
    let calibration = calibrated(&observed(&[(0, 10, false, true)]), Goal::AtMostMissed(0.0));
    assert_eq!(calibration.policy.threshold(), None);
    assert_eq!(
        (calibration.retrieval_ratio(), calibration.evidence_ratio()),
        (1.0, 1.0)
    );
}

#[test]
fn a_score_that_is_not_finite_retrieves_and_keeps_the_evidence() {
    let mut rows = observed(&[(5, 0, false, true); 4]);
    rows[0].question = f64::NAN;
    rows[1].review = f64::NAN;
    rows[2].review = f64::INFINITY;
    let counts = |threshold| {
        let tally = Tally::of(&double(Some(threshold)), None, &rows, 1);
        (tally.retrieved, tally.used)
    };
    assert_eq!(counts(0.4), (4.0, 3.0));
    assert_eq!(counts(0.5), (1.0, 1.0));
    for one in candidates(OPEN, &rows) {
        let [threshold, ..] = one.values;
        assert_eq!(one.tally, Tally::of(&double(threshold), None, &rows, 1));
    }
}

/// Questions of three kinds: known, needed, and misled; the judgment with the evidence tells the misled ones.
fn judged(seed: u64, count: usize, told: f64) -> Vec<Observation> {
    let mut state = seed;
    let each = (0..count).map(|number| {
        let (without, with) = [(1.0, 1.0), (0.0, 1.0), (1.0, 0.0)][number % 3];
        let known = without == 1.0 && with == 1.0;
        let question = unit(&mut state) + if known { 0.0 } else { told };
        with!(Observation::of(question, without, with),
            review: unit(&mut state) + if with == 1.0 { 0.0 } else { told },
            second_half: unit(&mut state) < 0.5)
    });
    each.collect()
}

#[test]
fn a_guarantee_is_proved_on_the_other_half() {
    let goal = |max_loss| guarantee(max_loss, 0.95);
    let rows = judged(2, 900, 2.0);
    let calibration = calibrated(&rows, goal(0.02));
    assert!(calibration.policy.threshold().is_some(), "{calibration:?}");
    assert!(
        calibration.evidence_ratio() < 0.5 && calibration.bound <= 0.02,
        "{calibration:?}"
    );
    let half = rows.iter().filter(|one| one.second_half).count();
    assert_eq!(calibration.questions, half);
    let few = calibrated(&rows[..60], goal(0.02));
    assert_eq!((few.policy.threshold(), few.evidence_ratio()), (None, 1.0));
}

#[test]
fn new_questions_lose_no_more_than_guaranteed() {
    let goal = guarantee(0.05, 0.9);
    let (mut promised, mut broken) = (0, 0);
    for seed in 0..200 {
        // Weak judgments, so that the loss of a threshold is near the limit.
        let calibration = calibrated(&judged(seed, 2000, 0.9), goal);
        let new = judged(seed + 1000, 4000, 0.9);
        let lost = Tally::of(&calibration.policy, None, &new, 1).lost;
        promised += usize::from(calibration.policy.threshold().is_some());
        broken += usize::from(lost / 4000.0 > 0.05);
    }
    assert!(promised >= 100, "{promised}");
    // 20 on average at most, and three standard deviations.
    assert!(broken <= 33, "{broken}");
}

proptest! {
    #[test]
    fn one_pass_sums_up_what_each_threshold_does(
        rows in prop::collection::vec((0..=10u8, 0..=10u8, any::<bool>(), any::<bool>()), 0..40),
    ) {
        let rows = observed(&rows);
        for one in candidates(OPEN, &rows) {
            let [threshold, ..] = one.values;
            prop_assert_eq!(one.tally, Tally::of(&double(threshold), None, &rows, 1));
        }
    }

    /// No threshold on a grid that is finer than the scores meets the goal with less evidence.
    #[test]
    fn no_threshold_is_better(
        rows in prop::collection::vec((0..=10u8, 0..=10u8, any::<bool>(), any::<bool>()), 1..40),
        strict in any::<bool>(),
    ) {
        let goal = if strict { Goal::AtMostMissed(0.1) } else { Goal::AtMostLost(0.1) };
        let calibration = calibrated(&observed(&rows), goal);
        // Plainly: a question uses evidence where it looks unknown without and known with it.
        let plain = |threshold: Option<f64>| {
            let uses = |row: &&Row| threshold.is_none_or(|t| {
                f64::from(row.0) / 10.0 > t && f64::from(row.1) / 10.0 <= t
            });
            let used = rows.iter().filter(uses).count();
            let right = |row: &Row| if uses(&row) { row.3 } else { row.2 };
            let lost = rows.iter().filter(|row| row.3).count() as f64
                - rows.iter().filter(|row| right(row)).count() as f64;
            let beneficial = |row: &&Row| row.3 && !row.2;
            let missed = rows.iter().filter(beneficial).filter(|row| !uses(row)).count() as f64;
            let meets = match strict {
                true => missed <= 0.1 * rows.iter().filter(beneficial).count() as f64 + 1e-9,
                false => lost <= 0.1 * rows.len() as f64 + 1e-9,
            };
            (meets, used)
        };
        let (meets, used) = plain(calibration.policy.threshold());
        prop_assert!(meets);
        prop_assert!((calibration.evidence_ratio() - used as f64 / rows.len() as f64).abs() < 1e-9);
        for step in -1..=220 {
            let (meets, other) = plain(Some(f64::from(step) / 200.0));
            prop_assert!(!meets || other >= used, "{step} uses {other}, {calibration:?} {used}");
        }
    }

    /// Within a share of the evidence, no threshold answers more right; none at all answers more.
    #[test]
    fn the_most_is_made_of_what_may_be_used(
        rows in prop::collection::vec((0..=10u8, 0..=10u8, any::<bool>(), any::<bool>()), 1..40),
        percent in 0..=100u8,
    ) {
        let rows = observed(&rows);
        let n = rows.len() as f64;
        let ratio = f64::from(percent) / 100.0;
        let within = calibrated(&rows, Goal::RetrievalRatio(ratio));
        let best = calibrated(&rows, Goal::BestAccuracy);
        prop_assert!(within.evidence_ratio() <= ratio + 1e-9);
        for one in candidates(OPEN, &rows) {
            let accuracy = one.tally.right / n;
            prop_assert!(accuracy <= best.accuracy() + 1e-9);
            prop_assert!(one.tally.used > ratio * n + 1e-9 || accuracy <= within.accuracy() + 1e-9);
        }
    }
}
