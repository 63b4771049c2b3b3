//! The target of a router: whether the answer from memory is right, which needs golden answers, or how sure the model
//! is of it, which needs none.

use ken_eval::probe::{ProbeRecord, drawn_of};
use ken_language::named;
use ken_probe::{answers, semantic_entropy};
use serde::Serialize;

/// The target of a router.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The greedy answer from memory is wrong.
    #[default]
    Mastery,
    /// Sampled answers agree less than for other questions (1 minus KBM's certainty).
    Certainty,
    /// Sampled answers differ more in meaning than for other questions (semantic entropy probes, Kossen and others
    /// 2024).
    SemanticEntropy,
}

named! {
    Target, "prediction of a router",
    Target::Mastery => "mastery",
    Target::Certainty => "certainty",
    Target::SemanticEntropy => "semantic-entropy",
}

impl Target {
    /// Whether it needs golden answers.
    pub(crate) fn takes_golden_answers(self) -> bool {
        self == Self::Mastery
    }

    /// The value of the target in a record; higher means more need of retrieval.
    pub(super) fn of(self, record: &ProbeRecord) -> Option<f64> {
        match self {
            Self::Mastery => {
                let right = record.greedy.from_self.as_ref()?.correct?;
                Some(f64::from(u8::from(!right)))
            }
            Self::Certainty => Some(1.0 - record.certainty.from_self?),
            Self::SemanticEntropy => {
                let (drawn, types) = drawn_of(record.samples.from_self.as_deref()?);
                let (answers, types) = answers(&drawn, &types)?;
                semantic_entropy(&answers, &types)
            }
        }
    }
}

/// The number that splits values best: with the least squared distance of each to the mean of its side (Kossen and
/// others 2024, section 4). `None` if all are equal.
pub(super) fn best_split(numbers: &[f64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let total: f64 = sorted.iter().sum();
    let count = sorted.len() as f64;
    let mut best: Option<(f64, f64)> = None;
    let mut below = 0.0;
    for (place, pair) in sorted.windows(2).enumerate() {
        below += pair[0];
        if pair[0] == pair[1] {
            continue;
        }
        // The total sum of squares is constant, so this maximizes what the means explain.
        let (n, rest) = ((place + 1) as f64, total - below);
        let explained = below * below / n + rest * rest / (count - n);
        if best.is_none_or(|(most, _)| explained > most) {
            best = Some((explained, f64::midpoint(pair[0], pair[1])));
        }
    }
    best.map(|(_, split)| split)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_split_lies_in_the_gap() {
        assert_eq!(best_split(&[0.1, 2.0, 0.0, 2.2, 0.2]), Some(1.1));
        assert_eq!(best_split(&[1.0, 1.0]), None);
        assert_eq!(best_split(&[]), None);
    }

    proptest! {
        #[test]
        fn no_split_leaves_less(numbers in proptest::collection::vec(0_u8..20, 2..30)) {
            let numbers: Vec<f64> = numbers.into_iter().map(f64::from).collect();
            let left = |split: f64| -> f64 {
                [true, false]
                    .into_iter()
                    .map(|side| {
                        let own = numbers.iter().copied().filter(|number| (*number <= split) == side);
                        let own: Vec<f64> = own.collect();
                        let mean = own.iter().sum::<f64>() / own.len().max(1) as f64;
                        own.iter().map(|number| (number - mean).powi(2)).sum::<f64>()
                    })
                    .sum()
            };
            match best_split(&numbers) {
                None => prop_assert!(numbers.iter().all(|number| *number == numbers[0])),
                Some(split) => {
                    for other in &numbers {
                        prop_assert!(left(split) <= left(*other) + 1e-9);
                    }
                }
            }
        }
    }
}
