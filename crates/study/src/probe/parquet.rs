//! Probe records as a Parquet table, one row a question. Numbers and names are columns; samples and
//! evidence are columns of JSON, as they stand in the records.

use std::path::Path;

use ken_probe::Effect;
use serde_json::to_vec;

use super::record::ProbeRecord;
use crate::table::Column::{Json, Number, Text};
use crate::table::{ExportError, write_table};

/// Writes records to `path`, in the place of what stands there, at once or not at all.
///
/// # Errors
/// A file that cannot be written.
pub fn write_parquet(path: &Path, records: &[ProbeRecord]) -> Result<(), ExportError> {
    let columns = [
        ("id", Text(|one: &ProbeRecord| Some(&one.id))),
        ("question", Text(|one| Some(&one.question))),
        ("golden_answers", Json(|one| to_vec(&one.golden_answers))),
        ("confidence_self", Number(|one| one.confidence.from_self)),
        ("confidence_corpus", Number(|one| one.confidence.corpus)),
        ("confidence_masked", Number(|one| one.confidence.masked)),
        ("certainty_self", Number(|one| one.certainty.from_self)),
        ("certainty_corpus", Number(|one| one.certainty.corpus)),
        ("certainty_masked", Number(|one| one.certainty.masked)),
        (
            "effect_confidence",
            Text(|one| one.effect.confidence.map(name)),
        ),
        (
            "effect_certainty",
            Text(|one| one.effect.certainty.map(name)),
        ),
        ("judgment", Number(|one| one.judgment)),
        ("eigenscore", Number(|one| one.eigenscore)),
        ("likeliest", Json(|one| to_vec(&one.greedy))),
        ("samples", Json(|one| to_vec(&one.samples))),
        ("evidence", Json(|one| to_vec(&one.evidence))),
        ("error", Text(|one| Some(&one.error.as_ref()?.message))),
        ("model", Text(|one| Some(&one.fingerprint.model))),
        ("corpus", Text(|one| one.fingerprint.corpus.as_deref())),
        ("prompt", Text(|one| Some(&one.fingerprint.prompt))),
    ];
    write_table(path, "probe", records, &columns)
}

fn name(effect: Effect) -> &'static str {
    match effect {
        Effect::Beneficial => "beneficial",
        Effect::Neutral => "neutral",
        Effect::Harmful => "harmful",
    }
}
