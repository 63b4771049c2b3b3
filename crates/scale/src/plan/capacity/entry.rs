//! The lines of a plan of a capacity: a number, its unit, and where it is from.

use serde::Serialize;

use super::estimate::Estimate;
use crate::plan::quantity::in_units;

/// A number that a plan tells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// The part of the plan.
    pub part: Part,
    /// What the number is of.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// The number.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// Where it is from.
    #[serde(flatten)]
    pub basis: Basis,
}

/// A part of a plan of a capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Bytes on disk.
    Disk,
    /// Memory of a machine that searches.
    Memory,
    /// Memory of a job that builds a shard.
    Building,
    /// Hours of work, done once.
    Work,
    /// Time and cores of searches.
    Search,
    /// Money.
    Money,
}

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Hours of one core.
    CoreHours,
    /// Hours of one GPU.
    GpuHours,
    /// Hours.
    Hours,
    /// Seconds of one core.
    CoreS,
    /// Milliseconds.
    Ms,
    /// Searches a second.
    QueriesPerS,
    /// Cores.
    Cores,
    /// Machines.
    Machines,
    /// The unit of the prices.
    Money,
}

/// Where a number is from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "basis", rename_all = "snake_case")]
pub enum Basis {
    /// Measurements of what does not depend on the number of passages.
    Measured {
        /// Where they are recorded.
        source: String,
    },
    /// Growth with the vectors of a shard or the words of a passage, fitted to measurements.
    Fitted {
        /// Where they are recorded.
        source: String,
        /// The vectors or words here over the most that were measured, or, if that is more, the least over those here: above
        /// 1, the number is extrapolated.
        beyond: f64,
    },
    /// A layout, or other numbers of the plan.
    Computed,
    /// The person who plans.
    Given,
}

impl Part {
    /// All parts, in reading order.
    pub(super) const ALL: [Self; 6] = [
        Self::Disk,
        Self::Memory,
        Self::Building,
        Self::Work,
        Self::Search,
        Self::Money,
    ];

    /// Its heading.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Disk => "Disk",
            Self::Memory => "Memory of a machine that searches",
            Self::Building => "Memory of a job that builds one shard",
            Self::Work => "Work, done once",
            Self::Search => "Searches",
            Self::Money => "Money",
        }
    }
}

impl Unit {
    /// A value for people to read.
    pub(super) fn shown(self, value: f64) -> String {
        let rounded = |unit: &str| match value.abs() < 10.0 {
            true => format!("{value:.2} {unit}"),
            false => format!("{value:.0} {unit}"),
        };
        match self {
            Self::Bytes => in_units(value, "B", &["", "k", "M", "G", "T", "P"]),
            Self::CoreHours if value > 0.0 && value < 0.1 => {
                format!("{:.2} core minutes", 60.0 * value)
            }
            Self::CoreHours => rounded("core hours"),
            Self::GpuHours => rounded("GPU hours"),
            Self::Hours => rounded("hours"),
            Self::CoreS if value.abs() < 10.0 => format!("{value:.4} core s"),
            Self::CoreS => rounded("core s"),
            Self::Ms => rounded("ms"),
            Self::QueriesPerS => rounded("queries/s"),
            Self::Cores => rounded("cores"),
            Self::Machines => format!("{value:.0}"),
            Self::Money => format!("{value:.2}"),
        }
    }
}

impl Basis {
    /// Of growth that was measured from one size to another, and is taken at a size.
    pub(super) fn fitted(source: &str, size: f64, [least, most]: [f64; 2]) -> Self {
        Self::Fitted {
            source: source.to_owned(),
            beyond: (size / most).max(least / size),
        }
    }

    /// For people to read.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Measured { source } => format!("measured: {source}"),
            Self::Fitted { source, beyond } if *beyond > 1.0 => {
                format!("extrapolated {beyond:.1} times beyond {source}")
            }
            Self::Fitted { source, .. } => format!("between sizes of {source}"),
            Self::Computed => "computed".to_owned(),
            Self::Given => "given".to_owned(),
        }
    }
}
