//! From a score to a probability: isotonic regression, by which the probability never rises with the score.

/// Neighboring scores with one probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Block {
    /// The largest of its scores.
    pub(super) up_to: f64,
    /// The mean of its outcomes.
    pub(super) probability: f64,
    /// The number of its observations.
    count: usize,
}

/// The probabilities that fall with the score and have the least squared error: from the lowest score on, neighbors
/// are pooled as long as the later ones have at least the mean of the earlier ones (pool adjacent violators, Ayer et
/// al. 1955; for the calibration of scores, Zadrozny and Elkan 2002).
///
/// # Shapes
/// `observed`: `[observations]`, each a score, which is not NaN, and its outcome in `[0, 1]`. Returns blocks by
/// rising score.
pub(super) fn falling(mut observed: Vec<(f64, f64)>) -> Vec<Block> {
    observed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut blocks: Vec<Block> = Vec::new();
    for equal in observed.chunk_by(|a, b| a.0 == b.0) {
        let mut block = Block {
            up_to: equal[0].0,
            probability: equal.iter().map(|(_, outcome)| outcome).sum::<f64>() / equal.len() as f64,
            count: equal.len(),
        };
        while let Some(before) = blocks.pop_if(|before| before.probability <= block.probability) {
            let count = before.count + block.count;
            let sum = |block: &Block| block.probability * block.count as f64;
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
            let mut scores: Vec<f64> = observed.iter().map(|(score, _)| *score).collect();
            scores.sort_by(f64::total_cmp);
            scores.dedup();
            let mean = |from: f64, to: f64| {
                let within = observed.iter().filter(|(score, _)| (from..=to).contains(score));
                let within: Vec<f64> = within.map(|(_, outcome)| *outcome).collect();
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
                let block = blocks.iter().find(|block| score <= block.up_to).unwrap();
                prop_assert!((block.probability - expected).abs() < 1e-9, "{score}: {blocks:?}");
            }
            let rise = |pair: &[Block]| pair[0].up_to < pair[1].up_to;
            let fall = |pair: &[Block]| pair[0].probability > pair[1].probability;
            prop_assert!(blocks.windows(2).all(|pair| rise(pair) && fall(pair)));
        }
    }
}
