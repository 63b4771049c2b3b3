//! The threshold of a policy that judges twice (KBM, section 3.2): one number both sends questions to the corpus and
//! keeps what is found. So no order of the questions tells which thresholds lose less: the lower it is, the more is
//! searched and the less is kept. Every threshold is tried.

use super::jointly::{JointCalibration, JointObservation, Outcome, calibrated, is_exact};
use super::sequence::{self, Candidate};
use super::{CONFIDENCE, Goal};

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
        Goal::BestAccuracy | Goal::Guarantee { .. } => one.right + 1e-9 >= most_right,
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

#[cfg(test)]
mod tests {
    use super::*;
    use ken_random::unit;
    use proptest::prelude::*;

    /// The judgments without and with evidence, and whether memory and evidence answer right.
    type Row = (u8, u8, bool, bool);

    fn observed(rows: &[Row]) -> Vec<JointObservation> {
        let share = |tenths: u8| f64::from(tenths) / 10.0;
        let number = |right: bool| f64::from(u8::from(right));
        let each = rows.iter().enumerate();
        each.map(|(at, &(before, after, never, always))| JointObservation {
            question: share(before),
            evidence: share(after),
            without: number(never),
            with: number(always),
            second_half: at % 2 == 1,
        })
        .collect()
    }

    #[test]
    fn where_all_has_to_be_searched_what_is_found_is_used() {
        // What evidence answers right looks mastered before, and unknown after.
        let found = calibrate_double(&observed(&[(0, 10, false, true)]), Goal::AtMostMissed(0.0));
        assert_eq!(found.question, None);
        assert_eq!((found.retrieval_ratio, found.evidence_ratio), (1.0, 1.0));
    }

    #[test]
    fn what_is_no_number_retrieves_and_keeps_what_is_found() {
        let mut rows = observed(&[(5, 0, false, true); 4]);
        rows[0].question = f64::NAN;
        rows[1].evidence = f64::NAN;
        rows[2].evidence = f64::INFINITY;
        let Outcome {
            retrieved, used, ..
        } = outcome(&rows, Some(0.4));
        assert_eq!((retrieved, used), (4, 3));
        let Outcome {
            retrieved, used, ..
        } = outcome(&rows, Some(0.5));
        assert_eq!((retrieved, used), (1, 1));
        for (threshold, found) in outcomes(&rows) {
            assert_eq!(found, outcome(&rows, threshold));
        }
    }

    /// Questions of three kinds: known, needed, and misled; the judgment with the evidence tells the misled ones.
    fn judged(seed: u64, count: usize, told: f64) -> Vec<JointObservation> {
        let mut state = seed;
        let each = (0..count).map(|number| {
            let (without, with) = [(1.0, 1.0), (0.0, 1.0), (1.0, 0.0)][number % 3];
            let known = without == 1.0 && with == 1.0;
            JointObservation {
                question: unit(&mut state) + if known { 0.0 } else { told },
                evidence: unit(&mut state) + if with == 1.0 { 0.0 } else { told },
                without,
                with,
                second_half: unit(&mut state) < 0.5,
            }
        });
        each.collect()
    }

    #[test]
    fn a_guarantee_is_proved_on_the_other_half() {
        let goal = |max_loss| Goal::Guarantee {
            max_loss,
            confidence: 0.95,
        };
        let rows = judged(2, 900, 2.0);
        let found = calibrate_double(&rows, goal(0.02));
        assert!(found.question.is_some(), "{found:?}");
        assert!(
            found.evidence_ratio < 0.5 && found.loss_bound <= 0.02,
            "{found:?}"
        );
        let half = rows.iter().filter(|one| one.second_half).count();
        assert_eq!(found.questions, half);
        let few = calibrate_double(&rows[..60], goal(0.02));
        assert_eq!((few.question, few.evidence_ratio), (None, 1.0));
    }

    #[test]
    fn new_questions_lose_no_more_than_guaranteed() {
        let goal = Goal::Guarantee {
            max_loss: 0.05,
            confidence: 0.9,
        };
        let (mut promised, mut broken) = (0, 0);
        for seed in 0..200 {
            // Judgments that tell little: what a threshold loses is near the border.
            let found = calibrate_double(&judged(seed, 2000, 0.9), goal);
            let new = judged(seed + 1000, 4000, 0.9);
            let lost = outcome(&new, found.question).lost;
            promised += usize::from(found.question.is_some());
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
            for (threshold, found) in outcomes(&rows) {
                prop_assert_eq!(found, outcome(&rows, threshold));
            }
        }

        /// No threshold on a grid that is finer than the scores meets the goal with less evidence.
        #[test]
        fn no_threshold_is_better(
            rows in prop::collection::vec((0..=10u8, 0..=10u8, any::<bool>(), any::<bool>()), 1..40),
            strict in any::<bool>(),
        ) {
            let goal = if strict { Goal::AtMostMissed(0.1) } else { Goal::AtMostLost(0.1) };
            let found = calibrate_double(&observed(&rows), goal);
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
            let (meets, used) = plain(found.question);
            prop_assert!(meets);
            prop_assert!((found.evidence_ratio - used as f64 / rows.len() as f64).abs() < 1e-9);
            for step in -1..=220 {
                let (meets, other) = plain(Some(f64::from(step) / 200.0));
                prop_assert!(!meets || other >= used, "{step} uses {other}, {found:?} {used}");
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
            let within = calibrate_double(&rows, Goal::RetrievalRatio(ratio));
            let best = calibrate_double(&rows, Goal::BestAccuracy);
            prop_assert!(within.evidence_ratio <= ratio + 1e-9);
            for (_, one) in outcomes(&rows) {
                let accuracy = one.right / n;
                prop_assert!(accuracy <= best.accuracy + 1e-9);
                prop_assert!(one.used as f64 > ratio * n + 1e-9 || accuracy <= within.accuracy + 1e-9);
            }
        }
    }
}
