//! Fusing the dense and the lexical ranking into one.
//!
//! Ranks alone say little: a passage that is in both lists by a function word and by chance beats the best
//! of one list. So hybrid search adds the scores, after making each comparable.
//!
//! - Dense: a sixth of the number of standard deviations by which a cosine exceeds the mean of the corpus ([`Spread`]).
//!   Of N passages unrelated to the query, the nearest is about √(2 ln N) deviations above the mean; the less the best
//!   cosine exceeds that, the less all cosines count, down to [`LEAST`]. So an embedder that does not know the language
//!   of a corpus leaves the ranking to the words, and orders only the passages that share none with the query.
//! - Lexical: the BM25 score divided by the geometric mean of the best score and the highest score that a passage could
//!   have for the query, including terms that the corpus does not hold. So a passage with all words of the query counts
//!   fully, and one that is best by only a few of them counts less.
//!
//! If scores are not comparable, as in Milvus, ranks are fused: Cormack, Clarke and Büttcher, "Reciprocal rank fusion
//! outperforms Condorcet and individual rank learning methods" (SIGIR 2009): the score of a passage d is
//! Σᵣ 1 / (60 + r(d)) over the rankings r that hold it, where r(d) counts from 1.

use std::collections::HashMap;
use std::hash::Hash;

use crate::dense::Spread;
use crate::top_k::{Candidate, Place};

/// The constant of the paper, which dampens the weight of the first ranks.
const K: f64 = 60.0;

/// Deviations above the mean that count as much as the best lexical score.
const DEVIATIONS: f32 = 6.0;

/// The best cosine counts fully from the second of these multiples of √(2 ln N) deviations on, and least below the
/// first (`results/2026-11-30-fusion`).
const CHANCE: [f32; 2] = [1.0, 1.4];

/// The least weight of cosines, so that passages without a word of the query have an order.
const LEAST: f32 = 0.02;

/// Used if a corpus is too small to tell: the usual spread of embedders whose cosines are 0 by chance.
const USUAL: Spread = Spread {
    mean: 0.0,
    deviation: 0.1,
};

/// How many results of each ranking are fused for the best `k`: enough that a passage in the middle
/// of both can outrank one at the top of either.
pub fn fused_depth(k: usize) -> usize {
    k.saturating_mul(10).max(100)
}

/// The rankings of a query, each best first, with what makes their scores comparable.
pub(crate) struct Rankings<'a> {
    pub(crate) dense: &'a [Candidate],
    pub(crate) lexical: &'a [Candidate],
    /// Of the cosines in the corpus; `None` if it is too small to tell.
    pub(crate) spread: Option<Spread>,
    /// The number of passages in the corpus.
    pub(crate) passages: usize,
    /// The highest lexical score that a passage could have.
    pub(crate) most_lexical: f32,
}

/// The best `k` by the sum of both scores, best first; of equal sums the one that comes earlier in the corpus. A passage
/// that is only in the lexical ranking gets the last score of the dense one; one that is only in the dense ranking gets no lexical score.
pub(crate) fn by_scores(rankings: &Rankings<'_>, k: usize) -> Vec<Candidate> {
    let Rankings { dense, lexical, .. } = rankings;
    let spread = rankings.spread.unwrap_or(USUAL);
    let above = |score: f32| (score - spread.mean) / spread.deviation;
    let (best, last) = match (dense.first(), dense.last()) {
        (Some(best), Some(last)) => (above(best.score), above(last.score)),
        _ => (0.0, 0.0),
    };
    let trust = match rankings.spread {
        Some(_) => {
            let chance = (2.0 * (rankings.passages.max(2) as f32).ln()).sqrt();
            let [none, full] = CHANCE;
            ((best / chance - none) / (full - none)).clamp(LEAST, 1.0)
        }
        None => 1.0,
    };
    let most = lexical.first().map_or(0.0, |best| best.score);
    let unit = (most * rankings.most_lexical.max(most)).sqrt();
    let mut scores: HashMap<Place, f32> = lexical
        .iter()
        .map(|candidate| (candidate.place, trust * last / DEVIATIONS))
        .collect();
    for candidate in *dense {
        scores.insert(candidate.place, trust * above(candidate.score) / DEVIATIONS);
    }
    if unit > 0.0 {
        for candidate in *lexical {
            *scores.entry(candidate.place).or_default() += candidate.score / unit;
        }
    }
    let mut fused: Vec<Candidate> = scores
        .into_iter()
        .map(|(place, score)| Candidate { score, place })
        .collect();
    fused.sort_unstable_by(|a, b| b.cmp(a));
    fused.truncate(k);
    fused
}

/// Fuses `rankings`, each best first, and returns the best `k` with their scores, best first.
///
/// A score lies in (0, `rankings.len()` / 61]; the larger, the better. Of equal scores the
/// smallest item comes first.
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

    fn ranking(scores: &[(u32, f32)]) -> Vec<Candidate> {
        let candidate = |&(ordinal, score): &(u32, f32)| Candidate {
            score,
            place: Place {
                segment: 0,
                ordinal,
            },
        };
        scores.iter().map(candidate).collect()
    }

    fn fused(rankings: &Rankings<'_>) -> Vec<(u32, f32)> {
        let fused = by_scores(rankings, 10).into_iter();
        fused
            .map(|candidate| (candidate.place.ordinal, candidate.score))
            .collect()
    }

    #[test]
    fn a_sum_is_of_both_scores() {
        let rankings = Rankings {
            dense: &ranking(&[(1, 0.7), (2, 0.4)]),
            lexical: &ranking(&[(2, 4.0), (3, 1.0)]),
            spread: Some(Spread {
                mean: 0.1,
                deviation: 0.1,
            }),
            passages: 7,
            most_lexical: 9.0,
        };
        // The best is 6 deviations above the mean, 3 times what chance gives 7 passages; words count in sixths.
        let expected: [(u32, f32); 3] = [(2, 0.5 + 4.0 / 6.0), (1, 1.0), (3, 0.5 + 1.0 / 6.0)];
        let fused = fused(&rankings);
        assert_eq!(fused.len(), expected.len());
        for ((place, score), (expected_place, expected_score)) in fused.into_iter().zip(expected) {
            assert_eq!(place, expected_place);
            assert!((score - expected_score).abs() < 1e-5, "{place}: {score}");
        }
    }

    #[test]
    fn cosines_no_better_than_chance_leave_the_order_to_the_words() {
        let rankings = Rankings {
            dense: &ranking(&[(4, 0.45), (2, 0.44), (1, 0.43)]),
            lexical: &ranking(&[(3, 2.0), (2, 1.0)]),
            spread: Some(Spread {
                mean: 0.3,
                deviation: 0.05,
            }),
            passages: 2000,
            most_lexical: 4.0,
        };
        let order: Vec<u32> = fused(&rankings)
            .into_iter()
            .map(|(place, _)| place)
            .collect();
        assert_eq!(order, [3, 2, 4, 1]);
    }

    #[test]
    fn without_words_the_order_is_the_dense_one() {
        let rankings = Rankings {
            dense: &ranking(&[(4, 0.6), (1, 0.2)]),
            lexical: &[],
            spread: None,
            passages: 2,
            most_lexical: 0.0,
        };
        let order: Vec<u32> = fused(&rankings)
            .into_iter()
            .map(|(place, _)| place)
            .collect();
        assert_eq!(order, [4, 1]);
        let nothing = Rankings {
            dense: &[],
            ..rankings
        };
        assert!(by_scores(&nothing, 3).is_empty());
    }

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
