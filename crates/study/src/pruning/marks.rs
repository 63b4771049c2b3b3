//! The file that names passages to prune, a line of JSON each.

use std::path::Path;

use ken_corpus::{PassageId, PruneMark};
use serde::Deserialize;

use super::error::PruningError;
use crate::json_line;

/// One line of it.
#[derive(Deserialize)]
struct MarkLine {
    passage_id: PassageId,
    #[serde(default)]
    score: f64,
    #[serde(default)]
    reason: String,
}

/// Reads the passages that a file names.
///
/// # Errors
/// A file that cannot be read, or a line that names none.
pub fn read_marks(path: &Path) -> Result<Vec<PruneMark>, PruningError> {
    let lines = json_line::read("read", path, |line, source| PruningError::BadMark {
        path: path.to_owned(),
        line,
        source,
    })?;
    let marks = lines.into_iter().map(|line: MarkLine| PruneMark {
        passage_id: line.passage_id,
        score: line.score,
        reason: line.reason,
    });
    Ok(marks.collect())
}
