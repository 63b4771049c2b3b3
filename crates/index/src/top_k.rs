//! The best k candidates of a search, kept in a bounded heap.
//!
//! The order is total, so that results do not depend on threads: the larger score first, and of
//! equal scores the passage that comes earlier in the corpus.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Where a passage stands in the corpus. The derived order is that of ingestion: older segments
/// first, then the ordinal within the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    /// The number of the segment in the corpus.
    pub(crate) segment: u32,
    /// The number of the passage in the segment.
    pub(crate) ordinal: u32,
}

/// A passage with its score. The larger candidate is the better one. Scores are finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) score: f32,
    pub(crate) place: Place,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Candidate) -> Ordering {
        self.score
            .total_cmp(&other.score)
            .then_with(|| other.place.cmp(&self.place))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Candidate) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The best `k` of all candidates offered so far.
#[derive(Debug)]
pub(crate) struct TopK {
    k: usize,
    /// The worst candidate on top.
    heap: BinaryHeap<Reverse<Candidate>>,
}

impl TopK {
    pub(crate) fn new(k: usize) -> TopK {
        TopK {
            k,
            heap: BinaryHeap::new(),
        }
    }

    /// Takes the passage if it is among the best so far and `is_live`, which is asked only then.
    /// A score that is NaN or infinite is no score: such a passage is never taken.
    pub(crate) fn offer(&mut self, score: f32, place: Place, is_live: impl FnOnce(Place) -> bool) {
        if !score.is_finite() {
            return;
        }
        let candidate = Candidate {
            score: score + 0.0, // makes -0.0 equal to 0.0
            place,
        };
        if self.heap.len() < self.k {
            if is_live(place) {
                self.heap.push(Reverse(candidate));
            }
        } else if let Some(mut worst) = self.heap.peek_mut()
            && candidate > worst.0
            && is_live(place)
        {
            *worst = Reverse(candidate);
        }
    }

    /// The score that a candidate has to reach; none while there are fewer than `k`.
    pub(crate) fn threshold(&self) -> Option<f32> {
        if self.heap.len() < self.k {
            return None;
        }
        self.heap.peek().map(|worst| worst.0.score)
    }

    /// The best of both.
    pub(crate) fn merge(mut self, other: TopK) -> TopK {
        for Reverse(candidate) in other.heap {
            self.offer(candidate.score, candidate.place, |_| true);
        }
        self
    }

    /// Best first.
    pub(crate) fn into_ranking(self) -> Vec<Candidate> {
        let mut ranking: Vec<Candidate> = self.heap.into_iter().map(|Reverse(c)| c).collect();
        ranking.sort_unstable_by_key(|&candidate| Reverse(candidate));
        ranking
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(ordinal: u32) -> Place {
        Place {
            segment: 0,
            ordinal,
        }
    }

    fn ranking(k: usize, scores: &[f32]) -> Vec<u32> {
        let mut best = TopK::new(k);
        for (ordinal, &score) in scores.iter().enumerate() {
            best.offer(score, place(ordinal as u32), |_| true);
        }
        let ranking = best.into_ranking();
        ranking.iter().map(|c| c.place.ordinal).collect()
    }

    #[test]
    fn keeps_the_best_in_order() {
        assert_eq!(ranking(2, &[0.1, 0.9, 0.5, 0.7]), [1, 3]);
        assert_eq!(ranking(0, &[0.1, 0.9]), [0; 0]);
        assert_eq!(ranking(9, &[0.1, 0.9]), [1, 0]);
    }

    #[test]
    fn equal_scores_keep_the_order_of_the_corpus() {
        assert_eq!(ranking(2, &[0.0, -0.0, 0.0]), [0, 1]);
        let mut late_first = TopK::new(1);
        late_first.offer(0.5, place(7), |_| true);
        late_first.offer(0.5, place(3), |_| true);
        assert_eq!(late_first.into_ranking()[0].place, place(3));
    }

    #[test]
    fn nan_and_infinity_never_win() {
        assert_eq!(ranking(3, &[f32::NAN, 0.2, f32::INFINITY, -1.0]), [1, 3]);
    }

    #[test]
    fn the_dead_are_left_out() {
        let mut best = TopK::new(1);
        best.offer(0.2, place(0), |_| true);
        best.offer(0.9, place(1), |_| false);
        assert_eq!(best.into_ranking()[0].place, place(0));
    }
}
