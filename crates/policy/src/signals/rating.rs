//! How well the passages of a corpus fit a question, in numbers from two searches. They do not depend on the mode of
//! search, the number of passages and the reranker of an answer.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

/// How well passages fit a question. If a search finds nothing, its numbers are those of the worst fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rating {
    /// The cosine of the question and the passage most similar to it.
    pub cosine: f64,
    /// How much larger that is than the next passage's; 0 if there is one passage.
    pub lead: f64,
    /// The largest BM25 score of a passage.
    pub bm25: f64,
    /// How much larger that is than the next passage's; all of it if there is one passage.
    pub bm25_lead: f64,
    /// The share of the ten most similar passages that are among the ten best by words.
    pub agreement: f64,
}

impl Rating {
    /// All its numbers, in the order in which gates read them.
    pub fn numbers(&self) -> [f64; 5] {
        let (cosine, lead) = (self.cosine, self.lead);
        [cosine, lead, self.bm25, self.bm25_lead, self.agreement]
    }

    /// Whether all its numbers are finite.
    pub fn is_finite(&self) -> bool {
        self.numbers().iter().all(|number| number.is_finite())
    }

    /// The rating of the passages that a search by vectors and one by words found, each best first: ids with scores.
    pub fn of(dense: &[(&str, f32)], lexical: &[(&str, f32)]) -> Self {
        let score =
            |hits: &[(&str, f32)], index: usize| hits.get(index).map(|hit| f64::from(hit.1));
        let cosine = score(dense, 0);
        let bm25 = score(lexical, 0).unwrap_or_default();
        let words: HashSet<&str> = lexical.iter().map(|hit| hit.0).collect();
        let both = dense.iter().filter(|hit| words.contains(hit.0)).count();
        Self {
            cosine: cosine.unwrap_or(-1.0),
            lead: cosine
                .zip(score(dense, 1))
                .map_or(0.0, |(best, next)| best - next),
            bm25,
            bm25_lead: bm25 - score(lexical, 1).unwrap_or_default(),
            agreement: both as f64 / dense.len().max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use ken_testing::has;

    use super::*;

    #[test]
    fn a_rating_is_of_the_best_and_the_next() {
        let dense = [("a", 0.75), ("b", 0.5), ("c", 0.25), ("d", 0.125)];
        let lexical = [("b", 9.0), ("x", 7.5)];
        let rating = Rating::of(&dense, &lexical);
        has!(rating, cosine: 0.75, lead: 0.25, bm25: 9.0, bm25_lead: 1.5, agreement: 0.25);
    }

    #[test]
    fn nothing_found_is_the_worst_fit() {
        let nothing = Rating::of(&[], &[]);
        has!(nothing, cosine: -1.0, bm25: 0.0, agreement: 0.0);
        let one = Rating::of(&[("a", 0.5)], &[("a", 3.0)]);
        assert_eq!((one.lead, one.bm25_lead, one.agreement), (0.0, 3.0, 1.0));
    }
}
