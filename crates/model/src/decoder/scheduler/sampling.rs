//! Choosing the next token from logits: greedily, or at random within a nucleus.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use ken_language::Sampling;

use crate::kernels::wide::{exp_of_nonpositive, greatest, sum, widest};

/// The state of one sampled sequence.
pub(in crate::decoder) struct Sampler {
    sampling: Sampling,
    random: StdRng,
}

/// A chosen token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::decoder) struct Choice {
    pub(in crate::decoder) token: u32,
    /// Natural-log probability at temperature 1.
    pub(in crate::decoder) logprob: f32,
    /// Entropy in nats of its distribution, at temperature 1.
    pub(in crate::decoder) entropy: f32,
    /// For a greedy choice: its probability minus that of the runner-up, at temperature 1.
    pub(in crate::decoder) margin: Option<f32>,
}

impl Sampler {
    /// The sampler of the `sample`th sequence of a request.
    pub(in crate::decoder) fn new(sampling: Sampling, sample: usize) -> Self {
        let seed = match sampling {
            Sampling::Greedy => 0,
            Sampling::Random { seed, .. } => {
                seed.wrapping_add(ken_random::STEP.wrapping_mul(sample as u64))
            }
        };
        Self {
            sampling,
            random: StdRng::seed_from_u64(seed),
        }
    }

    /// Chooses a token. `None` if a logit is NaN or positive infinity, or if none is finite.
    ///
    /// # Shapes
    /// `logits`: `[vocabulary]`.
    pub(in crate::decoder) fn next(&mut self, logits: &[f32]) -> Option<Choice> {
        let distribution = Distribution::new(logits, 1.0)?;
        let token = match self.sampling {
            Sampling::Greedy => first_of_greatest(logits),
            Sampling::Random {
                temperature,
                top_k: None,
                top_p: None,
                ..
            } => {
                let uniform = self.random.random::<f64>();
                if temperature == 1.0 {
                    distribution.at(uniform)
                } else {
                    Distribution::new(logits, temperature)?.at(uniform)
                }
            }
            Sampling::Random {
                temperature,
                top_k,
                top_p,
                ..
            } => {
                let candidates = nucleus(logits, temperature, top_k, top_p);
                let total: f64 = candidates.iter().map(|&(_, weight)| weight).sum();
                let mut left = self.random.random::<f64>() * total;
                candidates
                    .iter()
                    .find(|&&(_, weight)| {
                        left -= weight;
                        left < 0.0
                    })
                    .or(candidates.last())
                    .map_or_else(|| first_of_greatest(logits), |&(token, _)| token)
            }
        };
        Some(Choice {
            token,
            logprob: distribution.log_probability(token),
            entropy: distribution.entropy(),
            margin: (self.sampling == Sampling::Greedy).then(|| distribution.margin(token)),
        })
    }
}

/// The softmax of logits, as weights in blocks.
struct Distribution<'a> {
    logits: &'a [f32],
    top: f32,
    temperature: f32,
    /// The sum of each block's weights.
    blocks: Vec<f64>,
    total: f64,
}

/// Weights that are added up in 32 bits.
const BLOCK: usize = 1024;

impl<'a> Distribution<'a> {
    /// `None` if a logit is NaN or positive infinity, or if none is finite.
    fn new(logits: &'a [f32], temperature: f32) -> Option<Self> {
        widest(
            #[inline(always)]
            || {
                let top = greatest(logits);
                let mut blocks = Vec::with_capacity(logits.len().div_ceil(BLOCK));
                for block in logits.chunks(BLOCK) {
                    let weight = |logit| exp_of_nonpositive((logit - top) / temperature);
                    blocks.push(f64::from(sum(block, weight)));
                }
                let total: f64 = blocks.iter().sum();
                (top.is_finite() && total.is_finite()).then_some(Self {
                    logits,
                    top,
                    temperature,
                    blocks,
                    total,
                })
            },
        )
    }

    fn log_probability(&self, token: u32) -> f32 {
        let logit = f64::from(self.logits[token as usize] - self.top);
        (logit / f64::from(self.temperature) - self.total.ln()) as f32
    }

    /// The probability of `top`, the most likely token, minus that of the second most likely.
    fn margin(&self, top: u32) -> f32 {
        let (before, rest) = self.logits.split_at(top as usize);
        let second = widest(
            #[inline(always)]
            || greatest(before).max(greatest(&rest[1..])),
        );
        let gap = f64::from(second - self.top) / f64::from(self.temperature);
        ((1.0 - gap.exp()) / self.total) as f32
    }

    /// In nats.
    fn entropy(&self) -> f32 {
        // With weights w = exp(x) that sum up to W: H = ln W - sum of w x / W.
        let logs: f64 = widest(
            #[inline(always)]
            || {
                let weighted = self.logits.chunks(BLOCK).map(|block| {
                    // Further down the weight is 0, and so is the product, also at negative infinity.
                    let log = |logit: f32| ((logit - self.top) / self.temperature).max(-100.0);
                    f64::from(sum(block, |logit| {
                        exp_of_nonpositive(log(logit)) * log(logit)
                    }))
                });
                weighted.sum()
            },
        );
        (self.total.ln() - logs / self.total).max(0.0) as f32
    }

    /// The token at a share of the total probability.
    ///
    /// # Units
    /// `share`: in `[0, 1)`.
    fn at(&self, share: f64) -> u32 {
        let mut left = share * self.total;
        let mut last = 0;
        for (index, (block, &weight)) in self.logits.chunks(BLOCK).zip(&self.blocks).enumerate() {
            if left >= weight && index + 1 < self.blocks.len() {
                left -= weight;
                continue;
            }
            for (place, logit) in block.iter().enumerate() {
                let weight = exp_of_nonpositive((logit - self.top) / self.temperature);
                if weight > 0.0 {
                    last = index * BLOCK + place;
                    left -= f64::from(weight);
                    if left < 0.0 {
                        return last as u32;
                    }
                }
            }
        }
        last as u32
    }
}

/// The natural-log probability of a token. `None` if a logit is NaN or positive infinity, or if none is finite.
///
/// # Shapes
/// `logits`: `[vocabulary]`.
pub(in crate::decoder) fn log_probability(logits: &[f32], token: u32) -> Option<f32> {
    Distribution::new(logits, 1.0).map(|distribution| distribution.log_probability(token))
}

/// A token with its natural-log probability at temperature 1, and the most likely tokens at its position, best first.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::decoder) struct TokenLogprobs {
    pub(in crate::decoder) token: u32,
    pub(in crate::decoder) logprob: f32,
    pub(in crate::decoder) top: Vec<(u32, f32)>,
}

/// The log probability of a token and of the `top` most likely ones. `None` if a logit is NaN or positive infinity, or
/// if none is finite.
///
/// # Shapes
/// `logits`: `[vocabulary]`.
pub(in crate::decoder) fn token_logprobs(
    logits: &[f32],
    token: u32,
    top: usize,
) -> Option<TokenLogprobs> {
    let distribution = Distribution::new(logits, 1.0)?;
    let mut best: Vec<(u32, f32)> = Vec::with_capacity(top.min(logits.len()) + 1);
    for (other, &logit) in (0..).zip(logits) {
        if best.len() < top || best.last().is_some_and(|&(_, least)| logit > least) {
            let rank = best.partition_point(|&(_, better)| better >= logit);
            best.insert(rank, (other, logit));
            best.truncate(top);
        }
    }
    let best = best.into_iter();
    Some(TokenLogprobs {
        token,
        logprob: distribution.log_probability(token),
        top: best
            .map(|(other, _)| (other, distribution.log_probability(other)))
            .collect(),
    })
}

/// The index of the greatest value, the first among equals.
fn first_of_greatest(values: &[f32]) -> u32 {
    let top = widest(
        #[inline(always)]
        || greatest(values),
    );
    values.iter().position(|&value| value == top).unwrap_or(0) as u32
}

/// The tokens that may be sampled, most likely first, with weights proportional to their probabilities.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn greedy_takes_the_first_of_equals() {
        let choice = Sampler::new(Sampling::Greedy, 0).next(&[1.0, 3.0, 3.0]);
        assert_eq!(choice.unwrap().token, 1);
    }

    #[test]
    fn what_is_no_number_is_never_chosen_from() {
        for logits in [
            [f32::NAN, 1.0],
            [1.0, f32::INFINITY],
            [f32::NEG_INFINITY; 2],
        ] {
            assert_eq!(Sampler::new(Sampling::Greedy, 0).next(&logits), None);
            assert_eq!(log_probability(&logits, 1), None);
        }
    }

    #[test]
    fn top_k_and_top_p_keep_the_most_likely() {
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
        let sampling = Sampling::at(1.0, 7);
        let mut sampler = Sampler::new(sampling, 0);
        let ones = (0..20_000)
            .filter(|_| sampler.next(&logits).unwrap().token == 1)
            .count();
        // A share of 3/4, and five standard deviations around it.
        assert!((14_694..=15_306).contains(&ones), "{ones}");
    }

    proptest! {
        #[test]
        fn the_same_seed_gives_the_same_tokens(seed in any::<u64>(), logits in prop::collection::vec(-9.0f32..9.0, 2..40)) {
            let sampling = Sampling::Random { temperature: 0.7, top_k: Some(20), top_p: Some(0.9), seed };
            let draw = || {
                let mut sampler = Sampler::new(sampling, 0);
                (0..10).map(|_| sampler.next(&logits)).collect::<Vec<_>>()
            };
            prop_assert_eq!(draw(), draw());
        }

        #[test]
        fn log_probability_agrees_with_the_definition(
            logits in prop::collection::vec(-30.0f32..30.0, 1..3000),
        ) {
            let token = logits.len() / 2;
            let total: f64 = logits.iter().map(|&logit| f64::from(logit).exp()).sum();
            let exact = f64::from(logits[token]) - total.ln();
            let near = f64::from(log_probability(&logits, token as u32).unwrap());
            prop_assert!((near - exact).abs() < 1e-5);
        }

        #[test]
        fn entropy_agrees_with_the_definition(
            logits in prop::collection::vec(-30.0f32..30.0, 1..3000),
            impossible in any::<bool>(),
        ) {
            let mut logits = logits;
            if impossible {
                logits.push(f32::NEG_INFINITY);
            }
            let weights: Vec<f64> = logits.iter().map(|&logit| f64::from(logit).exp()).collect();
            let total: f64 = weights.iter().sum();
            let shares = weights.iter().map(|weight| weight / total).filter(|share| *share > 0.0);
            let exact = -shares.map(|share| share * share.ln()).sum::<f64>();
            let near = f64::from(Distribution::new(&logits, 1.0).unwrap().entropy());
            prop_assert!((near - exact).abs() < 1e-4, "{near} {exact}");
        }

        #[test]
        fn the_margin_agrees_with_the_definition(
            logits in prop::collection::vec(-5.0f32..5.0, 1..3000),
            tied in any::<bool>(),
        ) {
            let mut logits = logits;
            if tied {
                logits.extend_from_within(..);
            }
            let total: f64 = logits.iter().map(|&logit| f64::from(logit).exp()).sum();
            let mut likely: Vec<f64> =
                logits.iter().map(|&logit| f64::from(logit).exp() / total).collect();
            likely.sort_by(|a, b| b.total_cmp(a));
            let exact = likely[0] - likely.get(1).copied().unwrap_or(0.0);
            let greedy = Sampler::new(Sampling::Greedy, 0).next(&logits).unwrap();
            let near = f64::from(greedy.margin.unwrap());
            prop_assert!((near - exact).abs() < 1e-6, "{near} {exact}");
            prop_assert!((0.0..=1.0).contains(&near));
        }

        #[test]
        fn a_share_falls_on_the_token_that_the_definition_says(
            logits in prop::collection::vec(-3.0f32..3.0, 2000..3000),
            share in 0.0f64..1.0,
        ) {
            let weights: Vec<f64> = logits.iter().map(|&logit| f64::from(logit / 0.7).exp()).collect();
            let total: f64 = weights.iter().sum();
            let token = Distribution::new(&logits, 0.7).unwrap().at(share) as usize;
            let before: f64 = weights[..token].iter().sum::<f64>() / total;
            let until: f64 = weights[..=token].iter().sum::<f64>() / total;
            prop_assert!(before <= share + 1e-6 && share <= until + 1e-6);
        }
    }
}
