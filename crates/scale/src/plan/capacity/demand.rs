//! What a plan of a capacity is for.

use std::num::{NonZeroU32, NonZeroU64};

use ken_index::VectorType;
use serde::Serialize;

use super::error::CapacityError;
use crate::plan::prices::Prices;

/// What a plan of a capacity is for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Demand {
    /// Passages of the corpus.
    pub passages: NonZeroU64,
    /// The mean length of a passage in words.
    pub words: f64,
    /// Dimensions of a vector.
    pub dimensions: NonZeroU32,
    /// The type of the stored numbers of vectors.
    pub vectors: VectorType,
    /// Shards of the corpus, each with a graph of its own.
    pub shards: NonZeroU32,
    /// The share of the nearest passages that a search is to find.
    pub recall: f64,
    /// Searches a second.
    pub queries_per_s: Option<f64>,
    /// How fast passages are embedded; as measured if `None`.
    pub embedding: Option<Embedding>,
    /// Questions to be probed.
    pub probed: Option<NonZeroU64>,
    /// Core seconds to probe one of them; as measured if `None`.
    pub probe_core_s: Option<f64>,
    /// A machine of those that are to be used.
    pub machine: Machine,
    /// Prices; none are known where all are 0.
    #[serde(skip)]
    pub prices: Prices,
}

/// Embedded passages a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Embedding {
    /// By one core.
    PerCore(f64),
    /// By one GPU.
    PerGpu(f64),
}

/// A machine, as far as it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Machine {
    /// Its cores.
    pub cores: Option<NonZeroU32>,
    /// Its bytes of memory.
    pub memory: Option<f64>,
}

impl Demand {
    /// # Errors
    /// A number out of its range.
    pub(super) fn check(&self) -> Result<(), CapacityError> {
        let rate = self.embedding.map(|embedding| match embedding {
            Embedding::PerCore(rate) | Embedding::PerGpu(rate) => rate,
        });
        let amounts = [
            ("words", Some(self.words)),
            ("queries_per_s", self.queries_per_s),
            ("embedded passages a second", rate),
            ("probe_core_s", self.probe_core_s),
            ("the machine's memory", self.machine.memory),
        ];
        let bad = |name, value, needed| {
            Err(CapacityError::BadDemand {
                name,
                value,
                needed,
            })
        };
        for (name, value) in amounts {
            if let Some(value) = value.filter(|value| !(value.is_finite() && *value > 0.0)) {
                return bad(name, value, "above 0");
            }
        }
        if !(self.recall > 0.0 && self.recall < 1.0) {
            return bad("recall", self.recall, "between 0 and 1, neither of them");
        }
        if u64::from(self.shards.get()) > self.passages.get() {
            return bad("shards", self.shards.get().into(), "at most the passages");
        }
        Ok(())
    }
}
