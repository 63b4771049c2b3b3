//! Labels as a Parquet table, one row a question. Names are columns; contexts and what each source is
//! worth are columns of JSON, as they stand in the records.

use std::path::Path;

use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::errors::ParquetError;

use super::record::SourceRecord;
use crate::table::{ExportError, Rows, column, json, write_table};

const SCHEMA: &str = "message sources {
    OPTIONAL BYTE_ARRAY id (UTF8);
    OPTIONAL BYTE_ARRAY question (UTF8);
    OPTIONAL BYTE_ARRAY golden_answers (JSON);
    OPTIONAL BYTE_ARRAY golden_answer (UTF8);
    OPTIONAL BYTE_ARRAY preferred_majority (UTF8);
    OPTIONAL BYTE_ARRAY preferred_sum (UTF8);
    OPTIONAL BYTE_ARRAY contexts (JSON);
    OPTIONAL BYTE_ARRAY sources (JSON);
    OPTIONAL BYTE_ARRAY error (UTF8);
    OPTIONAL BYTE_ARRAY model (UTF8);
    OPTIONAL BYTE_ARRAY corpora (JSON);
    OPTIONAL BYTE_ARRAY prompt (UTF8);
    OPTIONAL BYTE_ARRAY verbalize (UTF8);
}";

/// Writes records to `path`, in the place of what stands there, at once or not at all.
///
/// # Errors
/// A file that cannot be written.
pub fn write_sources_parquet(path: &Path, records: &[SourceRecord]) -> Result<(), ExportError> {
    write_table(path, SCHEMA, |rows| columns(rows, records))
}

fn columns(rows: &mut Rows<'_>, records: &[SourceRecord]) -> Result<(), ParquetError> {
    let text = |value: &str| Some(ByteArray::from(value));
    let mut texts = |value: &dyn Fn(&SourceRecord) -> Option<ByteArray>| {
        column::<ByteArrayType>(rows, records.iter().map(value))
    };
    texts(&|record| text(&record.id))?;
    texts(&|record| text(&record.question))?;
    texts(&|record| json(&record.golden_answers))?;
    texts(&|record| record.golden_answer.as_deref().and_then(text))?;
    texts(&|record| text(&record.preferred.as_ref()?.majority))?;
    texts(&|record| text(&record.preferred.as_ref()?.sum))?;
    texts(&|record| json(&record.contexts))?;
    texts(&|record| json(&record.sources))?;
    texts(&|record| record.error.as_ref().and_then(|error| text(&error.message)))?;
    texts(&|record| text(&record.fingerprint.model))?;
    texts(&|record| json(&record.fingerprint.corpora))?;
    texts(&|record| text(&record.fingerprint.prompt))?;
    texts(&|record| text(&record.fingerprint.verbalize))
}
