//! The quantities of a set-up: accuracies, of which more is better, and costs, of which less is.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A quantity of a set-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// Exact match.
    Em,
    /// Token F1.
    F1,
    /// The share of answers that contain a golden answer.
    Contains,
    /// Parameters of the model.
    Parameters,
    /// Shards searched.
    Shards,
    /// Bytes of memory: weights, index, and the keys and values of the longest question.
    Memory,
    /// Bytes of the corpus on disk.
    Disk,
    /// Median milliseconds to answer a single question.
    P50,
    /// 95th percentile of the milliseconds to answer a single question.
    P95,
    /// Tokens that the model reads and writes per question.
    Tokens,
    /// Calls of the model per question.
    ModelCalls,
    /// Calls of the retriever per question.
    RetrieverCalls,
    /// Floating-point operations of the model per question: two per parameter and token.
    Flop,
    /// The cost of a month, in the unit of the prices.
    Price,
}

/// All quantities with their names.
const NAMES: [(Quantity, &str); 14] = [
    (Quantity::Em, "em"),
    (Quantity::F1, "f1"),
    (Quantity::Contains, "contains"),
    (Quantity::Parameters, "parameters"),
    (Quantity::Shards, "shards"),
    (Quantity::Memory, "memory"),
    (Quantity::Disk, "disk"),
    (Quantity::P50, "p50_ms"),
    (Quantity::P95, "p95_ms"),
    (Quantity::Tokens, "tokens"),
    (Quantity::ModelCalls, "model_calls"),
    (Quantity::RetrieverCalls, "retriever_calls"),
    (Quantity::Flop, "flop"),
    (Quantity::Price, "price"),
];

impl Quantity {
    /// The costs, in the order of reports.
    pub fn costs() -> impl Iterator<Item = Self> {
        let all = NAMES.into_iter().map(|(quantity, _)| quantity);
        all.filter(|quantity| !quantity.is_accuracy())
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let named = NAMES.iter().find(|(quantity, _)| *quantity == self);
        named.map_or("", |(_, name)| name)
    }

    /// Whether higher is better.
    pub fn is_accuracy(self) -> bool {
        matches!(self, Self::Em | Self::F1 | Self::Contains)
    }

    /// A value for people to read.
    pub fn told(self, value: f64) -> String {
        match self {
            Self::Em | Self::F1 | Self::Contains => format!("{value:.3}"),
            Self::Memory | Self::Disk => in_units(value, "B", &["", "k", "M", "G", "T"]),
            Self::Parameters => in_units(value, "", &["", "k", "M", "B", "T"]),
            Self::Flop => in_units(value, "FLOP", &["", "k", "M", "G", "T", "P"]),
            Self::Shards => format!("{value:.0}"),
            Self::P50 | Self::P95 => format!("{value:.0} ms"),
            Self::Tokens | Self::ModelCalls | Self::RetrieverCalls | Self::Price => {
                format!("{value:.1}")
            }
        }
    }

    /// Parses a value; sizes and times need their unit.
    fn value(self, text: &str) -> Option<f64> {
        let digits = text
            .find(|c: char| c.is_ascii_alphabetic() && c != 'e')
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let number: f64 = number.trim().parse().ok()?;
        let factor = match (self, unit.trim().to_ascii_lowercase().as_str()) {
            (_, "") => 1.0,
            (Self::Memory | Self::Disk, "b") => 1.0,
            (Self::Memory | Self::Disk, "kb" | "k") => 1e3,
            (Self::Memory | Self::Disk, "mb" | "m") => 1e6,
            (Self::Memory | Self::Disk, "gb" | "g") => 1e9,
            (Self::Memory | Self::Disk, "tb" | "t") => 1e12,
            (Self::Parameters, "m") => 1e6,
            (Self::Parameters, "b") => 1e9,
            (Self::P50 | Self::P95, "ms") => 1.0,
            (Self::P50 | Self::P95, "s") => 1e3,
            _ => return None,
        };
        let value = number * factor;
        let fits = match self.is_accuracy() {
            true => (0.0..=1.0).contains(&value),
            false => value.is_finite() && value >= 0.0,
        };
        fits.then_some(value)
    }
}

/// A value with the prefix of its size.
pub(super) fn in_units(value: f64, unit: &str, prefixes: &[&str]) -> String {
    let (mut value, mut step) = (value, 0);
    while value >= 999.95 && step + 1 < prefixes.len() {
        value /= 1000.0;
        step += 1;
    }
    match step {
        0 => format!("{value:.0} {unit}").trim_end().to_owned(),
        _ => format!("{value:.1} {}{unit}", prefixes[step]),
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A text that names no quantity, or a value that the quantity cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum UnknownQuantity {
    #[error("unknown quantity `{name}` (known are {})", known())]
    Name { name: String },
    #[error("`{text}` is not of the form NAME=VALUE, as memory=8GB or em=0.4")]
    Form { text: String },
    #[error("`{value}` is no value of {quantity}")]
    Value { quantity: Quantity, value: String },
}

fn known() -> String {
    NAMES.map(|(_, name)| name).join(", ")
}

impl FromStr for Quantity {
    type Err = UnknownQuantity;

    fn from_str(text: &str) -> Result<Self, UnknownQuantity> {
        let named = NAMES.iter().find(|(_, name)| *name == text);
        named
            .map(|(quantity, _)| *quantity)
            .ok_or_else(|| UnknownQuantity::Name {
                name: text.to_owned(),
            })
    }
}

/// A quantity with a value: `memory=8GB`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bound {
    /// The bounded quantity.
    pub quantity: Quantity,
    /// The bound.
    pub value: f64,
}

impl FromStr for Bound {
    type Err = UnknownQuantity;

    fn from_str(text: &str) -> Result<Self, UnknownQuantity> {
        let parts = text.split_once('=');
        let (name, value) = parts.ok_or_else(|| UnknownQuantity::Form {
            text: text.to_owned(),
        })?;
        let quantity: Quantity = name.trim().parse()?;
        let parsed = quantity.value(value.trim());
        let value = parsed.ok_or_else(|| UnknownQuantity::Value {
            quantity,
            value: value.trim().to_owned(),
        })?;
        Ok(Self { quantity, value })
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} {}",
            self.quantity,
            self.quantity.told(self.value)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_with_units() {
        for (text, value) in [
            ("memory=8GB", 8e9),
            ("disk=500 MB", 5e8),
            ("p95_ms=900", 900.0),
            ("p95_ms=1.5s", 1500.0),
            ("em=0.40", 0.4),
            ("parameters=1.7B", 1.7e9),
            ("flop=1e12", 1e12),
        ] {
            let bound: Bound = text.parse().unwrap();
            assert!(
                (bound.value / value - 1.0).abs() < 1e-12,
                "{text}: {bound:?}"
            );
        }
        for (text, expected) in [
            ("memory", "not of the form"),
            ("ram=8GB", "unknown quantity `ram`"),
            ("em=40", "`40` is no value of em"),
            ("memory=8XB", "no value of memory"),
            ("tokens=600GB", "no value of tokens"),
            ("p95_ms=-1", "no value of p95_ms"),
        ] {
            let error = text.parse::<Bound>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert_eq!(
            "memory=8GB".parse::<Bound>().unwrap().to_string(),
            "memory 8.0 GB"
        );
    }
}
