//! Why a part cannot be started, resumed or joined, with the remedy beside the message.

use std::path::PathBuf;

use ken_storage::StorageError;

use super::Part;
use crate::results::{Difference, ResultsError, describe};
use crate::run::RunError;

/// Most parts that a message lists.
const LISTED: usize = 20;

/// Why a part cannot be started, resumed or joined. Nothing was changed.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum PartError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Results(#[from] ResultsError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error("{path} is not the folder of a part")]
    #[diagnostic(remedy = "name folders that runs with <part> wrote")]
    NotAPart { path: PathBuf },
    #[error("{path} cannot be read as a part: {reason}")]
    #[diagnostic(
        remedy = "delete that file and run the command of this part again: no record is lost"
    )]
    BrokenPart { path: PathBuf, reason: String },
    #[error("{path} holds a part of another run: {}", describe(differences))]
    #[diagnostic(
        kind = "other_run",
        remedy = "use the questions and settings of that run to resume it; else name another place by <out>"
    )]
    Begun {
        path: PathBuf,
        differences: Vec<Difference>,
    },
    #[error(
        "{path} is a part of another run than {first}: {}",
        describe(differences)
    )]
    #[diagnostic(
        remedy = "join parts of one run only; those of another have to be measured with the questions and settings of this one"
    )]
    OtherRun {
        path: PathBuf,
        first: PathBuf,
        differences: Vec<Difference>,
    },
    #[error("part {part} is there twice: {one} and {other}")]
    #[diagnostic(kind = "part_twice", remedy = "leave one of the two out")]
    Twice {
        part: Part,
        one: PathBuf,
        other: PathBuf,
    },
    #[error("these parts are missing: {}", listed(parts))]
    #[diagnostic(
        kind = "part_missing",
        remedy = "name their folders as well, and measure a part that has none by <part> I/N"
    )]
    Missing { parts: Vec<Part> },
    #[error("{path} has {done} of its {total} {items}")]
    #[diagnostic(
        kind = "part_unfinished",
        remedy = "run the command of this part again to resume it"
    )]
    Unfinished {
        path: PathBuf,
        done: usize,
        total: usize,
        items: &'static str,
    },
}

/// The first parts, and how many more there are.
fn listed(parts: &[Part]) -> String {
    let first: Vec<String> = parts.iter().take(LISTED).map(Part::to_string).collect();
    match parts.len().saturating_sub(LISTED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
