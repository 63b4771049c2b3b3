//! Confidence and certainty, the effect of evidence on them, and the correlation of the two (KBM, section 3.2). Pure
//! functions of the samples; no model is asked here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The share of the sampled answers that are correct, in `[0, 1]`; `None` without answers.
pub fn confidence(correct: &[bool]) -> Option<f64> {
    let right = correct.iter().filter(|correct| **correct).count();
    (!correct.is_empty()).then(|| right as f64 / correct.len() as f64)
}

/// How much the sampled answers agree: 1 − H / ln I, where H is the natural-log entropy of the shares of the answer
/// types among I answers (KBM, equation 1, scaled to `[0, 1]`). 1 if all answers are of one type (a single answer
/// always is); 0 if each has its own. `None` without answers.
///
/// # Shapes
/// `types`: `[samples]`, the number of each answer's type; only which are equal matters.
pub fn certainty(types: &[usize]) -> Option<f64> {
    match types.len() {
        0 => None,
        1 => Some(1.0),
        samples => {
            // With c of I answers in a type, H = ln I − Σ c ln c / I: this form is exact at 0 and 1, and summing in
            // the order of size gives equal counts the same bits, whatever their types.
            let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
            for label in types {
                *counts.entry(*label).or_default() += 1;
            }
            let mut counts: Vec<usize> = counts.into_values().collect();
            counts.sort_unstable();
            let weight = |count: usize| count as f64 * (count as f64).ln();
            let agreement: f64 = counts.into_iter().map(weight).sum();
            Some((agreement / weight(samples)).clamp(0.0, 1.0))
        }
    }
}

/// Natural-log entropy of probabilities; those of 0 contribute nothing.
pub(crate) fn entropy(shares: &[f64]) -> f64 {
    let terms = shares.iter().filter(|share| **share > 0.0);
    -terms.map(|share| share * share.ln()).sum::<f64>()
}

/// What evidence does to an indicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It rises.
    Beneficial,
    /// It stays.
    Neutral,
    /// It falls.
    Harmful,
}

impl Effect {
    /// The effect of evidence that changes an indicator from one value to another.
    pub fn between(without: f64, with: f64) -> Self {
        if with > without {
            Self::Beneficial
        } else if with < without {
            Self::Harmful
        } else {
            Self::Neutral
        }
    }
}

/// Pearson's correlation of pairs, in `[-1, 1]`; `None` for fewer than two pairs, or if one side does not vary.
pub fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let count = pairs.len() as f64;
    if pairs.len() < 2 {
        return None;
    }
    let mean_x = pairs.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = pairs.iter().map(|(_, y)| y).sum::<f64>() / count;
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (x, y) in pairs {
        let (x, y) = (x - mean_x, y - mean_y);
        xx += x * x;
        yy += y * y;
        xy += x * y;
    }
    // Rounding may make the mean of equal values differ in its last bit; that is no variation.
    let varies = |value: fn(&(f64, f64)) -> f64| {
        pairs
            .windows(2)
            .any(|pair| value(&pair[0]) != value(&pair[1]))
    };
    if !varies(|pair| pair.0) || !varies(|pair| pair.1) {
        return None;
    }
    let correlation = xy / (xx.sqrt() * yy.sqrt());
    correlation
        .is_finite()
        .then(|| correlation.clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_ends_of_the_scales_are_exact() {
        assert_eq!(confidence(&[]), None);
        assert_eq!(certainty(&[]), None);
        assert_eq!(certainty(&[4]), Some(1.0));
        for samples in 2..60 {
            assert_eq!(certainty(&vec![3; samples]), Some(1.0), "{samples}");
            let each: Vec<usize> = (0..samples).collect();
            assert_eq!(certainty(&each), Some(0.0), "{samples}");
        }
        // Two halves of 4: H = ln 2, ln I = 2 ln 2.
        assert!((certainty(&[0, 0, 1, 1]).unwrap() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn correlation_needs_two_sides_that_vary() {
        assert_eq!(correlation(&[]), None);
        assert_eq!(correlation(&[(1.0, 2.0)]), None);
        assert_eq!(correlation(&[(0.1, 1.0), (0.1, 2.0), (0.1, 4.0)]), None);
        let line: Vec<(f64, f64)> = (0..9).map(|x| (f64::from(x), 3.0 - f64::from(x))).collect();
        assert!((correlation(&line).unwrap() + 1.0).abs() < 1e-12);
    }

    /// Certainty as the formula has it, with probabilities counted sample by sample.
    fn plain_certainty(types: &[usize]) -> f64 {
        let samples = types.len() as f64;
        let mut done: Vec<usize> = Vec::new();
        let mut sum = 0.0;
        for label in types {
            if !done.contains(label) {
                done.push(*label);
                let share = types.iter().filter(|other| *other == label).count() as f64 / samples;
                sum += share * share.ln();
            }
        }
        if samples == 1.0 {
            1.0
        } else {
            1.0 + sum / samples.ln()
        }
    }

    proptest! {
        #[test]
        fn certainty_is_the_formula(types in proptest::collection::vec(0_usize..9, 1..40)) {
            let fast = certainty(&types).unwrap();
            prop_assert!((fast - plain_certainty(&types)).abs() < 1e-12);
            prop_assert!((0.0..=1.0).contains(&fast));
        }

        #[test]
        fn certainty_depends_on_neither_names_nor_order(
            types in proptest::collection::vec(0_usize..5, 1..30),
        ) {
            let renamed: Vec<usize> = types.iter().rev().map(|label| (label * 7 + 3) % 5).collect();
            prop_assert_eq!(certainty(&types), certainty(&renamed));
            prop_assert_eq!(
                Effect::between(certainty(&types).unwrap(), certainty(&renamed).unwrap()),
                Effect::Neutral
            );
        }

        #[test]
        fn effects_are_opposites(a in 0_u32..31, b in 0_u32..31) {
            let share = |n: u32| f64::from(n) / 30.0;
            let (there, back) = (Effect::between(share(a), share(b)), Effect::between(share(b), share(a)));
            let expected = match a.cmp(&b) {
                std::cmp::Ordering::Less => (Effect::Beneficial, Effect::Harmful),
                std::cmp::Ordering::Equal => (Effect::Neutral, Effect::Neutral),
                std::cmp::Ordering::Greater => (Effect::Harmful, Effect::Beneficial),
            };
            prop_assert_eq!((there, back), expected);
        }

        #[test]
        fn correlation_is_the_formula(
            pairs in proptest::collection::vec((0.0..1.0_f64, 0.0..1.0_f64), 3..30),
        ) {
            let n = pairs.len() as f64;
            let sum = |value: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(value).sum::<f64>();
            let (x, y) = (sum(&|p| p.0), sum(&|p| p.1));
            let (xx, yy, xy) = (sum(&|p| p.0 * p.0), sum(&|p| p.1 * p.1), sum(&|p| p.0 * p.1));
            let plain = (n * xy - x * y) / ((n * xx - x * x).sqrt() * (n * yy - y * y).sqrt());
            prop_assert!((correlation(&pairs).unwrap() - plain).abs() < 1e-6);
        }
    }
}
