//! The common measure of all policies: the share of needless retrievals that they save while losing hardly anything.
//! Losses are counted in two ways. The net loss is that of accuracy; but if evidence misleads, the gains from
//! skipping it make up for losses, and once never retrieving beats always retrieving, everything may be skipped. So
//! missed beneficial retrievals (KBM's beneficial questions: wrong from memory, right with evidence) are also counted
//! alone.

use ken_answer::Policy;
use ken_policy::{Decision, Goal};
use serde::Serialize;

use super::compose::{Answered, is_read};
use super::threshold::{Cut, cut, decisions, halves};
use crate::paired_interval;
use crate::statistics::{mean, number, share, wilson_interval};

/// The loss of accuracy against always retrieving, and the share of missed beneficial retrievals, that are allowed.
pub(crate) const LOSS: f64 = 0.01;

/// What a policy saves at thresholds that lose at most 0.01 on other questions than those it is measured on: of
/// the accuracy of always retrieving, or of the beneficial retrievals. Given thresholds are ignored here. A policy
/// without thresholds is measured as it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Yardstick {
    /// Of the questions that the model answers right from memory, the share that the policy answers from memory
    /// without reading evidence; `None` without such questions.
    pub needless_skipped: Option<f64>,
    /// Its 95 % Wilson interval, low and high.
    pub needless_skipped_interval: Option<[f64; 2]>,
    /// Of the same questions, the share whose evidence the model reads and rejects, which saves nothing.
    pub needless_rejected: Option<f64>,
    /// The loss in the share of right answers against always retrieving.
    pub loss: Option<f64>,
    /// Its 95 % paired interval, low and high.
    pub loss_interval: Option<[f64; 2]>,
    /// Of the questions that only evidence answers right, the share that the policy answers wrong; `None` without
    /// such questions.
    pub beneficial_missed: Option<f64>,
    /// Its 95 % Wilson interval, low and high.
    pub beneficial_missed_interval: Option<[f64; 2]>,
    /// The share of questions that are answered with evidence.
    pub evidence_ratio: Option<f64>,
    /// The mean number of search results in prompts.
    pub search_results: Option<f64>,
    /// The thresholds.
    #[serde(flatten)]
    pub cut: Cut,
}

/// Measures a policy at thresholds for a goal.
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

/// What these decisions save and lose.
pub(super) fn of_decisions(
    policy: Policy,
    answered: &[Answered<'_>],
    decisions: &[Decision],
    cut: Cut,
    seed: u64,
) -> Yardstick {
    let decided = || answered.iter().zip(decisions);
    let known = || decided().filter(|(question, _)| question.never.is_right());
    let read = |(q, decision): (&Answered<'_>, &Decision)| is_read(policy, *decision, q);
    let spared: Vec<bool> = known().map(|pair| !read(pair)).collect();
    let rejected = known().map(|pair| read(pair) && !pair.1.is_kept());
    let losses = decided().map(|(question, &decision)| {
        number(question.always.is_right()) - number(question.after(decision).is_right())
    });
    let losses: Vec<f64> = losses.collect();
    let used: Vec<f64> = decisions.iter().map(|d| number(d.is_kept())).collect();
    let results: Vec<f64> = decided()
        .map(|(question, &decision)| question.after(decision).retrieved.len() as f64)
        .collect();
    let beneficial = decided().filter(|(q, _)| q.always.is_right() && !q.never.is_right());
    let missed: Vec<bool> = beneficial
        .map(|(question, &decision)| !question.after(decision).is_right())
        .collect();
    let count = |of: &[bool]| of.iter().filter(|outcome| **outcome).count();
    Yardstick {
        needless_skipped: share(spared.iter().copied()),
        needless_skipped_interval: wilson_interval(count(&spared), spared.len()),
        needless_rejected: share(rejected),
        beneficial_missed: share(missed.iter().copied()),
        beneficial_missed_interval: wilson_interval(count(&missed), missed.len()),
        loss: mean(&losses),
        loss_interval: match decided()
            .all(|(question, &decision)| std::ptr::eq(question.after(decision), question.always))
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
    use ken_testing::{has, with};

    use super::*;
    use crate::compare::Signals;
    use crate::record::Record;
    use crate::split::half;
    use ken_answer::Measurements;
    use proptest::prelude::*;

    /// Questions with a judgment, and whether memory and evidence answer right.
    type Row = (u8, bool, bool);

    fn with_yardsticks(rows: &[Row], seed: u64) -> [Yardstick; 2] {
        let answer = |em| with!(Record::default(), em: em);
        let answers = rows.iter().map(|&(judgment, never, always)| {
            let signals = with!(Signals::default(),
                without: with!(Measurements::default(), judgment: Some(f64::from(judgment) / 20.0)));
            (answer(never), answer(always), signals)
        });
        let answers: Vec<(Record, Record, Signals)> = answers.collect();
        let subjects: Vec<String> = (0..rows.len()).map(|number| number.to_string()).collect();
        let answered = answers.iter().zip(&subjects);
        let answered = answered.map(|((never, always, signals), subject)| {
            Answered::new(never, always, Some(signals), subject)
        });
        let answered: Vec<Answered<'_>> = answered.collect();
        let policy = "prompt".parse().unwrap();
        [Goal::AtMostLost(LOSS), Goal::AtMostMissed(LOSS)]
            .map(|goal| yardstick(policy, goal, &answered, seed))
    }

    /// The questions of a half that retrieve at a threshold, by brute force: all of them, the needless ones, the
    /// beneficial ones that do not retrieve, and the right answers.
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
                // Of thresholds that separate that half in the same way, the least, which is one of its scores.
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
        // Never retrieving beats always: of ten questions, evidence misleads on four, and two need it. The judgment
        // tells these two from three of the four.
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
        has!(net, needless_skipped: Some(1.0), beneficial_missed: Some(1.0));
        has!(strict, needless_skipped: Some(5.0 / 6.0), beneficial_missed: Some(0.0));
        assert!(strict.beneficial_missed_interval.unwrap()[1] < 0.06);
    }
}
