//! The file of per-question results: appended to line by line, and resumed after a stop.
//!
//! JSON Lines. The first line holds the settings of the run; every other line is a [`Line`]. A
//! line is complete once it ends in a newline, so a run killed while writing loses at most the
//! question it was writing. Resuming with other settings is refused: one file is one run.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::json_line;

/// What a run's results depend on, by name: policy, model, corpus generation, k, mode, seed.
pub type Settings = BTreeMap<String, String>;

/// What is kept of one question.
pub trait Line: Clone + Serialize + DeserializeOwned {
    /// The question's id.
    fn id(&self) -> &str;
}

/// A line that other commands read.
pub trait Recorded: Line {
    /// The command that writes files of such lines.
    const WRITTEN_BY: &'static str;
}

/// How the first line of every results file begins.
const HEADER_START: &[u8] = b"{\"settings\":";

/// Why a results file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The system refused to open, read or write the file.
    #[error("cannot {action} the results file {path}: {source}")]
    File {
        /// What was tried.
        action: &'static str,
        /// The results file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Another run has the file open.
    #[error("another run is writing to the results file {path}")]
    Locked {
        /// The results file.
        path: PathBuf,
    },
    /// The file was not written by such a run.
    #[error("{path} is not a results file: its first line holds no settings")]
    NotResults {
        /// The file.
        path: PathBuf,
    },
    /// The file was begun with other settings.
    #[error("{path} holds a run with other settings: {}", describe(differences))]
    OtherSettings {
        /// The results file.
        path: PathBuf,
        /// Every setting that differs.
        differences: Vec<Difference>,
    },
    /// A complete line is not a result.
    #[error("{path}, line {line}, column {column}: not a result: {reason}")]
    BadLine {
        /// The results file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in bytes.
        column: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// What another command was to have written cannot be read.
    #[error("{source}")]
    Unread {
        /// The command that writes such a file.
        written_by: &'static str,
        /// Why it cannot be read.
        source: Box<Self>,
    },
}

/// A setting that differs between the file and the run that wants to resume it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The setting's name.
    pub name: String,
    /// Its value in the file, if it has one there.
    pub recorded: Option<String>,
    /// Its value now, if it has one.
    pub current: Option<String>,
}

fn describe(differences: &[Difference]) -> String {
    let value = |v: &Option<String>| v.clone().unwrap_or_else(|| "unset".to_owned());
    let each = differences.iter().map(|d| {
        let (was, now) = (value(&d.recorded), value(&d.current));
        format!("{} was {was} and is now {now}", d.name)
    });
    each.collect::<Vec<_>>().join(", ")
}

impl ResultsError {
    /// A short name for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::File { .. } => "results_file",
            Self::Locked { .. } => "results_locked",
            Self::NotResults { .. } => "not_results",
            Self::OtherSettings { .. } => "other_settings",
            Self::BadLine { .. } => "bad_result_line",
            Self::Unread { source, .. } => source.kind(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let remedy = match self {
            Self::File { .. } => "check that the folder exists, is writable and has space left",
            Self::Locked { .. } => "wait for the other run, or write to another file",
            Self::NotResults { .. } => {
                "name a file that such a run wrote, or a new one to write to"
            }
            Self::OtherSettings { path, .. } => {
                return Some(format!(
                    "use the settings of the file to resume it; else delete {} to start anew, or name a new file for this run by --out",
                    path.display()
                ));
            }
            Self::BadLine { .. } => "remove that line, and its question is answered again",
            Self::Unread { written_by, .. } => {
                return Some(format!(
                    "a file is wanted that `{written_by}` wrote, as that left it"
                ));
            }
        };
        Some(remedy.to_owned())
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    settings: Settings,
}

/// An open results file, which this process alone writes.
#[derive(Debug)]
pub struct ResultsFile<L> {
    path: PathBuf,
    file: File,
    settings: Settings,
    /// Length in bytes of the complete lines.
    complete: u64,
    records: HashMap<String, L>,
}

impl<L: Line> ResultsFile<L> {
    /// Opens `path` to go on with the run of `settings`, or begins it if the file is new or empty.
    /// A half-written last line is cut off.
    ///
    /// # Errors
    /// If the file cannot be written, is no results file, was begun with other settings or has a
    /// broken line other than the last. The file is then left as it was.
    pub fn open(path: &Path, settings: Settings) -> Result<Self, ResultsError> {
        let failed = |action| {
            move |source| ResultsError::File {
                action,
                path: path.to_owned(),
                source,
            }
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed("open"))?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => ResultsError::Locked {
                path: path.to_owned(),
            },
            TryLockError::Error(source) => failed("lock")(source),
        })?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed("read"))?;

        let complete = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |n| n + 1);
        let (lines, rest) = bytes.split_at(complete);
        let records = if lines.is_empty() {
            // Only a header that was cut short may be overwritten.
            let shared = rest.len().min(HEADER_START.len());
            if rest[..shared] != HEADER_START[..shared] {
                return Err(ResultsError::NotResults {
                    path: path.to_owned(),
                });
            }
            HashMap::new()
        } else {
            parse(path, lines, Some(&settings))?
        };
        let mut results = Self {
            path: path.to_owned(),
            file,
            settings,
            complete: complete as u64,
            records,
        };
        results.cut_to_complete().map_err(failed("write"))?;
        if complete == 0 {
            let settings = results.settings.clone();
            results.append_line(&Header { settings })?;
        }
        Ok(results)
    }

    /// The settings of the run.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The recorded result of the question `id`.
    pub fn get(&self, id: &str) -> Option<&L> {
        self.records.get(id)
    }

    /// Writes one result, in place of an earlier one of the same question, and hands it to the
    /// system before returning.
    ///
    /// # Errors
    /// If it cannot be written, for instance for want of space; the results before it are kept.
    pub fn append(&mut self, record: L) -> Result<(), ResultsError> {
        self.append_line(&record)?;
        self.records.insert(record.id().to_owned(), record);
        Ok(())
    }

    fn append_line(&mut self, line: &impl Serialize) -> Result<(), ResultsError> {
        let written = serde_json::to_vec(line)
            .map_err(std::io::Error::from)
            .and_then(|mut bytes| {
                bytes.push(b'\n');
                self.file.write_all(&bytes)?;
                self.file.flush()?;
                Ok(bytes.len() as u64)
            });
        match written {
            Ok(length) => {
                self.complete += length;
                Ok(())
            }
            Err(source) => {
                // Part of the line may be there. If it cannot be cut off now, the next opening does.
                let _ = self.cut_to_complete();
                Err(ResultsError::File {
                    action: "write",
                    path: self.path.clone(),
                    source,
                })
            }
        }
    }

    fn cut_to_complete(&mut self) -> std::io::Result<()> {
        self.file.set_len(self.complete)?;
        self.file.seek(SeekFrom::Start(self.complete))?;
        Ok(())
    }
}

/// The results of a finished or stopped run, whatever its settings, sorted by id.
///
/// # Errors
/// Where the file cannot be read, holds other records or has a broken line other than the last: all
/// [`ResultsError::Unread`].
pub fn read_results<L: Recorded>(path: &Path) -> Result<Vec<L>, ResultsError> {
    let unread = |source| ResultsError::Unread {
        written_by: L::WRITTEN_BY,
        source: Box::new(source),
    };
    let bytes = std::fs::read(path).map_err(|source| {
        unread(ResultsError::File {
            action: "read",
            path: path.to_owned(),
            source,
        })
    })?;
    let complete = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |n| n + 1);
    let records = parse(path, &bytes[..complete], None).map_err(unread)?;
    let mut records: Vec<L> = records.into_values().collect();
    records.sort_by(|one: &L, other| one.id().cmp(other.id()));
    Ok(records)
}

/// The settings of a finished or stopped run.
///
/// # Errors
/// Where the file cannot be read or is no results file.
pub fn read_settings(path: &Path) -> Result<Settings, ResultsError> {
    let failed = |source| ResultsError::File {
        action: "read",
        path: path.to_owned(),
        source,
    };
    let mut line = Vec::new();
    let file = File::open(path).map_err(failed)?;
    BufReader::new(file)
        .read_until(b'\n', &mut line)
        .map_err(failed)?;
    header(path, &line)
}

/// The settings that the first line of a file holds.
fn header(path: &Path, line: &[u8]) -> Result<Settings, ResultsError> {
    let header = serde_json::from_slice(line).map(|header: Header| header.settings);
    header.map_err(|_| ResultsError::NotResults {
        path: path.to_owned(),
    })
}

/// Reads complete lines: the header, which must have the `settings` where there are any, and the
/// records. Of two records of one question the later counts.
fn parse<L: Line>(
    path: &Path,
    lines: &[u8],
    settings: Option<&Settings>,
) -> Result<HashMap<String, L>, ResultsError> {
    let mut numbered = lines.split_inclusive(|&b| b == b'\n').zip(1..);
    let recorded = header(path, numbered.next().map_or(&[], |(line, _)| line))?;
    let differences = settings.map_or(Vec::new(), |now| compare(&recorded, now));
    if !differences.is_empty() {
        return Err(ResultsError::OtherSettings {
            path: path.to_owned(),
            differences,
        });
    }
    let mut records = HashMap::new();
    for (bytes, line) in numbered {
        let record: L = json_line::parse(bytes).map_err(|fault| ResultsError::BadLine {
            path: path.to_owned(),
            line,
            column: fault.column,
            reason: fault.reason,
        })?;
        records.insert(record.id().to_owned(), record);
    }
    Ok(records)
}

/// Whether a setting is what it was. Fingerprints in it may be of an earlier version.
fn is_same(recorded: Option<&String>, current: Option<&String>) -> bool {
    match (recorded, current) {
        (Some(recorded), Some(current)) if recorded != current => {
            let (one, other) = (recorded.split(' '), current.split(' '));
            one.clone().count() == other.clone().count()
                && one.zip(other).all(|(a, b)| ken_model::same_model(a, b))
        }
        (recorded, current) => recorded == current,
    }
}

fn compare(recorded: &Settings, current: &Settings) -> Vec<Difference> {
    let mut names: Vec<&String> = recorded.keys().chain(current.keys()).collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .filter(|name| !is_same(recorded.get(*name), current.get(*name)))
        .map(|name| Difference {
            name: name.clone(),
            recorded: recorded.get(name).cloned(),
            current: current.get(name).cloned(),
        })
        .collect()
}
