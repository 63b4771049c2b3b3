//! The file that names passages to prune, a line of JSON each.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use ken_corpus::{PassageId, PruneMark};
use serde::Deserialize;

use super::error::PruningError;

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
    let unreadable = |source| PruningError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let mut marks = Vec::new();
    let lines = BufReader::new(File::open(path).map_err(unreadable)?).lines();
    for (number, line) in (1..).zip(lines) {
        let line = line.map_err(unreadable)?;
        if line.trim().is_empty() {
            continue;
        }
        let mark: MarkLine =
            serde_json::from_str(&line).map_err(|source| PruningError::BadMark {
                path: path.to_owned(),
                line: number,
                source,
            })?;
        marks.push(PruneMark {
            passage_id: mark.passage_id,
            score: mark.score,
            reason: mark.reason,
        });
    }
    Ok(marks)
}
