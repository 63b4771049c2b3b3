//! Shards: the disjoint, equal, random parts of a corpus, and which of them are used.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How documents are split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sharding {
    /// The number of shards, at least 1.
    pub count: u32,
    /// Determines the split.
    pub seed: u64,
}

impl Sharding {
    /// The most shards that a corpus may have.
    pub const MOST: u32 = 1 << 16;
}

impl Default for Sharding {
    /// Everything in one shard.
    fn default() -> Self {
        Self { count: 1, seed: 0 }
    }
}

impl fmt::Display for Sharding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.count == 1 { "" } else { "s" };
        write!(f, "{} shard{plural} (seed {})", self.count, self.seed)
    }
}

/// Which shards are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Active {
    /// All of them.
    #[default]
    All,
    /// The first n.
    First(u32),
    /// The last n.
    Last(u32),
}

impl Active {
    /// Whether `shard`, counted from 0, is one of the active ones of `count`.
    pub fn includes(self, shard: u32, count: u32) -> bool {
        match self {
            Self::All => true,
            Self::First(n) => shard < n,
            Self::Last(n) => shard >= count.saturating_sub(n),
        }
    }

    /// The number of shards requested; `None` for all.
    pub fn scale(self) -> Option<u32> {
        match self {
            Self::All => None,
            Self::First(n) | Self::Last(n) => Some(n),
        }
    }
}

impl fmt::Display for Active {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all shards"),
            Self::First(n) => write!(f, "the first {n} shards"),
            Self::Last(n) => write!(f, "the last {n} shards"),
        }
    }
}

/// Gives new documents their shards.
///
/// A document goes into the smaller of two shards that the seeded hash of its id names. So the
/// shards are random, and their sizes differ by a few documents only; with a single hash they would
/// differ by the square root of their size (Azar et al. 1994, Balanced Allocations).
#[derive(Debug, Clone)]
pub struct Assigner {
    sharding: Sharding,
    documents: Vec<u64>,
}

impl Assigner {
    /// Continues from shards with these numbers of documents; missing numbers are 0.
    pub fn new(sharding: Sharding, documents: &[u64]) -> Self {
        let mut documents = documents.to_vec();
        documents.resize(sharding.count.max(1) as usize, 0);
        Self {
            sharding,
            documents,
        }
    }

    /// The shard of a new document, counted from 0.
    pub fn assign(&mut self, id: &str) -> u32 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.sharding.seed.to_le_bytes());
        hasher.update(id.as_bytes());
        let digest = hasher.finalize();
        let (first, rest) = digest.as_bytes().split_at(16);
        let number = |bytes: &[u8]| {
            let wide = bytes[..16]
                .iter()
                .fold(0_u128, |number, &byte| number << 8 | u128::from(byte));
            (wide % self.documents.len() as u128) as usize
        };
        let (first, second) = (number(first), number(rest));
        let shard = match self.documents[second] < self.documents[first] {
            true => second,
            false => first,
        };
        self.documents[shard] += 1;
        shard as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_is_told_in_words() {
        assert_eq!(Sharding::default().to_string(), "1 shard (seed 0)");
        let split = Sharding { count: 3, seed: 7 };
        assert_eq!(split.to_string(), "3 shards (seed 7)");
    }

    #[test]
    fn shards_are_equal_within_a_hundredth() {
        for count in [1, 2, 4, 12, 64] {
            let mut assigner = Assigner::new(Sharding { count, seed: 7 }, &[]);
            let mut sizes = vec![0_f64; count as usize];
            for n in 0..100_000 {
                sizes[assigner.assign(&format!("document {n}")) as usize] += 1.0;
            }
            let mean = 100_000.0 / f64::from(count);
            for size in sizes {
                assert!((size / mean - 1.0).abs() < 0.01, "{size} of {mean}");
            }
        }
    }

    #[test]
    fn a_seed_splits_in_its_own_way_every_time() {
        let split = |seed| {
            let mut assigner = Assigner::new(Sharding { count: 4, seed }, &[]);
            (0..100)
                .map(|n| assigner.assign(&n.to_string()))
                .collect::<Vec<_>>()
        };
        assert_eq!(split(1), split(1));
        assert_ne!(split(1), split(2));
    }

    #[test]
    fn what_is_there_counts() {
        let mut assigner = Assigner::new(Sharding { count: 2, seed: 0 }, &[1000]);
        let full = (0..100).filter(|n| assigner.assign(&n.to_string()) == 0);
        // Only if both hashes name the full shard.
        assert!(full.count() < 50);
    }

    #[test]
    fn the_active_shards_are_the_first_or_the_last() {
        let active = |active: Active| {
            (0..4)
                .filter(|&shard| active.includes(shard, 4))
                .collect::<Vec<_>>()
        };
        assert_eq!(active(Active::All), [0, 1, 2, 3]);
        assert_eq!(active(Active::First(1)), [0]);
        assert_eq!(active(Active::Last(3)), [1, 2, 3]);
    }
}
