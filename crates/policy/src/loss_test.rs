//! A test, after each loss of a stream, of whether the mean loss exceeds the guaranteed limit. The probability of a
//! false alarm is bounded for streams of any length: testing by betting.
//!
//! Of losses `l` in `[0, 1]` whose mean given the past is at most `m`, the capital of a gambler who bets
//! on more, `Π (1 + λ (l - m))` with `0 ≤ λ < 1/m`, is a supermartingale (Waudby-Smith and Ramdas 2024,
//! section 4). By how much the losses exceed the limit is unknown, so there is a gambler for each of several
//! sizes `λ` of the bet (`crates/policy/src/betting.rs`).

use serde::{Deserialize, Serialize};

use crate::betting::Betting;

/// The number of bet sizes: the first is half of the largest allowed, and each further one half of the one before.
const BETS: usize = 8;

/// A test that the mean loss is at most a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LossTest {
    /// The mean loss that is allowed, above 0 and below 1.
    limit: f64,
    /// The sum of losses so far.
    lost: f64,
    #[serde(flatten)]
    betting: Betting,
}

impl LossTest {
    /// A test of a limit, which is clamped to `[0.0001, 0.9999]`.
    pub fn new(limit: f64) -> Self {
        Self {
            limit: limit.clamp(1e-4, 1.0 - 1e-4),
            lost: 0.0,
            betting: Betting::new(BETS),
        }
    }

    /// Takes a loss, in `[0, 1]`; one that is not finite counts as 1. Returns the [evidence](LossTest::evidence).
    pub fn observe(&mut self, loss: f64) -> f64 {
        let loss = match loss.is_finite() {
            true => loss.clamp(0.0, 1.0),
            false => 1.0,
        };
        self.lost += loss;
        let limit = self.limit;
        self.betting.round(|index| factor(limit, index, loss));
        self.evidence()
    }

    /// The largest factor by which the capital has grown. If the mean loss is within the limit, it ever
    /// reaches `1/δ` with probability at most `δ`.
    pub fn evidence(&self) -> f64 {
        self.betting.evidence()
    }

    /// Whether the losses exceed the limit; a false alarm ever happens with probability at most `delta`.
    pub fn rejects(&self, delta: f64) -> bool {
        self.betting.rejects(delta)
    }

    /// The mean loss that is allowed.
    pub fn limit(&self) -> f64 {
        self.limit
    }

    /// Losses so far.
    pub fn observed(&self) -> u64 {
        self.betting.observed()
    }

    /// The mean loss so far; `None` before the first.
    pub fn mean(&self) -> Option<f64> {
        let observed = self.observed();
        (observed > 0).then(|| self.lost / observed as f64)
    }
}

/// The factor by which a loss multiplies the capital of a bet.
fn factor(limit: f64, index: usize, loss: f64) -> f64 {
    let bet = 0.5_f64.powi(index as i32 + 1) / limit;
    1.0 + bet * (loss - limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::betting;
    use ken_random::unit;
    use proptest::prelude::*;

    /// The evidence by its definition.
    fn reference(limit: f64, losses: &[f64]) -> f64 {
        let bets = |loss: &f64| (0..BETS).map(|index| factor(limit, index, *loss)).collect();
        betting::reference(&losses.iter().map(bets).collect::<Vec<_>>())
    }

    /// The number of losses of 0 and 1 after which a test of `limit` rejects, if their mean is `mean` up to `change`
    /// and `after` from then on; `None` if it does not within `length`.
    fn noticed(
        seed: u64,
        limit: f64,
        [mean, after]: [f64; 2],
        change: u64,
        length: u64,
    ) -> Option<u64> {
        let (mut test, mut state) = (LossTest::new(limit), seed);
        (1..=length).find(|number| {
            let mean = if *number <= change { mean } else { after };
            test.observe(f64::from(u8::from(unit(&mut state) < mean)));
            test.rejects(0.05)
        })
    }

    proptest! {
        #[test]
        fn evidence_follows_its_definition(
            limit in 0.01..0.9_f64,
            losses in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.0..1.0_f64], 0..40),
        ) {
            let mut test = LossTest::new(limit);
            for loss in &losses {
                test.observe(*loss);
            }
            let expected = reference(limit, &losses);
            prop_assert!((test.evidence() - expected).abs() <= 1e-9 * expected, "{} {expected}", test.evidence());
            let text = serde_json::to_string(&test).unwrap();
            let again: LossTest = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(again.observed(), test.observed());
        }

        #[test]
        fn no_bet_can_lose_more_than_there_is(limit in 0.0..1.0_f64, loss in 0.0..1.0_f64) {
            let limit = LossTest::new(limit).limit();
            for index in 0..BETS {
                prop_assert!(factor(limit, index, loss) >= 0.5);
                // A loss at the limit wins nothing.
                prop_assert!((factor(limit, index, limit) - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn false_alarms_are_at_most_five_in_a_hundred_streams() {
        for limit in [0.02, 0.05, 0.2] {
            let alarms = (0..1000_u64).filter(|&seed| {
                // Of any length, up to one at which most chances are had.
                let length = 100 << (seed % 6);
                noticed(seed, limit, [limit, limit], 0, length).is_some()
            });
            let alarms = alarms.count();
            assert!(alarms <= 50, "{limit}: {alarms} of 1000");
        }
    }

    #[test]
    fn losses_that_change_with_the_past_raise_no_more_false_alarms() {
        // The mean given the past is within the limit, but no two are independent.
        let alarms = (0..1000_u64).filter(|&seed| {
            let (mut test, mut state, mut last) = (LossTest::new(0.1), seed, 0.0);
            (0..1000).any(|_| {
                let mean = if last > 0.0 {
                    0.1
                } else {
                    0.1 * unit(&mut state)
                };
                last = f64::from(u8::from(unit(&mut state) < mean));
                test.observe(last);
                test.rejects(0.05)
            })
        });
        assert!(alarms.count() <= 50);
    }

    #[test]
    fn a_doubled_loss_is_noticed() {
        // Limits, the losses before the change, and those after it within which the test rejects.
        for (limit, change, within) in [
            (0.05, 0, 600),
            (0.05, 500, 1000),
            (0.1, 0, 300),
            (0.1, 500, 550),
            (0.2, 0, 150),
            (0.2, 500, 250),
        ] {
            let noticed = (0..200_u64).filter(|&seed| {
                noticed(seed, limit, [limit, 2.0 * limit], change, change + within).is_some()
            });
            let noticed = noticed.count();
            assert!(noticed >= 190, "{limit} after {change}: {noticed} of 200");
        }
    }

    #[test]
    fn a_loss_that_is_not_finite_counts_as_one() {
        let mut test = LossTest::new(0.5);
        assert_eq!(test.mean(), None);
        test.observe(f64::NAN);
        test.observe(-3.0);
        assert_eq!((test.observed(), test.mean()), (2, Some(0.5)));
        assert!(!test.rejects(0.05) && test.evidence() >= 1.0);
    }
}
