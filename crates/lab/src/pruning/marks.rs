//! Files of passages to prune and of scores of passages, as JSON lines.

use std::io::Write;
use std::path::Path;

use ken_corpus::{PassageId, PruneMark};
use ken_eval::json_line;
use ken_storage::{AtomicFile, StorageError};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::PruningError;

/// A passage with its score.
#[derive(Deserialize)]
struct ScoreLine {
    passage_id: PassageId,
    score: f64,
}

/// Reads a file of marks.
///
/// # Errors
/// A file that cannot be read, or a line that is not a mark.
pub fn read_marks(path: &Path) -> Result<Vec<PruneMark>, PruningError> {
    lines(path)
}

/// Reads a file of scores.
///
/// # Errors
/// A file that cannot be read, or a line without a passage or a score.
pub fn read_scores(path: &Path) -> Result<Vec<PruneMark>, PruningError> {
    let scores = lines(path)?
        .into_iter()
        .map(|line: ScoreLine| PruneMark::new(line.passage_id, line.score, ""));
    Ok(scores.collect())
}

fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, PruningError> {
    json_line::read("read", path, |line, source| PruningError::BadPruneLine {
        path: path.to_owned(),
        line,
        source,
    })
}

/// Writes a file of marks.
///
/// # Errors
/// A file that cannot be written.
pub fn write_marks(path: &Path, marks: &[PruneMark]) -> Result<(), PruningError> {
    let mut file = AtomicFile::output(path)?;
    for mark in marks {
        serde_json::to_writer(&mut file, mark)
            .map_err(std::io::Error::from)
            .and_then(|()| file.write_all(b"\n"))
            .map_err(StorageError::new("write", path))?;
    }
    Ok(file.commit()?)
}
