//! Pseudo-random numbers from a seed.

/// A sequence of numbers (splitmix64).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        ken_random::next(&mut self.0)
    }

    /// A number below `end`, which must not be 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }

    /// True in `share` of a thousand.
    pub fn per_mille(&mut self, share: usize) -> bool {
        self.below(1000) < share
    }

    /// `count` distinct numbers below `end`, ascending; all of them if there are fewer.
    pub fn sample(&mut self, end: usize, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..end).collect();
        for at in 0..count.min(end) {
            let other = at + self.below(end - at);
            all.swap(at, other);
        }
        all.truncate(count);
        all.sort_unstable();
        all
    }
}
