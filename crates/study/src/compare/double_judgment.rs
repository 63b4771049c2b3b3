//! The threshold of a policy that judges twice (KBM, section 3.2): one number both sends questions to the corpus and
//! keeps what is found. So no order of the questions tells which thresholds lose less: the lower it is, the more is
//! searched and the less is kept. Every threshold is tried.

use ken_answer::Policy;
use ken_route::{Goal, Review};

use super::compose::Answered;

/// What a threshold decides, in questions.
#[derive(Debug, Clone, Copy, Default)]
struct Outcome {
    threshold: Option<f64>,
    /// Answered with evidence.
    used: usize,
    /// Searched.
    searched: usize,
    right: usize,
    /// Right with evidence alone, and answered from memory.
    missed: usize,
}

/// The threshold that is best for a goal on some questions: among equals the one that uses the least evidence, and
/// searches least for it. `None` where all have to be answered with evidence: where nothing else reaches the
/// goal, or where a guarantee is asked for, which is not given by trying many thresholds.
///
/// Of a policy with another review, `None`.
pub(super) fn best_threshold(
    policy: Policy,
    answered: &[&Answered<'_>],
    goal: Goal,
) -> Option<f64> {
    let Policy::Measured { signal, review, .. } = policy else {
        return None;
    };
    if review != Review::Double {
        return None;
    }
    let scores = answered
        .iter()
        .map(|one| (one.score(policy), one.review_score(policy)));
    let scores: Vec<(Option<f64>, Option<f64>)> = scores.collect();
    let each = scores.iter().flat_map(|&(before, after)| [before, after]);
    let mut thresholds: Vec<f64> = each.flatten().filter(|one| one.is_finite()).collect();
    thresholds.sort_by(f64::total_cmp);
    thresholds.dedup();
    let outcome = |threshold: Option<f64>| {
        let policy = Policy::Measured {
            signal,
            threshold,
            review,
        };
        let mut outcome = Outcome {
            threshold,
            ..Outcome::default()
        };
        for (one, &(before, after)) in answered.iter().zip(&scores) {
            let searches = policy.retrieves(before).unwrap_or(true);
            let uses = searches && policy.keeps(before, after);
            outcome.searched += usize::from(searches);
            outcome.used += usize::from(uses);
            outcome.right += usize::from(if uses { one.always.em } else { one.never.em });
            outcome.missed += usize::from(!uses && one.always.em && !one.never.em);
        }
        outcome
    };
    let always = outcome(None);
    let mut outcomes = vec![always];
    outcomes.extend(thresholds.into_iter().map(|one| outcome(Some(one))));
    let most_right = outcomes.iter().map(|one| one.right).max().unwrap_or(0);
    let beneficial = answered
        .iter()
        .filter(|one| one.always.em && !one.never.em)
        .count();
    let n = answered.len() as f64;
    let meets = |one: &&Outcome| match goal {
        Goal::BestAccuracy => one.right == most_right,
        Goal::RetrievalRatio(ratio) => one.searched as f64 <= ratio * n + 1e-9,
        Goal::AtMostLost(most) => one.right as f64 + 1e-9 >= always.right as f64 - most * n,
        Goal::AtMostMissed(most) => one.missed as f64 <= most * beneficial as f64 + 1e-9,
        Goal::Guarantee { .. } => one.threshold.is_none(),
    };
    let meeting = outcomes.iter().filter(meets);
    let best = meeting.min_by_key(|one| match goal {
        // Of what may be searched, the most is to be made.
        Goal::RetrievalRatio(_) => (usize::MAX - one.right, one.used, one.searched),
        _ => (one.used, one.searched, 0),
    });
    best.and_then(|one| one.threshold)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Signals;
    use crate::compare::compose::Decision;
    use crate::compare::threshold::{Cut, decisions, uncut};
    use crate::record::Record;
    use ken_answer::{Measurements, Verdicts};
    use proptest::prelude::*;

    /// The judgments without and with evidence, and whether memory and evidence answer right.
    type Row = (u8, u8, bool, bool);

    fn told(rows: &[Row]) -> Vec<(Record, Record, Signals)> {
        let answer = |em| Record {
            em,
            ..Record::default()
        };
        let said = |doubt: u8| Measurements {
            assessed: Verdicts {
                not_mastered: Some(f64::from(doubt) / 10.0),
                ..Verdicts::default()
            },
            ..Measurements::default()
        };
        let each = rows.iter().map(|&(without, with, never, always)| {
            let signals = Signals {
                without: said(without),
                with: said(with),
                ..Signals::default()
            };
            (answer(never), answer(always), signals)
        });
        each.collect()
    }

    fn answered(told: &[(Record, Record, Signals)]) -> Vec<Answered<'_>> {
        let each = told.iter().map(|(never, always, signals)| Answered {
            never,
            always,
            at_k: &[],
            signals: Some(signals),
            subject: "",
        });
        each.collect()
    }

    fn policy() -> Policy {
        uncut("kbm+double".parse().unwrap())
    }

    #[test]
    fn where_all_has_to_be_searched_what_is_found_is_used() {
        // What evidence answers right looks mastered before, and unknown after.
        let told = told(&[(0, 10, false, true)]);
        let answered = answered(&told);
        let refs: Vec<&Answered<'_>> = answered.iter().collect();
        assert_eq!(
            best_threshold(policy(), &refs, Goal::AtMostMissed(0.0)),
            None
        );
        let decided = decisions(policy(), Cut::default(), &answered, 0);
        assert_eq!(decided, [Decision::Kept(None)]);
    }

    proptest! {
        /// No threshold on a grid that is finer than the scores meets the goal with less evidence.
        #[test]
        fn no_threshold_is_better(
            rows in prop::collection::vec((0..=10u8, 0..=10u8, any::<bool>(), any::<bool>()), 1..40),
            strict in any::<bool>(),
        ) {
            let told = told(&rows);
            let answered = answered(&told);
            let refs: Vec<&Answered<'_>> = answered.iter().collect();
            let goal = if strict { Goal::AtMostMissed(0.1) } else { Goal::AtMostLost(0.1) };
            let chosen = best_threshold(policy(), &refs, goal);
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
            let (meets, used) = plain(chosen);
            prop_assert!(meets);
            for step in -1..=220 {
                let (meets, other) = plain(Some(f64::from(step) / 200.0));
                prop_assert!(!meets || other >= used, "{step} uses {other}, {chosen:?} {used}");
            }
        }
    }
}
