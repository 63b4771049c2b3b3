//! Probe records as a Parquet table, one row a question. Numbers and names are columns; samples and
//! evidence are columns of JSON, as they stand in the records.

use std::path::Path;

use ken_probe::Effect;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;

use super::record::ProbeRecord;
use crate::table::{ExportError, Rows, column, json, write_table};

const SCHEMA: &str = "message probe {
    OPTIONAL BYTE_ARRAY id (UTF8);
    OPTIONAL BYTE_ARRAY question (UTF8);
    OPTIONAL BYTE_ARRAY golden_answers (JSON);
    OPTIONAL DOUBLE confidence_self;
    OPTIONAL DOUBLE confidence_corpus;
    OPTIONAL DOUBLE confidence_masked;
    OPTIONAL DOUBLE certainty_self;
    OPTIONAL DOUBLE certainty_corpus;
    OPTIONAL DOUBLE certainty_masked;
    OPTIONAL BYTE_ARRAY effect_confidence (UTF8);
    OPTIONAL BYTE_ARRAY effect_certainty (UTF8);
    OPTIONAL DOUBLE judgment;
    OPTIONAL DOUBLE eigenscore;
    OPTIONAL BYTE_ARRAY likeliest (JSON);
    OPTIONAL BYTE_ARRAY samples (JSON);
    OPTIONAL BYTE_ARRAY evidence (JSON);
    OPTIONAL BYTE_ARRAY error (UTF8);
    OPTIONAL BYTE_ARRAY model (UTF8);
    OPTIONAL BYTE_ARRAY corpus (UTF8);
    OPTIONAL BYTE_ARRAY prompt (UTF8);
}";

/// Writes records to `path`, in the place of what stands there, at once or not at all.
///
/// # Errors
/// A file that cannot be written.
pub fn write_parquet(path: &Path, records: &[ProbeRecord]) -> Result<(), ExportError> {
    write_table(path, SCHEMA, |rows| columns(rows, records))
}

fn columns(rows: &mut Rows<'_>, records: &[ProbeRecord]) -> Result<(), ParquetError> {
    let text = |value: &str| Some(ByteArray::from(value));
    let mut texts = |value: &dyn Fn(&ProbeRecord) -> Option<ByteArray>| {
        column::<ByteArrayType>(rows, records.iter().map(value))
    };
    texts(&|record| text(&record.id))?;
    texts(&|record| text(&record.question))?;
    texts(&|record| json(&record.golden_answers))?;
    for indicator in [
        |record: &ProbeRecord| record.confidence,
        |record: &ProbeRecord| record.certainty,
    ] {
        let mut numbers = |value: &dyn Fn(&ProbeRecord) -> Option<f64>| {
            column::<DoubleType>(rows, records.iter().map(value))
        };
        numbers(&|record| indicator(record).from_self)?;
        numbers(&|record| indicator(record).corpus)?;
        numbers(&|record| indicator(record).masked)?;
    }
    let mut texts = |value: &dyn Fn(&ProbeRecord) -> Option<ByteArray>| {
        column::<ByteArrayType>(rows, records.iter().map(value))
    };
    texts(&|record| {
        record
            .effect
            .confidence
            .and_then(|effect| text(name(effect)))
    })?;
    texts(&|record| {
        record
            .effect
            .certainty
            .and_then(|effect| text(name(effect)))
    })?;
    for value in [
        |record: &ProbeRecord| record.judgment,
        |record: &ProbeRecord| record.eigenscore,
    ] {
        column::<DoubleType>(rows, records.iter().map(value))?;
    }
    let mut texts = |value: &dyn Fn(&ProbeRecord) -> Option<ByteArray>| {
        column::<ByteArrayType>(rows, records.iter().map(value))
    };
    texts(&|record| json(&record.greedy))?;
    texts(&|record| json(&record.samples))?;
    texts(&|record| json(&record.evidence))?;
    texts(&|record| record.error.as_ref().and_then(|error| text(&error.message)))?;
    texts(&|record| text(&record.fingerprint.model))?;
    texts(&|record| record.fingerprint.corpus.as_deref().and_then(text))?;
    texts(&|record| text(&record.fingerprint.prompt))
}

fn name(effect: Effect) -> &'static str {
    match effect {
        Effect::Beneficial => "beneficial",
        Effect::Neutral => "neutral",
        Effect::Harmful => "harmful",
    }
}
