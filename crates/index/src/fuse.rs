//! Reciprocal rank fusion: one ranking out of several, by ranks alone.
//!
//! Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual
//! rank learning methods" (SIGIR 2009): the score of a passage d is Σᵣ 1 / (60 + r(d)) over the
//! rankings r that hold it, where r(d) counts from 1. The scores of the rankings play no part, so
//! that cosines and BM25 need no common scale.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::top_k::{Candidate, Place};

/// The constant of the paper, which dampens the weight of the first ranks.
const K: f64 = 60.0;

/// Fuses `rankings`, each best first, and returns the best `k`, best first.
///
/// A score lies in (0, `rankings.len()` / 61]; the larger, the better. Equal scores keep the order
/// of the corpus.
pub(crate) fn reciprocal_rank(rankings: &[Vec<Candidate>], k: usize) -> Vec<Candidate> {
    let mut scores: HashMap<Place, f64> = HashMap::new();
    for ranking in rankings {
        for (rank, candidate) in (1u32..).zip(ranking) {
            *scores.entry(candidate.place).or_default() += 1.0 / (K + f64::from(rank));
        }
    }
    let mut fused: Vec<Candidate> = scores
        .into_iter()
        .map(|(place, score)| Candidate {
            score: score as f32,
            place,
        })
        .collect();
    fused.sort_unstable_by_key(|&candidate| Reverse(candidate));
    fused.truncate(k);
    fused
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(ordinals: &[u32]) -> Vec<Candidate> {
        ordinals
            .iter()
            .map(|&ordinal| Candidate {
                score: 0.5,
                place: Place {
                    segment: 0,
                    ordinal,
                },
            })
            .collect()
    }

    #[test]
    fn scores_are_those_of_the_formula() {
        let fused = reciprocal_rank(&[ranking(&[7, 8, 9]), ranking(&[9, 7])], 10);
        let found: Vec<(u32, f32)> = fused.iter().map(|c| (c.place.ordinal, c.score)).collect();
        // 7: 1/61 + 1/62; 9: 1/63 + 1/61; 8: 1/62.
        assert_eq!(found[0].0, 7);
        assert!((found[0].1 - 0.032_522_475).abs() < 1e-7);
        assert_eq!(found[1].0, 9);
        assert!((found[1].1 - 0.032_266_457).abs() < 1e-7);
        assert_eq!(found[2].0, 8);
        assert!((found[2].1 - 0.016_129_032).abs() < 1e-7);
    }

    #[test]
    fn equal_scores_keep_the_order_of_the_corpus() {
        let fused = reciprocal_rank(&[ranking(&[5, 2]), ranking(&[2, 5])], 10);
        assert_eq!(fused[0].score, fused[1].score);
        assert_eq!(fused[0].place.ordinal, 2);
    }

    #[test]
    fn k_bounds_the_result_and_nothing_gives_nothing() {
        assert_eq!(reciprocal_rank(&[ranking(&[1, 2, 3])], 2).len(), 2);
        assert!(reciprocal_rank(&[vec![], vec![]], 5).is_empty());
    }
}
