//! The rule by which tuning chooses, and what is at stake. A pure function of numbers.

use serde::Serialize;

use super::row::Row;
use crate::compare::{Answered, Arm};

/// The share of questions known from memory up to which a policy has nothing to save if evidence is the better
/// source, since no signal recognizes all of them.
const FEW_KNOWN: f64 = 0.15;

/// The chosen row and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The index of the row.
    pub row: usize,
    /// The reason.
    pub verdict: Verdict,
}

/// Why a row was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The policy costs less than the better arm, in tokens and time, and loses at most `max_loss`.
    Pays,
    /// The better arm: no policy that costs less is shown to lose at most `max_loss`.
    BetterArm,
    /// The better arm: even choosing the right source for each question would gain and save hardly anything.
    NothingAtStake,
}

/// What choosing the source of each question could gain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Stakes {
    /// The lead in accuracy of the right choice for each question over the better arm.
    pub lead: f64,
    /// The share of questions that memory answers right.
    pub known: f64,
}

impl Stakes {
    /// Computes the stakes from the answers of both arms.
    pub(super) fn of(answered: &[Answered<'_>]) -> Self {
        let count = |right: fn(&Answered<'_>) -> bool| answered.iter().filter(|q| right(q)).count();
        let (never, always) = (
            count(|q| q.never.is_right()),
            count(|q| q.always.is_right()),
        );
        let either = count(|q| q.never.is_right() || q.always.is_right());
        let share = |part: usize| part as f64 / answered.len().max(1) as f64;
        Self {
            lead: share(either - never.max(always)),
            known: share(never),
        }
    }
}

/// Chooses among the better arm and the policies that take fewer tokens and less time per question, and lose at most
/// `max_loss` against it at the lower end of the interval: the one with the fewest tokens, of equals the first. An
/// unknown time is ignored, and a policy whose thresholds save nothing is the arm by another name. `None` without
/// questions.
pub(super) fn choose(rows: &[Row], better: Arm, stakes: Stakes, max_loss: f64) -> Option<Choice> {
    let arm = rows.iter().find(|row| row.tried == better.policy())?;
    let both = |of: fn(&Row) -> Option<f64>, row: &Row| of(row).zip(of(arm));
    let saves = |row: &Row| {
        both(|row| row.tokens, row).is_some_and(|(own, arm)| own < arm)
            && both(|row| row.ms, row).is_none_or(|(own, arm)| own < arm)
    };
    let can = rows.iter().enumerate().filter(|(_, row)| {
        let is_itself = row.policy != better.policy();
        row.tried == better.policy() || is_itself && saves(row) && row.loses_at_most(max_loss)
    });
    let tokens = |row: &Row| row.tokens.unwrap_or(f64::INFINITY);
    let (index, chosen) = can.min_by(|(_, a), (_, b)| tokens(a).total_cmp(&tokens(b)))?;
    let is = |arm: Arm| chosen.policy == arm.policy();
    let spares_little = is(Arm::Never) || is(Arm::Always) && stakes.known <= FEW_KNOWN;
    let verdict = if spares_little && stakes.lead <= max_loss {
        Verdict::NothingAtStake
    } else if is(better) {
        Verdict::BetterArm
    } else {
        Verdict::Pays
    };
    Some(Choice {
        row: index,
        verdict,
    })
}

/// The row that answers more questions right than the better arm even at the lower end of the interval; of several,
/// the most accurate.
pub fn most_accurate(rows: &[Row]) -> Option<&Row> {
    let shown = rows.iter().filter(|row| {
        let interval = row.vs_better.interval;
        interval.is_some_and(|[low, _]| low > 0.0)
    });
    let accuracy = |row: &Row| row.accuracy.unwrap_or(f64::NAN);
    shown.max_by(|a, b| accuracy(a).total_cmp(&accuracy(b)))
}

#[cfg(test)]
mod tests {
    use ken_answer::Policy;
    use proptest::prelude::*;

    use super::super::row::PairedDifference;
    use super::*;

    /// A policy with the lower end of its interval, its tokens and its milliseconds.
    fn row(policy: &str, low: f64, tokens: f64, ms: f64) -> Row {
        let policy: Policy = policy.parse().unwrap();
        Row {
            policy,
            tried: policy,
            accuracy: Some(0.5 + low),
            accuracy_interval: None,
            vs_better: PairedDifference {
                difference: Some(low),
                interval: Some([low, low + 0.1]),
            },
            searches: None,
            tokens: Some(tokens),
            ms: Some(ms),
        }
    }

    const STAKES: Stakes = Stakes {
        lead: 0.2,
        known: 0.5,
    };

    fn chosen(rows: &[Row], better: Arm, stakes: Stakes) -> (String, Verdict) {
        let choice = choose(rows, better, stakes, 0.05).unwrap();
        (rows[choice.row].policy.to_string(), choice.verdict)
    }

    #[test]
    fn the_cheapest_that_is_not_worse_is_chosen_and_what_that_means() {
        let never = row("never", -0.4, 40.0, 100.0);
        let always = row("always", 0.0, 500.0, 900.0);
        let signal = row("uncertainty:perplexity@1.5", -0.04, 300.0, 700.0);
        let rows = [never.clone(), always.clone(), signal.clone()];
        let name = signal.policy.to_string();
        assert_eq!(chosen(&rows, Arm::Always, STAKES), (name, Verdict::Pays));
        let arms = [never.clone(), always.clone()];
        let always_is = |stakes| chosen(&arms, Arm::Always, stakes);
        let named = |verdict| ("always".to_owned(), verdict);
        assert_eq!(always_is(STAKES), named(Verdict::BetterArm));
        let nothing = Stakes {
            lead: 0.01,
            known: 0.11,
        };
        assert_eq!(always_is(nothing), named(Verdict::NothingAtStake));
        let known = Stakes {
            known: 0.4,
            ..nothing
        };
        assert_eq!(always_is(known), named(Verdict::BetterArm));
        // Never retrieving costs least, so if it loses hardly anything, nothing else saves more.
        let never = [row("never", -0.01, 40.0, 100.0), always, signal];
        let said = chosen(&never, Arm::Always, known);
        assert_eq!(said, ("never".to_owned(), Verdict::NothingAtStake));
        let said = chosen(&never, Arm::Always, STAKES);
        assert_eq!(said, ("never".to_owned(), Verdict::Pays));
        assert_eq!(choose(&[], Arm::Always, STAKES, 0.05), None);
    }

    #[test]
    fn what_saves_tokens_and_takes_longer_saves_nothing() {
        let always = row("always", 0.0, 500.0, 900.0);
        let mut slow = row("uncertainty:perplexity@1.5", 0.0, 300.0, 950.0);
        let rows = [always.clone(), slow.clone()];
        let arm = ("always".to_owned(), Verdict::BetterArm);
        assert_eq!(chosen(&rows, Arm::Always, STAKES), arm);
        slow.ms = None;
        let rows = [always, slow];
        assert_eq!(chosen(&rows, Arm::Always, STAKES).1, Verdict::Pays);
    }

    #[test]
    fn what_is_shown_to_be_more_accurate_is_named() {
        let arm = row("always", 0.0, 500.0, 900.0);
        let rows = [arm.clone(), row("prompt@0.5", 0.02, 700.0, 990.0)];
        let most = most_accurate(&rows).map(|row| row.policy.to_string());
        assert_eq!(most.as_deref(), Some("prompt"));
        assert_eq!(most_accurate(&[arm]), None);
    }

    proptest! {
        #[test]
        fn the_rule_is_that_of_a_plain_search(
            numbers in prop::collection::vec((-9_i8..3, 0_u8..6, 0_u8..6), 0..7),
            max_loss in 0_u8..9,
            place in 0_usize..7,
        ) {
            let (tokens_of_arm, ms_of_arm) = (3, 3);
            let max_loss = f64::from(max_loss) / 100.0;
            let mut rows: Vec<Row> = numbers
                .iter()
                .map(|&(low, tokens, ms)| {
                    row("prompt", f64::from(low) / 100.0, tokens.into(), ms.into())
                })
                .collect();
            let place = place.min(rows.len());
            rows.insert(place, row("always", 0.0, tokens_of_arm.into(), ms_of_arm.into()));
            let (mut expected, mut least) = (place, tokens_of_arm);
            for (index, &(low, tokens, ms)) in numbers.iter().enumerate() {
                let is_worse = f64::from(low) / 100.0 < -max_loss;
                if !is_worse && tokens < least && ms < ms_of_arm {
                    (expected, least) = (index + usize::from(index >= place), tokens);
                }
            }
            let found = choose(&rows, Arm::Always, STAKES, max_loss);
            prop_assert_eq!(found.map(|choice| choice.row), Some(expected));
        }
    }
}
