//! Labels as a Parquet table, one row a question. Names are columns; contexts and what each source is
//! worth are columns of JSON, as they stand in the records.

use std::path::Path;

use serde_json::to_vec;

use super::record::SourceRecord;
use crate::table::Column::{Json, Text};
use crate::table::{ExportError, write_table};

/// Writes records to `path`, in the place of what stands there, at once or not at all.
///
/// # Errors
/// A file that cannot be written.
pub fn write_sources_parquet(path: &Path, records: &[SourceRecord]) -> Result<(), ExportError> {
    let columns = [
        ("id", Text(|one: &SourceRecord| Some(&one.id))),
        ("question", Text(|one| Some(&one.question))),
        ("golden_answers", Json(|one| to_vec(&one.golden_answers))),
        ("golden_answer", Text(|one| one.golden_answer.as_deref())),
        (
            "preferred_majority",
            Text(|one| Some(&one.preferred.as_ref()?.majority)),
        ),
        (
            "preferred_sum",
            Text(|one| Some(&one.preferred.as_ref()?.sum)),
        ),
        ("contexts", Json(|one| to_vec(&one.contexts))),
        ("sources", Json(|one| to_vec(&one.sources))),
        ("error", Text(|one| Some(&one.error.as_ref()?.message))),
        ("model", Text(|one| Some(&one.fingerprint.model))),
        ("corpora", Json(|one| to_vec(&one.fingerprint.corpora))),
        ("prompt", Text(|one| Some(&one.fingerprint.prompt))),
        ("verbalize", Text(|one| Some(&one.fingerprint.verbalize))),
    ];
    write_table(path, "sources", records, &columns)
}
