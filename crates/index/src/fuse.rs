//! Reciprocal rank fusion: one ranking out of several, by ranks alone.
//!
//! Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual
//! rank learning methods" (SIGIR 2009): the score of a passage d is Σᵣ 1 / (60 + r(d)) over the
//! rankings r that hold it, where r(d) counts from 1. The scores of the rankings play no part, so
//! that cosines and BM25 need no common scale.

use std::collections::HashMap;
use std::hash::Hash;

/// The constant of the paper, which dampens the weight of the first ranks.
const K: f64 = 60.0;

/// How many results of each ranking are fused for the best `k`: enough that a passage in the middle
/// of both can outrank one at the top of either.
#[must_use]
pub fn fused_depth(k: usize) -> usize {
    k.saturating_mul(10).max(100)
}

/// Fuses `rankings`, each best first, and returns the best `k` with their scores, best first.
///
/// A score lies in (0, `rankings.len()` / 61]; the larger, the better. Of equal scores the
/// smallest item comes first.
#[must_use]
pub fn reciprocal_rank<T: Ord + Hash + Clone>(rankings: &[Vec<T>], k: usize) -> Vec<(T, f32)> {
    let mut scores: HashMap<&T, f64> = HashMap::new();
    for ranking in rankings {
        for (rank, item) in (1u32..).zip(ranking) {
            *scores.entry(item).or_default() += 1.0 / (K + f64::from(rank));
        }
    }
    let fused = scores.into_iter().map(|(item, score)| (item, score as f32));
    let mut fused: Vec<(&T, f32)> = fused.collect();
    fused.sort_unstable_by(|(item, score), (other_item, other_score)| {
        other_score
            .total_cmp(score)
            .then_with(|| item.cmp(other_item))
    });
    fused.truncate(k);
    fused
        .into_iter()
        .map(|(item, score)| (item.clone(), score))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_those_of_the_formula() {
        let fused = reciprocal_rank(&[vec![7, 8, 9], vec![9, 7]], 10);
        // 7: 1/61 + 1/62; 9: 1/63 + 1/61; 8: 1/62.
        assert_eq!(fused[0].0, 7);
        assert!((fused[0].1 - 0.032_522_475).abs() < 1e-7);
        assert_eq!(fused[1].0, 9);
        assert!((fused[1].1 - 0.032_266_457).abs() < 1e-7);
        assert_eq!(fused[2].0, 8);
        assert!((fused[2].1 - 0.016_129_032).abs() < 1e-7);
    }

    #[test]
    fn of_equal_scores_the_smallest_comes_first() {
        let fused = reciprocal_rank(&[vec![5, 2], vec![2, 5]], 10);
        assert_eq!(fused[0].1, fused[1].1);
        assert_eq!(fused[0].0, 2);
    }

    #[test]
    fn k_limits_the_result_and_no_rankings_give_none() {
        assert_eq!(reciprocal_rank(&[vec![1, 2, 3]], 2).len(), 2);
        assert!(reciprocal_rank::<u32>(&[vec![], vec![]], 5).is_empty());
    }
}
