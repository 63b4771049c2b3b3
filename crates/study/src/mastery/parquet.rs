//! Mastery records as a Parquet table, one row a sentence. The pairs are a column of JSON, as they
//! stand in the records.

use std::path::Path;

use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;

use super::record::MasteryRecord;
use crate::table::{ExportError, Rows, column, json, write_table};

const SCHEMA: &str = "message mastery {
    OPTIONAL BYTE_ARRAY id (UTF8);
    OPTIONAL BYTE_ARRAY passage_id (UTF8);
    OPTIONAL BYTE_ARRAY title (UTF8);
    OPTIONAL BYTE_ARRAY sentence (UTF8);
    OPTIONAL DOUBLE mastery;
    OPTIONAL DOUBLE interval_low;
    OPTIONAL DOUBLE interval_high;
    OPTIONAL INT64 wanted;
    OPTIONAL BYTE_ARRAY pairs (JSON);
    OPTIONAL BYTE_ARRAY dropped (JSON);
    OPTIONAL BYTE_ARRAY error (UTF8);
    OPTIONAL BYTE_ARRAY model (UTF8);
    OPTIONAL BYTE_ARRAY writer (UTF8);
    OPTIONAL BYTE_ARRAY corpus (UTF8);
    OPTIONAL BYTE_ARRAY prompt (UTF8);
}";

/// Writes records to `path`, in the place of what stands there, at once or not at all.
///
/// # Errors
/// A file that cannot be written.
pub fn write_mastery_parquet(path: &Path, records: &[MasteryRecord]) -> Result<(), ExportError> {
    write_table(path, SCHEMA, |rows| columns(rows, records))
}

fn columns(rows: &mut Rows<'_>, records: &[MasteryRecord]) -> Result<(), ParquetError> {
    let text = |value: &str| Some(ByteArray::from(value));
    let texts = |rows: &mut Rows<'_>, value: &dyn Fn(&MasteryRecord) -> Option<ByteArray>| {
        column::<ByteArrayType>(rows, records.iter().map(value))
    };
    let numbers = |rows: &mut Rows<'_>, value: &dyn Fn(&MasteryRecord) -> Option<f64>| {
        column::<DoubleType>(rows, records.iter().map(value))
    };
    texts(rows, &|record| text(&record.id))?;
    texts(rows, &|record| text(&record.passage_id))?;
    texts(rows, &|record| text(&record.title))?;
    texts(rows, &|record| text(&record.sentence))?;
    numbers(rows, &|record| record.mastery)?;
    numbers(rows, &|record| record.interval.map(|[low, _]| low))?;
    numbers(rows, &|record| record.interval.map(|[_, high]| high))?;
    let wanted = records
        .iter()
        .map(|record| i64::try_from(record.wanted).ok());
    column::<Int64Type>(rows, wanted)?;
    texts(rows, &|record| json(&record.pairs))?;
    texts(rows, &|record| json(&record.dropped))?;
    texts(rows, &|record| {
        record.error.as_ref().and_then(|error| text(&error.message))
    })?;
    texts(rows, &|record| text(&record.fingerprint.model))?;
    texts(rows, &|record| text(&record.fingerprint.writer))?;
    texts(rows, &|record| text(&record.fingerprint.corpus))?;
    texts(rows, &|record| text(&record.fingerprint.prompt))
}
