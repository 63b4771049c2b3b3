//! The measure that all policies are held against: of the retrievals that are needless, the share that is spared
//! where hardly anything is lost. What is lost is counted in two ways. The net loss is that of accuracy; but where
//! evidence misleads, what skipping it wins pays for whatever skipping loses, and once never retrieving beats always
//! retrieving, everything may be skipped. So the beneficial retrievals that are missed (KBM's beneficial questions:
//! wrong from memory, right with evidence) are counted by themselves as well.

use ken_answer::Policy;
use ken_policy::{Decision, Goal};
use serde::Serialize;

use super::compose::{Answered, is_read};
use super::threshold::{Cut, cut, decisions, halves};
use crate::paired_interval;
use crate::statistics::{mean, number, share, wilson_interval};

/// What may be lost of the accuracy of always retrieving, and the share of the beneficial retrievals that may be
/// missed.
pub(crate) const LOSS: f64 = 0.01;

/// What a policy spares at thresholds at which it loses, on other questions than those that it is measured on, at most
/// [`LOSS`]: of the accuracy of always retrieving, or of the beneficial retrievals. Thresholds that are given do not
/// count here. A policy without thresholds is measured as it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Yardstick {
    /// Of the questions that the model answers right from memory, the share that it answers from memory without reading
    /// any evidence; `None` where there is none.
    pub needless_skipped: Option<f64>,
    /// Its 95 % Wilson interval, low and high.
    pub needless_skipped_interval: Option<[f64; 2]>,
    /// Of the same questions, the share whose evidence is read and rejected, which saves nothing.
    pub needless_rejected: Option<f64>,
    /// How much lower the share of right answers is than that of always retrieving.
    pub loss: Option<f64>,
    /// Its 95 % paired interval, low and high.
    pub loss_interval: Option<[f64; 2]>,
    /// Of the questions that evidence alone answers right, the share that the policy answers wrong; `None` where there
    /// is none.
    pub beneficial_missed: Option<f64>,
    /// Its 95 % Wilson interval, low and high.
    pub beneficial_missed_interval: Option<[f64; 2]>,
    /// The share of questions that are answered with evidence.
    pub evidence_ratio: Option<f64>,
    /// The mean number of search results that are answered from.
    pub search_results: Option<f64>,
    /// The thresholds.
    #[serde(flatten)]
    pub cut: Cut,
}

/// Measures a policy at the thresholds for a goal.
pub(super) fn yardstick(
    policy: Policy,
    goal: Goal,
    answered: &[Answered<'_>],
    seed: u64,
) -> Yardstick {
    let policy = policy.open();
    let cut = cut(policy, answered, &halves(answered, seed), goal);
    let decisions = decisions(policy, cut, answered, seed);
    of_decisions(policy, answered, &decisions, cut, seed)
}

/// What answering questions as was decided spares and loses.
pub(super) fn of_decisions(
    policy: Policy,
    answered: &[Answered<'_>],
    decisions: &[Decision],
    cut: Cut,
    seed: u64,
) -> Yardstick {
    let each = || answered.iter().zip(decisions);
    let known = || each().filter(|(one, _)| one.never.is_right());
    let read = |(one, decision): (&Answered<'_>, &Decision)| is_read(policy, *decision, one);
    let spared: Vec<bool> = known().map(|one| !read(one)).collect();
    let rejected = known().map(|one| read(one) && !one.1.is_kept());
    let losses = each().map(|(one, &decision)| {
        number(one.always.is_right()) - number(one.after(decision).is_right())
    });
    let losses: Vec<f64> = losses.collect();
    let used: Vec<f64> = decisions.iter().map(|one| number(one.is_kept())).collect();
    let results: Vec<f64> = each()
        .map(|(one, &decision)| one.after(decision).retrieved.len() as f64)
        .collect();
    let beneficial = each().filter(|(one, _)| one.always.is_right() && !one.never.is_right());
    let missed: Vec<bool> = beneficial
        .map(|(one, &decision)| !one.after(decision).is_right())
        .collect();
    let count = |of: &[bool]| of.iter().filter(|one| **one).count();
    Yardstick {
        needless_skipped: share(spared.iter().copied()),
        needless_skipped_interval: wilson_interval(count(&spared), spared.len()),
        needless_rejected: share(rejected),
        beneficial_missed: share(missed.iter().copied()),
        beneficial_missed_interval: wilson_interval(count(&missed), missed.len()),
        loss: mean(&losses),
        loss_interval: match each()
            .all(|(one, &decision)| std::ptr::eq(one.after(decision), one.always))
        {
            true => Some([0.0, 0.0]),
            false => paired_interval(&losses, seed),
        },
        evidence_ratio: mean(&used),
        search_results: mean(&results),
        cut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Signals;
    use crate::record::Record;
    use crate::split::half;
    use ken_answer::Measurements;
    use proptest::prelude::*;

    /// Questions with a judgment, and whether memory and evidence answer right.
    type Row = (u8, bool, bool);

    fn with_yardsticks(rows: &[Row], seed: u64) -> [Yardstick; 2] {
        let answer = |em| Record {
            em,
            ..Record::default()
        };
        let answers = rows.iter().map(|&(judgment, never, always)| {
            let signals = Signals {
                without: Measurements {
                    judgment: Some(f64::from(judgment) / 20.0),
                    ..Measurements::default()
                },
                ..Signals::default()
            };
            (answer(never), answer(always), signals)
        });
        let answers: Vec<(Record, Record, Signals)> = answers.collect();
        let subjects: Vec<String> = (0..rows.len()).map(|number| number.to_string()).collect();
        let answered = answers.iter().zip(&subjects);
        let answered = answered.map(|((never, always, signals), subject)| Answered {
            never,
            always,
            others: &[],
            signals: Some(signals),
            subject,
        });
        let answered: Vec<Answered<'_>> = answered.collect();
        let policy = "prompt".parse().unwrap();
        [Goal::AtMostLost(LOSS), Goal::AtMostMissed(LOSS)]
            .map(|goal| yardstick(policy, goal, &answered, seed))
    }

    /// The questions of a half that retrieve at a threshold, counted one by one: all that do, those that do needlessly,
    /// beneficial ones that do not, and right answers.
    fn counted(rows: &[Row], own: &[usize], of: usize, threshold: Option<u8>) -> [usize; 4] {
        let mut counts = [0; 4];
        for (&(judgment, never, always), half) in rows.iter().zip(own) {
            if *half != of {
                continue;
            }
            let retrieves = threshold.is_none_or(|threshold| judgment > threshold);
            counts[0] += usize::from(retrieves);
            counts[1] += usize::from(retrieves && never);
            counts[2] += usize::from(!retrieves && always && !never);
            counts[3] += usize::from(if retrieves { always } else { never });
        }
        counts
    }

    fn row() -> impl Strategy<Value = Row> {
        (0_u8..20, any::<bool>(), any::<bool>())
    }

    proptest! {
        #[test]
        fn both_yardsticks_match_an_exhaustive_search(
            rows in prop::collection::vec(row(), 2..80),
            seed in 0_u64..9,
        ) {
            let halves: Vec<usize> = (0..rows.len()).map(|n| half(seed, &n.to_string())).collect();
            let chosen = |of: usize, strict: bool| {
                let other = 1 - of;
                let n = halves.iter().filter(|half| **half == other).count() as f64;
                let [.., always] = counted(&rows, &halves, other, None);
                let [_, _, all, _] = counted(&rows, &halves, other, Some(u8::MAX));
                let tried = std::iter::once(None).chain((0..20).map(Some));
                let fewest = tried.filter_map(|threshold| {
                    let [retrieved, _, missed, right] = counted(&rows, &halves, other, threshold);
                    let holds = match strict {
                        true => missed as f64 <= LOSS * all as f64 + 1e-9,
                        false => right as f64 + 1e-9 >= always as f64 - LOSS * n,
                    };
                    holds.then_some((retrieved, threshold))
                });
                // Of thresholds with the same questions above them on that half, the least: it is one of its scores.
                fewest.min().and_then(|(_, threshold)| threshold)
            };
            for (found, strict) in with_yardsticks(&rows, seed).into_iter().zip([false, true]) {
                let both: Vec<[usize; 4]> = (0..2)
                    .map(|of| counted(&rows, &halves, of, chosen(of, strict)))
                    .collect();
                let sum = |place: usize| (both[0][place] + both[1][place]) as f64;
                let number = |of: fn(&&Row) -> bool| rows.iter().filter(of).count() as f64;
                let known = number(|row| row.1);
                let beneficial = number(|row| row.2 && !row.1);
                let share = |part: f64, all: f64| (all > 0.0).then(|| part / all);
                let close = |found: Option<f64>, expected: Option<f64>| {
                    found.zip(expected).map_or(found == expected, |(one, other)| (one - other).abs() < 1e-9)
                };
                let n = rows.len() as f64;
                prop_assert!(close(found.needless_skipped, share(known - sum(1), known)), "{found:?}");
                prop_assert!(close(found.beneficial_missed, share(sum(2), beneficial)), "{found:?}");
                prop_assert!(close(found.evidence_ratio, Some(sum(0) / n)), "{found:?}");
                let always = number(|row| row.2);
                prop_assert!(close(found.loss, Some((always - sum(3)) / n)), "{found:?}");
            }
        }
    }

    #[test]
    fn where_evidence_misleads_only_the_strict_one_says_something() {
        // Never retrieving beats always: of ten questions four are misled, two needed. The judgment tells the needed
        // ones from three of the four.
        let ten = [
            (1, true, false),
            (2, true, false),
            (3, true, false),
            (9, true, false),
            (8, false, true),
            (9, false, true),
            (1, true, true),
            (2, true, true),
            (5, false, false),
            (9, false, false),
        ];
        let rows: Vec<Row> = ten.repeat(40);
        let [net, strict] = with_yardsticks(&rows, 0);
        assert_eq!(
            (net.needless_skipped, net.beneficial_missed),
            (Some(1.0), Some(1.0))
        );
        assert_eq!(strict.needless_skipped, Some(5.0 / 6.0));
        assert_eq!(strict.beneficial_missed, Some(0.0));
        assert!(strict.beneficial_missed_interval.unwrap()[1] < 0.06);
    }
}
