//! The flags of `ken plan --capacity`.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use clap::Args;
use ken_index::{DenseLayout, VectorType};
use ken_scale::plan::Bound;

use crate::config::{count, open_share};

/// The help heading of these flags.
const WITH_CAPACITY: &str = "With --capacity";

#[derive(Debug, Args)]
#[group(id = "demand")]
pub(crate) struct CapacityArguments {
    /// Passages of the corpus: 22M, 300k or 21015324
    #[arg(long, value_name = "N", value_parser = passages, allow_negative_numbers = true, requires = "capacity", help_heading = WITH_CAPACITY, hide_short_help = true)]
    pub(crate) passages: Option<NonZeroU64>,

    /// Mean words of a passage, by which texts and lexical index are reckoned
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true, default_value = "100", requires = "capacity", help_heading = WITH_CAPACITY, hide_short_help = true)]
    pub(crate) words: f64,

    /// Dimensions of the embedder's vectors
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU32>, allow_negative_numbers = true, default_value = "384", requires = "capacity", help_heading = WITH_CAPACITY, hide_short_help = true)]
    pub(crate) dimensions: NonZeroU32,

    /// Type of the stored numbers: f32, f16 or int8
    #[arg(long, value_name = "TYPE", value_parser = vector_type, default_value = "f32", requires = "capacity", help_heading = WITH_CAPACITY, hide_short_help = true)]
    pub(crate) vectors: VectorType,

    /// Shards of the corpus; each is built by a job of its own
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU32>, allow_negative_numbers = true, default_value = "1", requires = "capacity", help_heading = WITH_CAPACITY, hide_short_help = true)]
    pub(crate) shards: NonZeroU32,

    /// Share of the nearest passages that a search is to find
    #[arg(long, value_name = "SHARE", value_parser = open_share, allow_negative_numbers = true, default_value = "0.99", requires = "capacity", help_heading = WITH_CAPACITY, hide_short_help = true)]
    pub(crate) recall: f64,

    /// Searches a second
    #[arg(long, value_name = "RATE", value_parser = positive, allow_negative_numbers = true, requires = "capacity", help_heading = WITH_CAPACITY, hide_short_help = true)]
    pub(crate) queries_per_s: Option<f64>,

    /// Passages that one core embeds in a second [default: as measured]
    #[arg(long, value_name = "RATE", value_parser = positive, allow_negative_numbers = true, requires = "capacity", conflicts_with = "embedded_per_gpu", help_heading = WITH_CAPACITY, hide_short_help = true)]
    pub(crate) embedded_per_core: Option<f64>,

    /// Passages that one GPU embeds in a second, if GPUs embed them
    #[arg(long, value_name = "RATE", value_parser = positive, allow_negative_numbers = true, requires = "capacity", help_heading = WITH_CAPACITY, hide_short_help = true)]
    pub(crate) embedded_per_gpu: Option<f64>,

    /// Questions to be probed
    #[arg(long, value_name = "N", value_parser = passages, allow_negative_numbers = true, requires = "capacity", help_heading = WITH_CAPACITY, hide_short_help = true)]
    pub(crate) probe: Option<NonZeroU64>,

    /// Core seconds to probe one of them [default: as measured]
    #[arg(long, value_name = "S", value_parser = positive, allow_negative_numbers = true, requires = "probe", help_heading = WITH_CAPACITY, hide_short_help = true)]
    pub(crate) probe_core_s: Option<f64>,

    /// Cores of one of your machines
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU32>, allow_negative_numbers = true, requires = "capacity", help_heading = WITH_CAPACITY, hide_short_help = true)]
    pub(crate) cores: Option<NonZeroU32>,

    /// Memory of one of your machines, such as 64GB
    #[arg(long, value_name = "SIZE", value_parser = bytes, allow_negative_numbers = true, requires = "capacity", help_heading = WITH_CAPACITY, hide_short_help = true)]
    pub(crate) memory: Option<f64>,

    /// Write the report to DIR as well
    #[arg(long, value_name = "DIR", requires = "capacity", help_heading = WITH_CAPACITY, hide_short_help = true)]
    pub(crate) out: Option<PathBuf>,
}

/// Reads a count, which may end on k, M or B.
fn passages(text: &str) -> Result<NonZeroU64, String> {
    let (number, factor) = match text.strip_suffix(['k', 'M', 'B']) {
        Some(number) if text.ends_with('k') => (number, 1e3),
        Some(number) if text.ends_with('M') => (number, 1e6),
        Some(number) => (number, 1e9),
        None => (text, 1.0),
    };
    let count = number.parse().map(|number: f64| (number * factor).round());
    let count = count.ok().filter(|count| (1.0..1e15).contains(count));
    count
        .and_then(|count| NonZeroU64::new(count as u64))
        .ok_or_else(|| "a count is expected, at least 1, such as 22M or 300k".to_owned())
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("a number above 0 is expected".to_owned()),
    }
}

fn vector_type(text: &str) -> Result<VectorType, String> {
    let layout = format!("disk:{text}").parse::<DenseLayout>();
    let layout = layout.map_err(|_| "f32, f16 or int8 is expected".to_owned())?;
    Ok(layout.vectors)
}

fn bytes(text: &str) -> Result<f64, String> {
    match format!("memory={text}").parse::<Bound>() {
        Ok(bound) if bound.value > 0.0 => Ok(bound.value),
        _ => Err("a size is expected, such as 64GB".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_sizes_have_units() {
        for (text, expected) in [
            ("22M", 22_000_000),
            ("1.5k", 1500),
            ("0.264B", 264_000_000),
            ("21015324", 21_015_324),
            ("3e6", 3_000_000),
        ] {
            assert_eq!(passages(text).map(NonZeroU64::get), Ok(expected), "{text}");
        }
        for bad in ["0", "-1", "M", "22 MB", "1e15", "NaN", ""] {
            assert!(passages(bad).is_err(), "{bad}");
        }
        assert_eq!(bytes("64GB"), Ok(64e9));
        assert!(bytes("0").is_err() && bytes("64XB").is_err());
        assert_eq!(vector_type("int8"), Ok(VectorType::Int8));
        assert!(vector_type("f8").is_err() && positive("-2").is_err());
    }
}
