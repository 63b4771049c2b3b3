//! The file that names passages to prune, a line of JSON each.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use ken_corpus::{PassageId, PruneMark};
use serde::Deserialize;

use crate::failure::{Context, Refusal, Result};

/// One line of the file that names passages to prune.
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
pub(super) fn read_marks(path: &Path) -> Result<Vec<PruneMark>> {
    let file = File::open(path).context(|| format!("cannot read {}", path.display()))?;
    let mut marks = Vec::new();
    for (number, line) in (1..).zip(BufReader::new(file).lines()) {
        let line = line.context(|| format!("cannot read {}", path.display()))?;
        if line.trim().is_empty() {
            continue;
        }
        let mark: MarkLine = serde_json::from_str(&line).map_err(|error| {
            let message = format!("{}:{number}: {error}", path.display());
            Refusal::new("bad_prune_line", message).hinting(
                "a line is {\"passage_id\": \"a.md#3\", \"score\": 0.9, \"reason\": \"known\"}; nothing was changed",
            )
        })?;
        marks.push(PruneMark {
            passage_id: mark.passage_id,
            score: mark.score,
            reason: mark.reason,
        });
    }
    Ok(marks)
}
