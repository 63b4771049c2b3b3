//! The file of per-question results: written line by line, and resumed after a stop. It is JSON Lines. The first line
//! holds the settings of the run; every other line is a [`Line`]. A line is complete once it ends in a newline, so a
//! killed run loses at most the question that it was writing. A power loss may turn the lines that were not synced
//! yet into zeros: they are dropped, and their questions answered again. Resuming with different settings is refused:
//! one file is one run.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, TryLockError};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use ken_diagnostic::{Action, Remedy};
use ken_storage::{AppendFile, StorageError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::json_line;

/// What a run's results depend on, by name, such as policy, model, corpus generation, k, mode, seed.
pub type RunSettings = BTreeMap<String, String>;

/// The record of one question.
pub trait Line: Clone + Serialize + DeserializeOwned {
    /// The command that writes such files.
    const WRITTEN_BY: Action;

    /// The question's id.
    fn id(&self) -> &str;
}

/// The beginning of the first line of every results file.
const HEADER_START: &[u8] = b"{\"settings\":";

/// Why a results file cannot be used.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ResultsError {
    #[error("cannot {action} the results file {path}: {source}")]
    #[diagnostic(
        kind = "results_file",
        remedy = ken_storage::not_plain_remedy(source, path).unwrap_or_else(|| {
            Remedy::from("check that the folder exists, is writable and has space left")
        })
    )]
    File {
        action: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("another run is writing to the results file {path}")]
    #[diagnostic(
        kind = "results_locked",
        remedy = "wait for the other run, or write to another file"
    )]
    Locked { path: PathBuf },
    #[error("{path} is not a results file: its first line holds no settings")]
    #[diagnostic(remedy = "name a file that such a run wrote, or a new one to write to")]
    NotResults { path: PathBuf },
    #[error("{path} holds a run with other settings: {}", describe(differences))]
    #[diagnostic(
        remedy = "use the settings of the file to resume it; else delete {path} to start over, or name a new file for this run by <out>"
    )]
    OtherSettings {
        path: PathBuf,
        differences: Vec<Difference>,
    },
    #[error("{path}, line {line}, column {column}: not a result: {reason}")]
    #[diagnostic(remedy = "remove that line, and its question is answered again")]
    BadResultLine {
        path: PathBuf,
        line: usize,
        column: usize,
        reason: String,
    },
    #[error("{source}")]
    #[diagnostic(
        forward,
        remedy = "a file is wanted that <*written_by> wrote, as that left it"
    )]
    Unread {
        written_by: Action,
        source: Box<Self>,
    },
}

/// A setting that differs between the file and the run that should resume it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The setting's name.
    pub name: String,
    /// Its value in the file, if it has one there.
    pub recorded: Option<String>,
    /// Its value now, if it has one.
    pub current: Option<String>,
}

impl From<StorageError> for ResultsError {
    fn from(error: StorageError) -> Self {
        Self::File {
            action: error.action,
            path: error.path,
            source: error.source,
        }
    }
}

pub(crate) fn describe(differences: &[Difference]) -> String {
    let value = |v: &Option<String>| v.clone().unwrap_or_else(|| "unset".to_owned());
    let settings = differences.iter().map(|d| {
        let (was, now) = (value(&d.recorded), value(&d.current));
        format!("{} was {was} and is now {now}", d.name)
    });
    settings.collect::<Vec<_>>().join(", ")
}

#[derive(Serialize, Deserialize)]
struct Header {
    settings: RunSettings,
}

/// An open results file, locked for this process.
#[derive(Debug)]
pub struct ResultsFile<L> {
    file: AppendFile,
    settings: RunSettings,
    records: HashMap<String, L>,
}

impl<L: Line> ResultsFile<L> {
    /// Opens `path` to resume the run of `settings`, or starts it if the file is new or empty. Cuts off a partial
    /// last line, and ignores lines that a power loss emptied.
    ///
    /// # Errors
    /// A file that cannot be written, is not a results file, was started with different settings, or has a broken
    /// line other than the last. The file is then unchanged.
    pub fn open(path: &Path, settings: RunSettings) -> Result<Self, ResultsError> {
        let mut file = AppendFile::open(path, |file| lock(file, path))?;
        let bytes = file.read()?;
        let (lines, rest) = bytes.split_at(complete(&bytes));
        let records = if lines.is_empty() {
            if !is_header_cut_short(rest) {
                return Err(ResultsError::NotResults {
                    path: path.to_owned(),
                });
            }
            HashMap::new()
        } else {
            parse(path, lines, Some(&settings))?
        };
        file.truncate(lines.len() as u64)?;
        let is_new = lines.is_empty();
        let mut results = Self {
            file,
            settings,
            records,
        };
        if is_new {
            let settings = results.settings.clone();
            results.append_line(&Header { settings })?;
        }
        results.sync()?;
        Ok(results)
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// The settings of the run.
    pub fn settings(&self) -> &RunSettings {
        &self.settings
    }

    /// The recorded result of the question `id`.
    pub fn get(&self, id: &str) -> Option<&L> {
        self.records.get(id)
    }

    /// Writes one result, replacing an earlier one of the same question. When this returns, the system has the data,
    /// so it survives the end of the process. The data are synced to the disk every few seconds, and by
    /// [`ResultsFile::sync`].
    ///
    /// # Errors
    /// The file cannot be written, for instance on a full disk; earlier results are kept.
    pub fn append(&mut self, record: L) -> Result<(), ResultsError> {
        self.append_line(&record)?;
        self.records.insert(record.id().to_owned(), record);
        Ok(())
    }

    /// Syncs all results to the disk, so that they survive a power loss.
    ///
    /// # Errors
    /// The system cannot sync.
    pub fn sync(&mut self) -> Result<(), ResultsError> {
        Ok(self.file.sync()?)
    }

    fn append_line(&mut self, line: &impl Serialize) -> Result<(), ResultsError> {
        let mut bytes = serde_json::to_vec(line)
            .map_err(std::io::Error::from)
            .map_err(StorageError::new("write", self.file.path()))?;
        bytes.push(b'\n');
        Ok(self.file.append(&bytes)?)
    }
}

fn lock(file: &File, path: &Path) -> Result<(), ResultsError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => ResultsError::Locked {
            path: path.to_owned(),
        },
        TryLockError::Error(source) => StorageError::new("lock", path)(source).into(),
    })
}

/// The length in bytes of the complete lines.
fn complete(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|&b| b == b'\n').map_or(0, |n| n + 1)
}

/// Whether a file without a complete line holds the beginning of a header, or one that a power loss emptied, so that
/// it may be overwritten. Nothing is written after a header before it is synced.
fn is_header_cut_short(text: &[u8]) -> bool {
    let shared = text.len().min(HEADER_START.len());
    text[..shared] == HEADER_START[..shared] || text.iter().all(|byte| *byte == 0)
}

/// The results of a finished or stopped run, whatever its settings, sorted by id.
///
/// # Errors
/// A file that cannot be read, holds other records or has a broken line other than the last: always
/// [`ResultsError::Unread`].
pub fn read_results<L: Line>(path: &Path) -> Result<Vec<L>, ResultsError> {
    let unread = |source| ResultsError::Unread {
        written_by: L::WRITTEN_BY,
        source: Box::new(source),
    };
    let records = read_records(path).map_err(unread)?;
    let mut records: Vec<L> = records.into_values().collect();
    records.sort_by(|a: &L, b| a.id().cmp(b.id()));
    Ok(records)
}

/// The records by id.
///
/// # Errors
/// A file that cannot be read, holds other records or has a broken line other than the last.
pub(crate) fn read_records<L: Line>(path: &Path) -> Result<HashMap<String, L>, ResultsError> {
    let bytes = std::fs::read(path).map_err(StorageError::new("read", path))?;
    parse(path, &bytes[..complete(&bytes)], None)
}

/// The records of a run of `settings`, by id; none if there is no file. Other jobs may read it at the same time.
///
/// # Errors
/// A file that cannot be read, was started with different settings, or has a broken line other than the last.
pub fn read_run<L: Line>(
    path: &Path,
    settings: &RunSettings,
) -> Result<HashMap<String, L>, ResultsError> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(cause) => return Err(StorageError::new("read", path)(cause).into()),
    };
    match complete(&bytes) {
        0 => Ok(HashMap::new()),
        end => parse(path, &bytes[..end], Some(settings)),
    }
}

/// The settings of a finished or stopped run.
///
/// # Errors
/// A file that cannot be read or is not a results file.
pub fn read_settings(path: &Path) -> Result<RunSettings, ResultsError> {
    let mut line = Vec::new();
    File::open(path)
        .and_then(|file| BufReader::new(file).read_until(b'\n', &mut line))
        .map_err(StorageError::new("read", path))?;
    header(path, &line)
}

/// The settings in the first line of a file.
fn header(path: &Path, line: &[u8]) -> Result<RunSettings, ResultsError> {
    let header = serde_json::from_slice(line).map(|header: Header| header.settings);
    header.map_err(|_| ResultsError::NotResults {
        path: path.to_owned(),
    })
}

/// Reads complete lines: the header, which must match `settings` if given, and the records. Of two records of one
/// question the later counts; lines that a power loss emptied are ignored.
fn parse<L: Line>(
    path: &Path,
    lines: &[u8],
    settings: Option<&RunSettings>,
) -> Result<HashMap<String, L>, ResultsError> {
    let mut numbered = lines.split_inclusive(|&b| b == b'\n').zip(1..);
    let recorded = header(path, numbered.next().map_or(&[], |(line, _)| line))?;
    let differing = settings.map_or(Vec::new(), |now| differences(&recorded, now));
    if !differing.is_empty() {
        return Err(ResultsError::OtherSettings {
            path: path.to_owned(),
            differences: differing,
        });
    }
    let mut records = HashMap::new();
    for (bytes, line) in numbered.filter(|(bytes, _)| !AppendFile::is_torn(bytes)) {
        let record: L = json_line::parse(bytes).map_err(|fault| ResultsError::BadResultLine {
            path: path.to_owned(),
            line,
            column: fault.column,
            reason: fault.reason,
        })?;
        records.insert(record.id().to_owned(), record);
    }
    Ok(records)
}

/// The settings that differ.
pub(crate) fn differences(recorded: &RunSettings, current: &RunSettings) -> Vec<Difference> {
    let mut names: Vec<&String> = recorded.keys().chain(current.keys()).collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .filter(|name| recorded.get(*name) != current.get(*name))
        .map(|name| Difference {
            name: name.clone(),
            recorded: recorded.get(name).cloned(),
            current: current.get(name).cloned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Noted {
        id: String,
        note: String,
    }

    impl Line for Noted {
        const WRITTEN_BY: Action = Action::Probe;

        fn id(&self) -> &str {
            &self.id
        }
    }

    fn noted(number: usize) -> Noted {
        Noted {
            id: format!("q{number}"),
            note: "x".repeat(40),
        }
    }

    fn settings() -> RunSettings {
        [("k".to_owned(), "5".to_owned())].into()
    }

    /// A file of ten records, and the offset of its second record.
    fn ten(path: &Path) -> (Vec<u8>, usize) {
        let mut file = ResultsFile::open(path, settings()).unwrap();
        for number in 0..10 {
            file.append(noted(number)).unwrap();
        }
        file.sync().unwrap();
        let bytes = std::fs::read(path).unwrap();
        let mut ends = bytes.iter().zip(1..).filter(|(byte, _)| **byte == b'\n');
        let second = ends.nth(1).unwrap().1;
        (bytes, second)
    }

    #[test]
    fn lines_that_a_power_loss_emptied_count_as_never_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/r.jsonl");
        let (bytes, second) = ten(&path);
        let is_known =
            |file: &ResultsFile<Noted>, number: usize| file.get(&format!("q{number}")).is_some();
        // From inside one record to inside another, the rest of which remains.
        for (start, end, lost) in [
            (second, second + 10, 1..2),
            (second + 5, second + 150, 1..4),
            (second - 1, second + 1, 0..2),
            (bytes.len() - 30, bytes.len(), 9..10),
            (bytes.len() - 1, bytes.len(), 9..10),
        ] {
            let mut torn = bytes.clone();
            torn[start..end].fill(0);
            std::fs::write(&path, torn).unwrap();
            let read: Vec<Noted> = read_results(&path).unwrap();
            assert_eq!(read.len(), 10 - lost.len(), "{start}..{end}");
            assert_eq!(read_settings(&path).unwrap(), settings());
            let mut file = ResultsFile::<Noted>::open(&path, settings()).unwrap();
            for number in 0..10 {
                assert_eq!(is_known(&file, number), !lost.contains(&number), "{number}");
                if lost.contains(&number) {
                    file.append(noted(number)).unwrap();
                }
            }
            drop(file);
            assert_eq!(read_results::<Noted>(&path).unwrap().len(), 10);
        }
    }

    #[test]
    fn a_file_of_which_only_the_name_was_written_is_begun() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.jsonl");
        std::fs::write(&path, [0; 20]).unwrap();
        drop(ResultsFile::<Noted>::open(&path, settings()).unwrap());
        assert_eq!(
            std::fs::read(&path).unwrap(),
            b"{\"settings\":{\"k\":\"5\"}}\n"
        );
    }
}
