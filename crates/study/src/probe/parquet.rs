//! Probe records as a Parquet table, one row a question. Numbers and names are columns; samples and
//! evidence are columns of JSON, as they stand in the records.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ken_probe::Effect;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use serde::Serialize;

use super::record::ProbeRecord;

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
    OPTIONAL BYTE_ARRAY samples (JSON);
    OPTIONAL BYTE_ARRAY evidence (JSON);
    OPTIONAL BYTE_ARRAY error (UTF8);
    OPTIONAL BYTE_ARRAY model (UTF8);
    OPTIONAL BYTE_ARRAY corpus (UTF8);
    OPTIONAL BYTE_ARRAY prompt (UTF8);
}";

/// Why records could not be written as a table.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the table {path}: {source}")]
pub struct ExportError {
    /// The table.
    pub path: PathBuf,
    /// What went wrong.
    pub source: ParquetError,
}

impl ExportError {
    /// A short name for machines.
    pub fn kind(&self) -> &'static str {
        "table_file"
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some("check that the folder exists, is writable and has space left".to_owned())
    }
}

/// Writes records to `path`, in the place of what stands there, at once or not at all.
///
/// # Errors
/// A file that cannot be written.
pub fn write_parquet(path: &Path, records: &[ProbeRecord]) -> Result<(), ExportError> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    let written = write(&unfinished, records)
        .and_then(|()| fs::rename(&unfinished, path).map_err(ParquetError::from));
    written.map_err(|source| {
        // What was begun is of no use, and may be what filled the disk.
        let _ = fs::remove_file(&unfinished);
        ExportError {
            path: path.to_owned(),
            source,
        }
    })
}

fn write(path: &Path, records: &[ProbeRecord]) -> Result<(), ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let file = File::create(path)?;
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build()))?;
    let mut rows = writer.next_row_group()?;
    let text = |value: &str| Some(ByteArray::from(value));
    let mut texts = |value: &dyn Fn(&ProbeRecord) -> Option<ByteArray>| {
        column::<ByteArrayType>(&mut rows, records.iter().map(value))
    };
    texts(&|record| text(&record.id))?;
    texts(&|record| text(&record.question))?;
    texts(&|record| json(&record.golden_answers))?;
    for indicator in [
        |record: &ProbeRecord| record.confidence,
        |record: &ProbeRecord| record.certainty,
    ] {
        let mut numbers = |value: &dyn Fn(&ProbeRecord) -> Option<f64>| {
            column::<DoubleType>(&mut rows, records.iter().map(value))
        };
        numbers(&|record| indicator(record).from_self)?;
        numbers(&|record| indicator(record).corpus)?;
        numbers(&|record| indicator(record).masked)?;
    }
    let mut texts = |value: &dyn Fn(&ProbeRecord) -> Option<ByteArray>| {
        column::<ByteArrayType>(&mut rows, records.iter().map(value))
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
    texts(&|record| json(&record.samples))?;
    texts(&|record| json(&record.evidence))?;
    texts(&|record| record.error.as_ref().and_then(|error| text(&error.message)))?;
    texts(&|record| text(&record.fingerprint.model))?;
    texts(&|record| record.fingerprint.corpus.as_deref().and_then(text))?;
    texts(&|record| text(&record.fingerprint.prompt))?;
    rows.close()?;
    writer.close()?;
    Ok(())
}

fn name(effect: Effect) -> &'static str {
    match effect {
        Effect::Beneficial => "beneficial",
        Effect::Neutral => "neutral",
        Effect::Harmful => "harmful",
    }
}

fn json(value: &impl Serialize) -> Option<ByteArray> {
    serde_json::to_vec(value).ok().map(ByteArray::from)
}

/// Writes the next column.
fn column<T: DataType>(
    rows: &mut SerializedRowGroupWriter<'_, File>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let values: Vec<Option<T::T>> = values.collect();
    let present: Vec<i16> = values
        .iter()
        .map(|value| i16::from(value.is_some()))
        .collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    let mut column = rows
        .next_column()?
        .ok_or_else(|| ParquetError::General("more values than columns".to_owned()))?;
    column
        .typed::<T>()
        .write_batch(&values, Some(&present), None)?;
    column.close()
}
