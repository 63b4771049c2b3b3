//! How often training describes each subject: a power of its rank (Zipf).

use ken_random::below;

/// The weight of rank 1. Weights are whole numbers, so that draws are the same on every machine.
const FIRST: f64 = (1_u64 << 24) as f64;

/// Zipf's law: the share of the subject of rank r is proportional to r^-exponent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Zipf {
    /// The subjects that can be drawn.
    subjects: Vec<usize>,
    /// The cumulative weights.
    cumulative: Vec<u64>,
}

impl Zipf {
    /// `ranked`: subjects with their ranks, from 1.
    pub(crate) fn new(ranked: impl Iterator<Item = (usize, usize)>, exponent: f64) -> Self {
        let mut tail = Self {
            subjects: Vec::new(),
            cumulative: Vec::new(),
        };
        let mut sum = 0;
        for (subject, rank) in ranked {
            sum += weight(rank, exponent);
            tail.subjects.push(subject);
            tail.cumulative.push(sum);
        }
        tail
    }

    /// Draws a subject; `None` if there is none.
    pub(crate) fn draw(&self, state: &mut u64) -> Option<usize> {
        let total = *self.cumulative.last()?;
        let drawn = below(state, usize::try_from(total).ok()?) as u64;
        let index = self.cumulative.partition_point(|sum| *sum <= drawn);
        self.subjects.get(index).copied()
    }

    /// The probability in `[0, 1]` of drawing the subject of a rank.
    pub(crate) fn share(&self, rank: usize, exponent: f64) -> f64 {
        let total = self.cumulative.last().copied().unwrap_or(1);
        weight(rank, exponent) as f64 / total as f64
    }
}

fn weight(rank: usize, exponent: f64) -> u64 {
    let weight = (FIRST * (rank as f64).powf(-exponent)).round();
    // Every subject has a chance.
    (weight as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_the_law() {
        let tail = Zipf::new((0..100).map(|at| (at, at + 1)), 0.8);
        let mut state = 3;
        let mut counts = [0_usize; 100];
        let draws = 200_000;
        for _ in 0..draws {
            counts[tail.draw(&mut state).unwrap()] += 1;
        }
        for (at, &count) in counts.iter().enumerate() {
            let share = tail.share(at + 1, 0.8);
            let expected = share * f64::from(draws);
            let five_deviations = 5.0 * (expected * (1.0 - share)).sqrt();
            assert!(
                (count as f64 - expected).abs() < five_deviations,
                "rank {}",
                at + 1
            );
        }
        let ratio = tail.share(1, 0.8) / tail.share(32, 0.8);
        assert!((ratio - 16.0).abs() < 1e-3, "{ratio}");
        assert_eq!(Zipf::new(std::iter::empty(), 0.8).draw(&mut state), None);
    }
}
