//! Whether scores that come one after the other are still distributed as those of calibration, told as soon as
//! it shows, and with a bound on false alarms however long one looks: testing by betting on ranks, as a
//! conformal martingale does (Vovk, Nouretdinov and Gammerman 2003, Testing exchangeability on-line).
//!
//! `n` scores of calibration cut the line into `n + 1` gaps. Where a further score comes from the same
//! distribution, whichever that is, it falls into each gap with the same probability; and after `t` further
//! ones of which `m` fell into a class of `a` gaps, the next does so with probability `(a + m) / (n + 1 + t)`,
//! since the probabilities of gaps are distributed uniformly (statistically equivalent blocks, Tukey 1947, and
//! the mean of their Dirichlet distribution given what was seen). Bets on classes are made at these odds, so they
//! are exactly fair for any `n`; a test at the shares of calibration as if they were the truth would, in
//! time, find out that they are only an estimate. What it costs: what came before counts as well, so a
//! drift has to show before drifted questions are the most of all.
//!
//! Equal scores are ordered at random, which keeps this so for scores that take few values.

use std::sync::LazyLock;

use ken_random::{mixed, unit};
use serde::{Deserialize, Serialize};

use crate::betting::Betting;

/// Classes of about the same number of gaps.
const CLASSES: usize = 10;

/// By how much a bet tilts the odds from end to end, and along which curve: gamblers on scores that have become
/// larger or smaller, and on ones that lie further out or further in.
const TILTS: [f64; 6] = [-1.6, -0.8, -0.4, 0.4, 0.8, 1.6];

/// Curves of bets.
const CURVES: [fn(f64) -> f64; 2] = [|place| place, |place| (3.0 * place * place - 1.0) / 2.0];

/// How many bets there are.
const BETS: usize = CURVES.len() * TILTS.len();

/// By what each bet tilts the odds of each class, by how many classes there are.
static WEIGHTS: LazyLock<[[[f64; CLASSES]; BETS]; CLASSES + 1]> = LazyLock::new(|| {
    std::array::from_fn(|classes| {
        std::array::from_fn(|bet| {
            let (curve, tilt) = (CURVES[bet / TILTS.len()], TILTS[bet % TILTS.len()]);
            std::array::from_fn(|class| {
                let place = (class as f64 + 0.5) / classes.max(1) as f64;
                (tilt * curve(2.0 * place - 1.0)).exp()
            })
        })
    })
});

/// Where the scores of calibration lie.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Ranks {
    /// How many scores these were.
    questions: usize,
    /// The scores between classes, ascending, each with its place among equal ones, in `[0, 1)`. Of 32 bits,
    /// so that a file gives back the same number.
    edges: Vec<(f32, f32)>,
}

/// The same as a file says it.
#[derive(Deserialize)]
struct Written {
    questions: usize,
    edges: Vec<(f32, f32)>,
}

/// The most scores that a file may tell of.
const MOST_QUESTIONS: usize = 1 << 30;

impl TryFrom<Written> for Ranks {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let Written { questions, edges } = written;
        let is_one = (1..=MOST_QUESTIONS).contains(&questions)
            && edges.len() + 1 == classes(questions)
            && edges.is_sorted_by(|a, b| a.0 <= b.0);
        match is_one {
            true => Ok(Self { questions, edges }),
            false => Err("the scores of calibration do not fit together"),
        }
    }
}

impl Ranks {
    /// Of scores of calibration; equal ones are ordered by a seed. `None` of none.
    #[must_use]
    pub fn of(scores: impl IntoIterator<Item = f64>, seed: u64) -> Option<Self> {
        // Far from what else follows from the seed, such as what was sampled.
        let mut state = mixed(!seed);
        let mut scores: Vec<(f32, f32)> = scores
            .into_iter()
            .map(|score| (bounded(score), unit(&mut state) as f32))
            .collect();
        scores.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let questions = scores.len();
        // The edge of rank r, counted from 1, has r gaps below.
        let ranks = (1..classes(questions)).map(|class| gaps_below(class, questions));
        let edges: Vec<(f32, f32)> = ranks
            .filter_map(|rank| scores.get(rank.checked_sub(1)?).copied())
            .collect();
        (questions > 0).then_some(Self { questions, edges })
    }

    /// The class of a score, whose place among equal ones is `tie` in `[0, 1)`.
    fn class(&self, score: f64, tie: f64) -> usize {
        let given = (bounded(score), tie as f32);
        self.edges.partition_point(|edge| {
            let order = edge.0.total_cmp(&given.0);
            order.then(edge.1.total_cmp(&given.1)).is_le()
        })
    }

    /// The gaps of each class.
    fn gaps(&self) -> Vec<u64> {
        let below = |class| gaps_below(class, self.questions);
        let classes = 0..classes(self.questions);
        classes
            .map(|class| (below(class + 1) - below(class)) as u64)
            .collect()
    }
}

/// How many classes there are.
fn classes(questions: usize) -> usize {
    CLASSES.min(questions + 1)
}

/// The gaps of all classes before one.
fn gaps_below(class: usize, questions: usize) -> usize {
    class * (questions + 1) / classes(questions)
}

/// A score of 32 bits that has an order among others and can be written: what is no number needs retrieval as
/// the largest does.
fn bounded(score: f64) -> f32 {
    match score.is_nan() {
        true => f32::MAX,
        // So that both zeros are equal.
        false => (score as f32).clamp(f32::MIN, f32::MAX) + 0.0,
    }
}

/// A test that scores are distributed as those of calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DriftTest {
    ranks: Ranks,
    /// Scores so far in each class.
    found: Vec<u64>,
    #[serde(flatten)]
    betting: Betting,
}

impl DriftTest {
    /// A test against the scores of calibration.
    #[must_use]
    pub fn new(ranks: Ranks) -> Self {
        Self {
            found: vec![0; classes(ranks.questions)],
            betting: Betting::new(BETS),
            ranks,
        }
    }

    /// Takes a score; `tie`, drawn from `[0, 1)`, orders it among equal ones. Returns the evidence, see
    /// [`DriftTest::evidence`].
    pub fn observe(&mut self, score: f64, tie: f64) -> f64 {
        let class = self.ranks.class(score, tie);
        let odds = self.odds();
        self.betting.round(|bet| factor(&odds, bet, class));
        if let Some(found) = self.found.get_mut(class) {
            *found += 1;
        }
        self.evidence()
    }

    /// The probability of each class for the next score, where nothing has changed.
    fn odds(&self) -> Vec<f64> {
        let all = self.ranks.questions as f64 + 1.0 + self.betting.observed() as f64;
        let gaps = self.ranks.gaps().into_iter().zip(&self.found);
        gaps.map(|(gaps, found)| (gaps + found) as f64 / all)
            .collect()
    }

    /// By what factor the capital of gamblers on a drift has grown at most. Without one, this ever reaches `1/δ`
    /// with probability at most `δ`, over the questions of calibration and those since.
    #[must_use]
    pub fn evidence(&self) -> f64 {
        self.betting.evidence()
    }

    /// Whether there is a drift, with at most this probability of saying so where there is none.
    #[must_use]
    pub fn rejects(&self, delta: f64) -> bool {
        self.betting.rejects(delta)
    }

    /// Scores so far.
    #[must_use]
    pub fn observed(&self) -> u64 {
        self.betting.observed()
    }

    /// For each class, lowest scores first, its share of the scores of calibration and its share of those since;
    /// none where there are none yet.
    #[must_use]
    pub fn shares(&self) -> Vec<[f64; 2]> {
        let observed = self.observed();
        if observed == 0 {
            return Vec::new();
        }
        let all = self.ranks.questions as f64 + 1.0;
        let gaps = self.ranks.gaps().into_iter().zip(&self.found);
        gaps.map(|(gaps, found)| [gaps as f64 / all, *found as f64 / observed as f64])
            .collect()
    }
}

/// What a bet makes of 1 when a score falls into a class: odds that are tilted, over those that are fair.
fn factor(odds: &[f64], bet: usize, class: usize) -> f64 {
    let of_all = WEIGHTS.get(odds.len()).and_then(|bets| bets.get(bet));
    let weights = of_all.map_or(&[][..], |weights| &weights[..]);
    let mean: f64 = odds
        .iter()
        .zip(weights)
        .map(|(share, weight)| share * weight)
        .sum();
    // A file that tells of more classes than there are is of no use, and proves nothing.
    weights.get(class).map_or(1.0, |weight| weight / mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::betting;
    use proptest::prelude::*;

    /// How scores are distributed.
    type Scores = fn(&mut u64) -> f64;

    /// Scores of any number, of few values, of two, and of a long tail.
    const DISTRIBUTIONS: [Scores; 4] = [
        |state| unit(state),
        |state| (unit(state) * 5.0).floor() / 5.0,
        |state| f64::from(u8::from(unit(state) < 0.3)),
        |state| 1.0 / (1.0 - unit(state)),
    ];

    /// After how many scores a drift is told, of a calibration on `questions` scores followed by `unchanged` of
    /// the same distribution and `changed` of another one; `None` where it is not.
    fn told(
        seed: u64,
        questions: usize,
        [before, after]: [Scores; 2],
        [unchanged, changed]: [usize; 2],
    ) -> Option<usize> {
        let mut state = seed;
        let calibration: Vec<f64> = (0..questions).map(|_| before(&mut state)).collect();
        let mut test = DriftTest::new(Ranks::of(calibration, seed).unwrap());
        let mut ties = !seed;
        (1..=unchanged + changed).find(|number| {
            let score = match *number <= unchanged {
                true => before(&mut state),
                false => after(&mut state),
            };
            test.observe(score, unit(&mut ties));
            test.rejects(0.05)
        })
    }

    #[test]
    fn false_alarms_are_at_most_five_in_a_hundred_streams() {
        // Long streams after a short calibration are those that would find out an estimate.
        for (questions, distribution) in [(30, 0), (200, 1), (30, 2), (500, 3)] {
            let scores = DISTRIBUTIONS[distribution];
            let alarms = (0..1000_u64).filter(|&seed| {
                let length = 100 << (seed % 6);
                told(seed, questions, [scores; 2], [length, 0]).is_some()
            });
            let alarms = alarms.count();
            assert!(alarms <= 50, "{questions} {distribution}: {alarms} of 1000");
        }
    }

    #[test]
    fn a_drift_is_noticed() {
        // Of a uniform score: one whose square is seen, two thirds of which are smaller than its mean; one
        // that lies at the ends; and of one of few values, one that has become larger.
        const SMALLER: Scores = |state| unit(state).powi(2);
        const OUTER: Scores = |state| {
            let score = unit(state);
            (1.0 - (std::f64::consts::PI * score).cos()) / 2.0
        };
        const LARGER: Scores = |state| (unit(state).sqrt() * 5.0).floor() / 5.0;
        let [any, few, ..] = DISTRIBUTIONS;
        for (questions, scores, unchanged, within) in [
            (500, [any, SMALLER], 0, 150),
            (500, [any, SMALLER], 500, 250),
            (500, [any, OUTER], 0, 400),
            (500, [few, LARGER], 0, 200),
            (2000, [few, LARGER], 2000, 300),
        ] {
            let noticed = (0..200_u64)
                .filter(|&seed| told(seed, questions, scores, [unchanged, within]).is_some());
            let noticed = noticed.count();
            assert!(
                noticed >= 190,
                "{questions} {unchanged} {within}: {noticed} of 200"
            );
        }
    }

    #[test]
    fn scores_fall_into_each_class_as_often_as_its_odds_say() {
        // Over many calibrations on few questions: the odds hold on average over these, and not for each.
        let (questions, later) = (7, 12);
        let (mut expected, mut found) = (vec![0.0; 8], [0_u64; 8]);
        for seed in 0..20_000_u64 {
            let mut state = seed << 20;
            let scores = (0..questions).map(|_| unit(&mut state).powi(3));
            let scores: Vec<f64> = scores.collect();
            let mut test = DriftTest::new(Ranks::of(scores, seed).unwrap());
            for _ in 0..later {
                test.observe(unit(&mut state).powi(3), 0.0);
            }
            for (sum, share) in expected.iter_mut().zip(test.odds()) {
                *sum += share;
            }
            found[test.ranks.class(unit(&mut state).powi(3), 0.0)] += 1;
        }
        for (expected, found) in expected.into_iter().zip(found) {
            let found = found as f64;
            assert!((found - expected).abs() < 200.0, "{found} {expected}");
        }
    }

    proptest! {
        #[test]
        fn bets_are_fair(found in prop::collection::vec(0..500_u64, 10), questions in 9..300_usize) {
            let ranks = Ranks::of((0..questions).map(|score| score as f64), 3).unwrap();
            let mut test = DriftTest::new(ranks);
            test.found = found;
            let odds = test.odds();
            let sum: f64 = odds.iter().sum();
            for bet in 0..BETS {
                let each = odds.iter().enumerate();
                let mean: f64 = each.map(|(class, share)| share / sum * factor(&odds, bet, class)).sum();
                prop_assert!((mean * sum - 1.0).abs() < 1e-9, "{bet}: {mean}");
            }
        }

        #[test]
        fn evidence_is_what_it_is_defined_as(scores in prop::collection::vec(0..20_u8, 1..40)) {
            let ranks = Ranks::of((0..50).map(f64::from), 1).unwrap();
            let mut test = DriftTest::new(ranks);
            let rounds = scores.iter().map(|&score| {
                let score = f64::from(score) + 0.5;
                let (odds, class) = (test.odds(), test.ranks.class(score, 0.0));
                test.observe(score, 0.0);
                (0..BETS).map(|bet| factor(&odds, bet, class)).collect()
            });
            let expected = betting::reference(&rounds.collect::<Vec<_>>());
            prop_assert!((test.evidence() - expected).abs() <= 1e-9 * expected);
        }

        #[test]
        fn a_file_changes_nothing(scores in prop::collection::vec(any::<f64>(), 1..200)) {
            let mut ranks = Ranks::of(scores.iter().copied(), 5).unwrap();
            for _ in 0..2 {
                let text = serde_json::to_string(&ranks).unwrap();
                let read: Ranks = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(&read, &ranks);
                ranks = read;
            }
            prop_assert!(ranks.edges.is_sorted_by(|a, b| a.0 <= b.0));
            let gaps: u64 = ranks.gaps().into_iter().sum();
            prop_assert_eq!(gaps, scores.len() as u64 + 1);
            prop_assert_eq!(ranks.edges.len() + 1, ranks.gaps().len());
            let classes = scores.iter().map(|score| ranks.class(*score, 0.5));
            prop_assert!(classes.into_iter().all(|class| class <= ranks.edges.len()));
        }
    }

    #[test]
    fn scores_that_do_not_fit_together_are_refused() {
        for text in [
            r#"{"questions": 2, "edges": [[0.0, 0.5]]}"#,
            r#"{"questions": 2, "edges": [[1.0, 0.5], [0.0, 0.5]]}"#,
            r#"{"questions": 0, "edges": []}"#,
            r#"{"questions": 18446744073709551615, "edges": []}"#,
        ] {
            assert!(serde_json::from_str::<Ranks>(text).is_err(), "{text}");
        }
        let text = r#"{"questions": 2, "edges": [[0.0, 0.5], [1.0, 0.5]]}"#;
        assert!(serde_json::from_str::<Ranks>(text).is_ok());
    }

    #[test]
    fn scores_that_are_no_numbers_are_the_largest_and_shares_are_told() {
        assert_eq!(Ranks::of([], 0), None);
        let mut test = DriftTest::new(Ranks::of([f64::INFINITY, 0.0, 1.0, f64::NAN], 0).unwrap());
        assert!(test.shares().is_empty());
        test.observe(-0.0, 0.0);
        test.observe(f64::NAN, 1.0);
        test.observe(f64::NEG_INFINITY, 1.0);
        assert_eq!(test.observed(), 3);
        let shares = test.shares();
        assert_eq!(shares.len(), 5);
        assert_eq!(shares[4], [0.2, 1.0 / 3.0]);
        assert!((shares[0][1] + shares[1][1] - 2.0 / 3.0).abs() < 1e-12);
    }
}
