//! From a score to a probability: isotonic regression, by which the probability never rises with the score.

/// Neighboring scores with one probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Block {
    /// The largest of its scores.
    pub(super) up_to: f64,
    /// The mean of what was observed.
    pub(super) probability: f64,
    /// Observations.
    count: usize,
}

/// The probabilities that, falling with the score, are closest to what was observed by squared error: from the
/// least score, neighbors are pooled as long as the later ones have the larger mean (pool adjacent
/// violators, Ayer et al. 1955; for the calibration of scores, Zadrozny and Elkan 2002).
///
/// # Shapes
/// `observed`: `[observations]`, each a score, which is a number, and whether it was so, in `[0, 1]`. Returns
/// blocks by rising score.
pub(super) fn falling(mut observed: Vec<(f64, f64)>) -> Vec<Block> {
    observed.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut blocks: Vec<Block> = Vec::new();
    for same in observed.chunk_by(|one, next| one.0 == next.0) {
        let mut block = Block {
            up_to: same[0].0,
            probability: same.iter().map(|one| one.1).sum::<f64>() / same.len() as f64,
            count: same.len(),
        };
        while let Some(before) = blocks.pop_if(|before| before.probability <= block.probability) {
            let count = before.count + block.count;
            let sum = |one: &Block| one.probability * one.count as f64;
            block.probability = (sum(&before) + sum(&block)) / count as f64;
            block.count = count;
        }
        blocks.push(block);
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_is_the_least_of_the_largest_means(
            observed in prop::collection::vec((0_u8..12, 0_u8..4), 1..40),
        ) {
            let observed: Vec<(f64, f64)> = observed
                .into_iter()
                .map(|(score, right)| (f64::from(score), f64::from(right) / 3.0))
                .collect();
            let blocks = falling(observed.clone());
            let mut scores: Vec<f64> = observed.iter().map(|one| one.0).collect();
            scores.sort_by(f64::total_cmp);
            scores.dedup();
            let mean = |from: f64, to: f64| {
                let within = observed.iter().filter(|one| (from..=to).contains(&one.0));
                let within: Vec<f64> = within.map(|one| one.1).collect();
                within.iter().sum::<f64>() / within.len() as f64
            };
            for &score in &scores {
                // The formula of isotonic regression as a minimum of maxima (Barlow et al. 1972).
                let largest = |from: f64| {
                    let ends = scores.iter().filter(|end| **end >= score);
                    ends.map(|&end| mean(from, end)).fold(f64::NEG_INFINITY, f64::max)
                };
                let begins = scores.iter().filter(|begin| **begin <= score);
                let expected = begins.map(|&begin| largest(begin)).fold(f64::INFINITY, f64::min);
                let found = blocks.iter().find(|block| score <= block.up_to).unwrap();
                prop_assert!((found.probability - expected).abs() < 1e-9, "{score}: {blocks:?}");
            }
            let rise = |pair: &[Block]| pair[0].up_to < pair[1].up_to;
            let fall = |pair: &[Block]| pair[0].probability > pair[1].probability;
            prop_assert!(blocks.windows(2).all(|pair| rise(pair) && fall(pair)));
        }
    }
}
