//! Mastery records as a Parquet table, one row a sentence. The pairs are a column of JSON, as they
//! stand in the records.

use std::path::Path;

use serde_json::to_vec;

use super::record::MasteryRecord;
use crate::table::Column::{Count, Json, Number, Text};
use crate::table::{ExportError, write_table};

/// Writes records to `path`, in the place of what stands there, at once or not at all.
///
/// # Errors
/// A file that cannot be written.
pub fn write_mastery_parquet(path: &Path, records: &[MasteryRecord]) -> Result<(), ExportError> {
    let columns = [
        ("id", Text(|one: &MasteryRecord| Some(&one.id))),
        ("passage_id", Text(|one| Some(&one.passage_id))),
        ("title", Text(|one| Some(&one.title))),
        ("sentence", Text(|one| Some(&one.sentence))),
        ("mastery", Number(|one| one.mastery)),
        (
            "interval_low",
            Number(|one| one.interval.map(|[low, _]| low)),
        ),
        (
            "interval_high",
            Number(|one| one.interval.map(|[_, high]| high)),
        ),
        ("wanted", Count(|one| one.wanted)),
        ("pairs", Json(|one| to_vec(&one.pairs))),
        ("dropped", Json(|one| to_vec(&one.dropped))),
        ("error", Text(|one| Some(&one.error.as_ref()?.message))),
        ("model", Text(|one| Some(&one.fingerprint.model))),
        ("writer", Text(|one| Some(&one.fingerprint.writer))),
        ("corpus", Text(|one| Some(&one.fingerprint.corpus))),
        ("prompt", Text(|one| Some(&one.fingerprint.prompt))),
    ];
    write_table(path, "mastery", records, &columns)
}
