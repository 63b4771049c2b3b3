//! What was measured, as `measurements.json` has it.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::error::CapacityError;
use super::estimate::Estimate;

/// The sizes that growth takes: two to fit a line, and one to tell how far off it is.
pub(super) const LEAST_SIZES: usize = 3;

/// What was measured: raw points, with where they are recorded.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Measurements {
    /// One graph on disk, at several sizes.
    pub(super) growth: Series<Row>,
    /// Texts and lexical indexes of corpora.
    pub(super) texts: Series<TextRow>,
    /// Bytes of memory of the writer of a lexical index.
    pub(super) lexical_writer: Constant,
    /// Passages that a core embeds in a second.
    pub(super) embedding: Constant,
    /// Core seconds to probe a question.
    pub(super) probing: Constant,
}

/// Rows of one kind.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Series<R> {
    /// Where they are recorded.
    pub(super) source: String,
    /// How they were measured.
    pub(super) conditions: String,
    pub(super) rows: Vec<R>,
}

/// A graph on disk of one size, with one effort of searches. What was not measured is `None`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Row {
    pub(super) vectors: u64,
    pub(super) dimensions: u32,
    pub(super) build_s: Option<f64>,
    pub(super) build_threads: Option<f64>,
    pub(super) build_peak_bytes: Option<f64>,
    pub(super) file_bytes: Option<f64>,
    pub(super) resident_bytes: Option<f64>,
    pub(super) p50_ms: Option<f64>,
    pub(super) p99_ms: Option<f64>,
    /// Of one thread.
    pub(super) queries_per_s: Option<f64>,
    pub(super) recall: Option<f64>,
}

/// Means over the passages of a corpus.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct TextRow {
    pub(super) words: f64,
    pub(super) text_bytes: f64,
    pub(super) lexical_bytes: f64,
}

/// What does not depend on the number of passages.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Constant {
    /// How it was measured.
    pub(super) conditions: String,
    points: Vec<Point>,
}

/// An amount, and what it is divided by.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Point {
    amount: f64,
    over: f64,
    source: String,
}

impl Measurements {
    /// Those of this version of the program.
    ///
    /// # Errors
    /// As those of [`Measurements::read`].
    pub fn embedded() -> Result<Self, CapacityError> {
        Self::read(include_str!("measurements.json"))
    }

    /// Measurements in the form of `measurements.json`.
    ///
    /// # Errors
    /// What cannot be read, numbers that are not above 0, growth over fewer than three sizes.
    pub fn read(json: &str) -> Result<Self, CapacityError> {
        let measurements: Self =
            serde_json::from_str(json).map_err(CapacityError::BrokenMeasurements)?;
        let rows = &measurements.growth.rows;
        rows.iter().try_for_each(Row::check)?;
        let sizes = rows.iter().map(|row| row.vectors).collect::<BTreeSet<_>>();
        match sizes.len() {
            sizes if sizes < LEAST_SIZES => Err(CapacityError::TooFewSizes { sizes }),
            _ => Ok(measurements),
        }
    }
}

impl Row {
    fn check(&self) -> Result<(), CapacityError> {
        let fields = [
            ("vectors", Some(self.vectors as f64)),
            ("dimensions", Some(self.dimensions.into())),
            ("build_s", self.build_s),
            ("build_threads", self.build_threads),
            ("build_peak_bytes", self.build_peak_bytes),
            ("file_bytes", self.file_bytes),
            ("resident_bytes", self.resident_bytes),
            ("p50_ms", self.p50_ms),
            ("p99_ms", self.p99_ms),
            ("queries_per_s", self.queries_per_s),
            ("recall", self.recall),
        ];
        let mut known = fields
            .into_iter()
            .filter_map(|(field, value)| Some((field, value?)));
        match known.find(|(_, value)| *value <= 0.0) {
            Some((field, value)) => Err(CapacityError::BadMeasurement {
                vectors: self.vectors,
                field,
                value,
            }),
            None => Ok(()),
        }
    }
}

impl Constant {
    /// Its median, and the ends of what was measured; `None` without points.
    pub(super) fn estimate(&self) -> Option<Estimate> {
        let values = self.points.iter().map(|point| point.amount / point.over);
        Estimate::among(&values.collect::<Vec<_>>())
    }

    /// Where the points are recorded.
    pub(super) fn source(&self) -> String {
        let sources: BTreeSet<&str> = self.points.iter().map(|p| p.source.as_str()).collect();
        sources.into_iter().collect::<Vec<_>>().join(", ")
    }
}
