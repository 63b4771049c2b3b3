//! Choosing the next token from logits: greedily, or at random within a nucleus.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// How tokens are chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampling {
    /// Always the likeliest; the lower id among equals.
    Greedy,
    /// At random, by the probabilities at a temperature, among the likeliest.
    Random {
        /// Divides the logits; positive. 1 samples from the model as it is.
        temperature: f32,
        /// Only this many likeliest tokens; `None` for all.
        top_k: Option<usize>,
        /// Only the likeliest tokens whose probabilities together reach this; `None` for all.
        top_p: Option<f32>,
        /// The same seed gives the same tokens.
        seed: u64,
    },
}

/// The state of one sampled sequence.
pub(super) struct Sampler {
    sampling: Sampling,
    random: StdRng,
}

impl Sampler {
    pub(super) fn new(sampling: Sampling) -> Self {
        let seed = match sampling {
            Sampling::Greedy => 0,
            Sampling::Random { seed, .. } => seed,
        };
        Self {
            sampling,
            random: StdRng::seed_from_u64(seed),
        }
    }

    /// Chooses a token.
    ///
    /// # Shapes
    /// `logits`: `[vocabulary]`. A NaN is never chosen unless all are.
    pub(super) fn next(&mut self, logits: &[f32]) -> u32 {
        match self.sampling {
            Sampling::Greedy => greatest(logits),
            Sampling::Random {
                temperature,
                top_k,
                top_p,
                ..
            } => {
                let candidates = nucleus(logits, temperature, top_k, top_p);
                let total: f64 = candidates.iter().map(|&(_, weight)| weight).sum();
                let mut left = self.random.random::<f64>() * total;
                for &(token, weight) in &candidates {
                    left -= weight;
                    if left < 0.0 {
                        return token;
                    }
                }
                candidates
                    .last()
                    .map_or_else(|| greatest(logits), |&(token, _)| token)
            }
        }
    }
}

/// The index of the greatest value; the first among equals; 0 where there is none.
fn greatest(values: &[f32]) -> u32 {
    let mut best = 0;
    for (index, &value) in values.iter().enumerate() {
        if value > values[best] || values[best].is_nan() {
            best = index;
        }
    }
    best as u32
}

/// The tokens that may be drawn, likeliest first, with weights proportional to their chances.
fn nucleus(
    logits: &[f32],
    temperature: f32,
    top_k: Option<usize>,
    top_p: Option<f32>,
) -> Vec<(u32, f64)> {
    let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weight = |logit: f32| (f64::from(logit - top) / f64::from(temperature)).exp();
    let mut candidates: Vec<(u32, f64)> = logits
        .iter()
        .enumerate()
        .map(|(token, &logit)| (token as u32, weight(logit)))
        .filter(|&(_, weight)| weight > 0.0)
        .collect();
    if top_k.is_none() && top_p.is_none() {
        return candidates;
    }
    candidates.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    if let Some(k) = top_k {
        candidates.truncate(k.max(1));
    }
    if let Some(p) = top_p {
        let total: f64 = candidates.iter().map(|&(_, weight)| weight).sum();
        let mut reached = 0.0;
        let kept = candidates
            .iter()
            .position(|&(_, weight)| {
                reached += weight;
                reached >= f64::from(p) * total
            })
            .map_or(candidates.len(), |last| last + 1);
        candidates.truncate(kept);
    }
    candidates
}

/// Natural-log probability of `token`.
///
/// # Shapes
/// `logits`: `[vocabulary]`.
pub(super) fn log_probability(logits: &[f32], token: u32) -> f32 {
    let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits
        .iter()
        .map(|&logit| f64::from(logit - top).exp())
        .sum();
    (f64::from(logits[token as usize] - top) - sum.ln()) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn greedy_takes_the_first_of_equals_and_never_nan() {
        assert_eq!(greatest(&[f32::NAN, 1.0, 3.0, 3.0, f32::NAN]), 2);
        assert_eq!(greatest(&[]), 0);
    }

    #[test]
    fn top_k_and_top_p_keep_the_likeliest() {
        let logits = [0.0f32, 2.0, 1.0, -1.0].map(|x| x * std::f32::consts::LN_2);
        let tokens = |k, p| {
            nucleus(&logits, 1.0, k, p)
                .into_iter()
                .map(|(token, _)| token)
                .collect::<Vec<_>>()
        };
        assert_eq!(tokens(Some(2), None), [1, 2]);
        // The probabilities are 8/15, 4/15, 2/15, 1/15.
        assert_eq!(tokens(None, Some(0.5)), [1]);
        assert_eq!(tokens(None, Some(0.79)), [1, 2]);
        assert_eq!(tokens(None, Some(0.81)), [1, 2, 0]);
    }

    #[test]
    fn frequencies_follow_the_probabilities() {
        let logits = [0.0f32, (3.0f32).ln(), f32::NEG_INFINITY];
        let sampling = Sampling::Random {
            temperature: 1.0,
            top_k: None,
            top_p: None,
            seed: 7,
        };
        let mut sampler = Sampler::new(sampling);
        let ones = (0..20_000).filter(|_| sampler.next(&logits) == 1).count();
        // A share of 3/4, and five standard deviations around it.
        assert!((14_694..=15_306).contains(&ones), "{ones}");
    }

    proptest! {
        #[test]
        fn the_same_seed_gives_the_same_tokens(seed in any::<u64>(), logits in prop::collection::vec(-9.0f32..9.0, 2..40)) {
            let sampling = Sampling::Random { temperature: 0.7, top_k: Some(20), top_p: Some(0.9), seed };
            let draw = || {
                let mut sampler = Sampler::new(sampling);
                (0..10).map(|_| sampler.next(&logits)).collect::<Vec<_>>()
            };
            prop_assert_eq!(draw(), draw());
        }
    }
}
