//! How neighbors vote on the source of a question (SR-RAG, section 3.4).
//!
//! The nearer a neighbor, the more its vote weighs; the weights sum to the number of neighbors. Every source has a vote
//! from the start, so that one without neighbors keeps a share: the model may still choose it.

/// The votes that every source has from the start.
const PRIOR: f64 = 1.0;

/// The difference of cosines by which a vote weighs e times as much.
const SOFTNESS: f64 = 0.1;

/// The share of each source: (votes + 1) / (neighbors + sources).
///
/// # Shapes
/// `neighbors`: `[neighbors]`, each with its cosine and the share of every source in its vote, `[sources]`.
/// Returns `[sources]`, which sum to 1.
pub fn shares_of_votes(neighbors: &[(f32, &[f64])], sources: usize) -> Vec<f64> {
    let best = neighbors.iter().map(|(cosine, _)| f64::from(*cosine));
    let best = best.fold(f64::NEG_INFINITY, f64::max);
    let weight = |cosine: f32| ((f64::from(cosine) - best) / SOFTNESS).exp();
    let total: f64 = neighbors.iter().map(|(cosine, _)| weight(*cosine)).sum();
    let mut votes = vec![PRIOR; sources];
    for (cosine, shares) in neighbors {
        let scaled = weight(*cosine) * neighbors.len() as f64 / total;
        for (votes, share) in votes.iter_mut().zip(*shares) {
            *votes += scaled * share;
        }
    }
    let all = neighbors.len() as f64 + PRIOR * sources as f64;
    votes.into_iter().map(|votes| votes / all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equally_near_neighbors_are_counted() {
        let own = [1.0, 0.0];
        let other = [0.0, 1.0];
        let shares = shares_of_votes(&[(0.5, &own), (0.5, &own), (0.5, &other)], 2);
        assert!((shares[0] - 3.0 / 5.0).abs() < 1e-12, "{shares:?}");
        assert_eq!(shares_of_votes(&[], 3), [1.0 / 3.0; 3]);
        // A soft vote is one for each of its sources.
        let soft = shares_of_votes(&[(0.5, &[0.25, 0.75])], 2);
        assert!((soft[0] - 1.25 / 3.0).abs() < 1e-12, "{soft:?}");
    }

    #[test]
    fn the_nearer_weighs_more() {
        let shares = shares_of_votes(&[(0.9, &[1.0, 0.0]), (0.8, &[0.0, 1.0])], 2);
        let weight = 1.0_f64.exp();
        let votes = 2.0 * weight / (weight + 1.0);
        assert!((shares[0] - (votes + 1.0) / 4.0).abs() < 1e-6, "{shares:?}");
    }

    proptest! {
        #[test]
        fn no_source_is_without_a_share(
            votes in proptest::collection::vec((-1.0..1.0_f32, 0.0..1.0_f64), 0..40),
        ) {
            let shares: Vec<[f64; 2]> = votes.iter().map(|(_, own)| [*own, 1.0 - own]).collect();
            let neighbors = votes.iter().zip(&shares);
            let neighbors: Vec<(f32, &[f64])> =
                neighbors.map(|((cosine, _), shares)| (*cosine, &shares[..])).collect();
            let shares = shares_of_votes(&neighbors, 2);
            let least = 1.0 / (neighbors.len() + 2) as f64;
            prop_assert!(shares.iter().all(|share| *share >= least - 1e-12));
            prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }
}
