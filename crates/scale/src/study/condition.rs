//! The variables of a study besides the model: the cells of a grid.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The end from which shards are activated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// The first shards.
    #[default]
    Forward,
    /// The last shards.
    Reversed,
}

impl fmt::Display for Order {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

/// A share of the passages in thousandths, for exact comparisons.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct PruneRatio(u32);

impl PruneRatio {
    /// Nothing is pruned.
    pub const NONE: Self = Self(0);

    /// The share, from 0 to less than 1.
    pub fn share(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

/// A share that is not from 0 to less than 1 in whole thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a ratio from 0 to less than 1 with at most three decimals is expected")]
pub struct NotARatio;

impl TryFrom<f64> for PruneRatio {
    type Error = NotARatio;

    fn try_from(share: f64) -> Result<Self, NotARatio> {
        let thousandths = (share * 1000.0).round();
        let is_whole = (share * 1000.0 - thousandths).abs() < 1e-6;
        match (0.0..1000.0).contains(&thousandths) && is_whole {
            true => Ok(Self(thousandths as u32)),
            false => Err(NotARatio),
        }
    }
}

impl From<PruneRatio> for f64 {
    fn from(ratio: PruneRatio) -> Self {
        ratio.share()
    }
}

impl std::str::FromStr for PruneRatio {
    type Err = NotARatio;

    fn from_str(text: &str) -> Result<Self, NotARatio> {
        let share: f64 = text.trim().parse().map_err(|_| NotARatio)?;
        share.try_into()
    }
}

impl fmt::Display for PruneRatio {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.share().fmt(formatter)
    }
}

/// The variables of retrieval except its scale.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Retrieval {
    /// The end from which shards are activated.
    pub order: Order,
    /// The share of the corpus that is pruned.
    pub pruned: PruneRatio,
    /// Passages retrieved.
    pub k: usize,
}

/// The condition under which a question is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Condition {
    /// Active shards; 0 means without retrieval.
    pub n: u32,
    /// How passages are retrieved; ignored without retrieval.
    #[serde(flatten)]
    pub retrieval: Retrieval,
}

impl Condition {
    /// Without retrieval.
    pub const FROM_MEMORY: Self = Self {
        n: 0,
        retrieval: Retrieval {
            order: Order::Forward,
            pruned: PruneRatio::NONE,
            k: 0,
        },
    };
}

/// As in file names.
impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Retrieval { order, pruned, k } = self.retrieval;
        match self.n {
            0 => formatter.write_str("n0"),
            n => write!(formatter, "n{n}-{order}-k{k}-pruned{pruned}"),
        }
    }
}

/// One cell of a grid: a data set, a model and a condition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Cell {
    /// The data set.
    pub dataset: String,
    /// The model.
    pub model: String,
    /// The condition.
    #[serde(flatten)]
    pub condition: Condition,
}

impl Cell {
    /// The cell of a model on a data set.
    pub fn new(dataset: &str, model: &str, condition: Condition) -> Self {
        Self {
            dataset: dataset.to_owned(),
            model: model.to_owned(),
            condition,
        }
    }

    /// The path of its records inside the study's folder.
    pub fn file(&self) -> PathBuf {
        let name = format!("{}.jsonl", self.condition);
        ["cells", &self.dataset, &self.model, &name]
            .iter()
            .collect()
    }
}

/// For people to read.
impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} {} {}",
            self.dataset, self.model, self.condition
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_files_of_their_own() {
        let retrieval = Retrieval {
            order: Order::Reversed,
            pruned: "0.3".parse().unwrap(),
            k: 5,
        };
        let cell = |condition| Cell::new("nq", "s", condition);
        let file = |condition| cell(condition).file().display().to_string();
        assert_eq!(
            file(Condition { n: 12, retrieval }),
            "cells/nq/s/n12-reversed-k5-pruned0.3.jsonl"
        );
        assert_eq!(file(Condition::FROM_MEMORY), "cells/nq/s/n0.jsonl");
    }

    #[test]
    fn ratios_are_exact() {
        let three: PruneRatio = "0.3".parse().unwrap();
        assert_eq!((three.to_string(), three.share()), ("0.3".to_owned(), 0.3));
        for bad in ["1", "-0.1", "0.1234", "x", "NaN"] {
            assert!(bad.parse::<PruneRatio>().is_err(), "{bad}");
        }
        let json = serde_json::to_string(&three).unwrap();
        assert_eq!(serde_json::from_str::<PruneRatio>(&json).unwrap(), three);
    }
}
