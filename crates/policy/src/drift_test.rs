//! A test, after each score of a stream, of whether the scores are still distributed as those of calibration. The
//! probability of a false alarm is bounded for streams of any length: testing by betting on ranks, as a conformal
//! martingale does (Vovk, Nouretdinov and Gammerman 2003, Testing exchangeability on-line).
//!
//! `n` scores of calibration cut the line into `n + 1` gaps. A further score from the same distribution,
//! whichever that is, falls into each gap with the same probability; and after `t` further scores, of which `m` fell
//! into a class of `a` gaps, the next does so with probability `(a + m) / (n + 1 + t)`, since the probabilities of gaps
//! are distributed uniformly (statistically equivalent blocks, Tukey 1947, and the mean of their Dirichlet distribution
//! given the scores so far). Bets on classes are made at these odds, so they are exactly fair for any `n`; a test that
//! took the shares of calibration for the truth would in time reject them, since they are only an estimate. The cost:
//! earlier scores count as well, so a drift has to show before most of the questions have drifted.
//!
//! Equal scores are ordered at random, so that this holds for scores of few values, too.

use std::sync::LazyLock;

use ken_random::{mixed, unit};
use serde::{Deserialize, Serialize};

use crate::betting::Betting;

/// The number of classes, each of about as many gaps.
const CLASSES: usize = 10;

/// How steeply a bet tilts the odds along its curve; the sign is the direction.
const TILTS: [f64; 6] = [-1.6, -0.8, -0.4, 0.4, 0.8, 1.6];

/// The curves of bets: on scores that have become larger or smaller, and on ones further out or further in. Both take a
/// place in `[-1, 1]`.
const CURVES: [fn(f64) -> f64; 2] = [|place| place, |place| (3.0 * place * place - 1.0) / 2.0];

/// The number of bets: each curve with each tilt.
const BETS: usize = CURVES.len() * TILTS.len();

/// The factor by which a bet tilts the odds of a class: `[number of classes][bet][class]`.
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

/// The distribution of the scores of calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Ranks {
    /// The number of scores.
    questions: usize,
    /// The scores between classes, ascending, each with its place among equal ones, in `[0, 1)`. Of 32 bits,
    /// so that a file returns the same numbers.
    edges: Vec<(f32, f32)>,
}

/// [`Ranks`] from a file, not yet checked.
#[derive(Deserialize)]
struct Written {
    questions: usize,
    edges: Vec<(f32, f32)>,
}

/// The most scores of calibration that a file may have.
const MOST_QUESTIONS: usize = 1 << 30;

impl TryFrom<Written> for Ranks {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let Written { questions, edges } = written;
        let fits = (1..=MOST_QUESTIONS).contains(&questions)
            && edges.len() + 1 == classes(questions)
            && edges.is_sorted_by(|a, b| a.0 <= b.0);
        match fits {
            true => Ok(Self { questions, edges }),
            false => Err("the scores of calibration do not fit together"),
        }
    }
}

impl Ranks {
    /// The ranks of scores of calibration, equal ones ordered by a seed; `None` if there are none.
    pub fn of(scores: impl IntoIterator<Item = f64>, seed: u64) -> Option<Self> {
        // Independent of other uses of the seed, such as sampling.
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

    /// The number of gaps in each class.
    fn gaps(&self) -> Vec<u64> {
        let below = |class| gaps_below(class, self.questions);
        let classes = 0..classes(self.questions);
        classes
            .map(|class| (below(class + 1) - below(class)) as u64)
            .collect()
    }
}

/// The number of classes for this many scores of calibration.
fn classes(questions: usize) -> usize {
    CLASSES.min(questions + 1)
}

/// The number of gaps in all classes before this one.
fn gaps_below(class: usize, questions: usize) -> usize {
    class * (questions + 1) / classes(questions)
}

/// A score as a finite number of 32 bits, which can be ordered and written. NaN becomes the largest, since it needs
/// retrieval as that does.
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
    pub fn new(ranks: Ranks) -> Self {
        Self {
            found: vec![0; classes(ranks.questions)],
            betting: Betting::new(BETS),
            ranks,
        }
    }

    /// Takes a score; `tie`, drawn from `[0, 1)`, orders it among equal ones. Returns the
    /// [evidence](DriftTest::evidence).
    pub fn observe(&mut self, score: f64, tie: f64) -> f64 {
        let class = self.ranks.class(score, tie);
        let odds = self.odds();
        self.betting.round(|bet| factor(&odds, bet, class));
        if let Some(count) = self.found.get_mut(class) {
            *count += 1;
        }
        self.evidence()
    }

    /// The probability of each class for the next score, without a drift.
    fn odds(&self) -> Vec<f64> {
        let all = self.ranks.questions as f64 + 1.0 + self.betting.observed() as f64;
        let gaps = self.ranks.gaps().into_iter().zip(&self.found);
        gaps.map(|(gaps, count)| (gaps + count) as f64 / all)
            .collect()
    }

    /// The largest factor by which the capital of gamblers on a drift has grown. Without one, it ever reaches `1/δ`
    /// with probability at most `δ`, over the questions of calibration and those since.
    pub fn evidence(&self) -> f64 {
        self.betting.evidence()
    }

    /// Whether there is a drift; a false alarm ever happens with probability at most `delta`.
    pub fn rejects(&self, delta: f64) -> bool {
        self.betting.rejects(delta)
    }

    /// Scores so far.
    pub fn observed(&self) -> u64 {
        self.betting.observed()
    }

    /// For each class, lowest scores first, its share of the scores of calibration and its share of those since;
    /// empty before the first of these.
    pub fn shares(&self) -> Vec<[f64; 2]> {
        let observed = self.observed();
        if observed == 0 {
            return Vec::new();
        }
        let all = self.ranks.questions as f64 + 1.0;
        let gaps = self.ranks.gaps().into_iter().zip(&self.found);
        gaps.map(|(gaps, count)| [gaps as f64 / all, *count as f64 / observed as f64])
            .collect()
    }
}

/// The factor by which a score in a class multiplies the capital of a bet: the tilted odds over the fair ones.
fn factor(odds: &[f64], bet: usize, class: usize) -> f64 {
    let of_all = WEIGHTS.get(odds.len()).and_then(|bets| bets.get(bet));
    let weights = of_all.map_or(&[][..], |weights| &weights[..]);
    let pairs = odds.iter().zip(weights);
    let mean: f64 = pairs.map(|(share, weight)| share * weight).sum();
    // A damaged file may have more classes than that: it proves nothing.
    weights.get(class).map_or(1.0, |weight| weight / mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::betting;
    use proptest::prelude::*;

    /// A distribution of scores.
    type Scores = fn(&mut u64) -> f64;

    /// Uniform scores, scores of few values, of two, and of a long tail.
    const DISTRIBUTIONS: [Scores; 4] = [
        |state| unit(state),
        |state| (unit(state) * 5.0).floor() / 5.0,
        |state| f64::from(u8::from(unit(state) < 0.3)),
        |state| 1.0 / (1.0 - unit(state)),
    ];

    /// The number of scores after which a test rejects, if a calibration on `questions` scores is followed by
    /// `unchanged` of the same distribution and `changed` of another one; `None` if it does not.
    fn rounds_to_alarm(
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
        // Long streams after a short calibration would reject odds that are only an estimate.
        for (questions, distribution) in [(30, 0), (200, 1), (30, 2), (500, 3)] {
            let scores = DISTRIBUTIONS[distribution];
            let alarms = (0..1000_u64).filter(|&seed| {
                let length = 100 << (seed % 6);
                rounds_to_alarm(seed, questions, [scores; 2], [length, 0]).is_some()
            });
            let alarms = alarms.count();
            assert!(alarms <= 50, "{questions} {distribution}: {alarms} of 1000");
        }
    }

    #[test]
    fn a_drift_is_noticed() {
        // Uniform scores that are squared, or moved to the ends; and scores of few values that have become larger.
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
            let noticed = (0..200_u64).filter(|&seed| {
                rounds_to_alarm(seed, questions, scores, [unchanged, within]).is_some()
            });
            let noticed = noticed.count();
            assert!(
                noticed >= 190,
                "{questions} {unchanged} {within}: {noticed} of 200"
            );
        }
    }

    #[test]
    fn scores_fall_into_each_class_as_often_as_its_odds_say() {
        // The odds hold on average over many calibrations on few questions, and not for each.
        let (questions, later) = (7, 12);
        let (mut expected, mut counts) = (vec![0.0; 8], [0_u64; 8]);
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
            counts[test.ranks.class(unit(&mut state).powi(3), 0.0)] += 1;
        }
        for (expected, count) in expected.into_iter().zip(counts) {
            let count = count as f64;
            assert!((count - expected).abs() < 200.0, "{count} {expected}");
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
                let shares = odds.iter().enumerate();
                let mean: f64 = shares.map(|(class, share)| share / sum * factor(&odds, bet, class)).sum();
                prop_assert!((mean * sum - 1.0).abs() < 1e-9, "{bet}: {mean}");
            }
        }

        #[test]
        fn evidence_follows_its_definition(scores in prop::collection::vec(0..20_u8, 1..40)) {
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
