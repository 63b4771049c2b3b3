//! Traces on disk: a folder of JSON Lines files, each named by a number. The last one grows; when it is long enough,
//! the journal begins the next and removes the first. A line records an answer, or something found or said about an
//! earlier one. A crash costs lines of the last seconds, and never one before these.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use ken_storage::{AppendFile, StorageError};
use serde::{Deserialize, Serialize};

use super::trace_record::{Feedback, TraceRecord};
use crate::service::record::RecordError;
use crate::service::watch::comparison::Verdict;

/// The length, in bytes, at which the next file begins.
const LONG: u64 = 8 << 20;

/// The most files.
const MOST_FILES: usize = 8;

/// The ending of every file's name.
const ENDING: &str = ".jsonl";

/// What happened to a question.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum TraceEvent {
    /// It was answered.
    Answered(Box<TraceRecord>),
    /// It was checked to watch the guarantee.
    Watched {
        /// The request.
        id: String,
        /// The outcome.
        outcome: String,
    },
    /// A judge said which of both answers are right.
    Decided {
        /// The request.
        id: String,
        /// The verdict.
        judge: Verdict,
    },
    /// Somebody gave feedback on the answer.
    Judged {
        /// The request.
        id: String,
        /// The feedback.
        feedback: Feedback,
    },
}

impl TraceEvent {
    /// Whether it holds text that somebody asked or wrote.
    pub(crate) fn has_texts(&self) -> bool {
        match self {
            Self::Answered(past) => past.has_texts(),
            Self::Judged { feedback, .. } => !feedback.answers.is_empty(),
            Self::Watched { .. } | Self::Decided { .. } => false,
        }
    }
}

/// The files of traces.
pub(crate) struct Journal {
    folder: PathBuf,
    /// Their numbers, oldest first. The last one is open.
    numbers: VecDeque<u64>,
    open: AppendFile,
    /// Its bytes.
    length: u64,
    long: u64,
}

/// The content of a journal.
#[derive(Default)]
pub(crate) struct JournalContent {
    /// Oldest first.
    pub(crate) happened: Vec<TraceEvent>,
    /// How many lines are unreadable.
    pub(crate) unreadable: usize,
}

impl Journal {
    /// Opens a folder, which is created if it is missing, and reads it.
    ///
    /// # Errors
    /// A folder that cannot be read or written.
    pub(crate) fn open(folder: PathBuf) -> Result<(Self, JournalContent), RecordError> {
        Self::by(folder, LONG)
    }

    /// As [`Journal::open`], with files of another length.
    pub(super) fn by(folder: PathBuf, long: u64) -> Result<(Self, JournalContent), RecordError> {
        ken_storage::create_plain_dir_all(&folder)?;
        let names = ken_storage::names(&folder)?;
        let mut numbers: VecDeque<u64> = names.iter().filter_map(|name| number(name)).collect();
        let last = numbers.pop_back().unwrap_or_default();
        let mut content = JournalContent::default();
        for number in &numbers {
            content.read(&ken_storage::read(&path(&folder, *number))?);
        }
        let mut open = AppendFile::open::<StorageError>(&path(&folder, last), |_| Ok(()))?;
        let bytes = open.read()?;
        let whole = content.read(&bytes);
        open.truncate(whole)?;
        numbers.push_back(last);
        let journal = Self {
            folder,
            numbers,
            open,
            length: whole,
            long,
        };
        Ok((journal, content))
    }

    /// Appends a line.
    ///
    /// # Errors
    /// A full disk: then the line is not there.
    pub(crate) fn add(&mut self, happened: &TraceEvent) -> Result<(), StorageError> {
        let line = line(happened);
        if self.length >= self.long {
            self.begin(&[])?;
        }
        self.open.append(&line)?;
        self.length += line.len() as u64;
        Ok(())
    }

    /// Syncs all lines to disk.
    ///
    /// # Errors
    /// The system fails to sync.
    pub(crate) fn sync(&mut self) -> Result<(), StorageError> {
        self.open.sync()
    }

    /// Replaces all lines. A crash in between leaves both, of which the later ones hold.
    ///
    /// # Errors
    /// A full disk, or files that cannot be removed.
    pub(crate) fn replace(&mut self, happened: &[TraceEvent]) -> Result<(), StorageError> {
        let lines: Vec<Vec<u8>> = happened.iter().map(line).collect();
        self.begin(&lines.concat())?;
        self.drop_all_but(1)
    }

    /// Begins the next file with these lines.
    fn begin(&mut self, lines: &[u8]) -> Result<(), StorageError> {
        self.open.sync()?;
        let last = self.numbers.back().copied().unwrap_or_default();
        let next = last.saturating_add(1);
        let path = path(&self.folder, next);
        ken_storage::replace(&path, lines)?;
        let mut open = AppendFile::open::<StorageError>(&path, |_| Ok(()))?;
        let length = lines.len() as u64;
        open.truncate(length)?;
        self.open = open;
        self.length = length;
        self.numbers.push_back(next);
        self.drop_all_but(MOST_FILES)
    }

    fn drop_all_but(&mut self, most: usize) -> Result<(), StorageError> {
        while self.numbers.len() > most
            && let Some(first) = self.numbers.front()
        {
            ken_storage::remove(&path(&self.folder, *first))?;
            self.numbers.pop_front();
        }
        Ok(())
    }
}

impl JournalContent {
    /// Reads the lines of a file; returns the length of the whole ones.
    fn read(&mut self, bytes: &[u8]) -> u64 {
        let mut whole = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if line.last() != Some(&b'\n') {
                break;
            }
            whole += line.len() as u64;
            match serde_json::from_slice(line) {
                Ok(happened) => self.happened.push(happened),
                Err(_) => self.unreadable += 1,
            }
        }
        whole
    }
}

/// The line of an event. Cannot fail: traces have no maps with keys other than strings, and no part fails.
fn line(happened: &TraceEvent) -> Vec<u8> {
    let mut line = serde_json::to_vec(happened).unwrap_or_default();
    line.push(b'\n');
    line
}

fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:012}{ENDING}"))
}

fn number(name: &str) -> Option<u64> {
    name.strip_suffix(ENDING)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;

    fn event(id: u64) -> TraceEvent {
        TraceEvent::Watched {
            id: id.to_string(),
            outcome: "agrees".to_owned(),
        }
    }

    fn ids(content: &JournalContent) -> Vec<u64> {
        let all = content.happened.iter().map(|happened| match happened {
            TraceEvent::Watched { id, .. } => id.parse().unwrap(),
            other => panic!("{other:?}"),
        });
        all.collect()
    }

    fn files(folder: &Path) -> Vec<PathBuf> {
        let names = ken_storage::names(folder).unwrap().into_iter();
        names.map(|name| folder.join(name)).collect()
    }

    #[test]
    fn the_last_lines_are_found_again_within_bounds() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Journal::by(folder.path().to_owned(), 500).unwrap();
        let mut added = 0;
        for round in 0..40 {
            let (mut journal, content) = open();
            assert_eq!(content.unreadable, 0);
            let numbers = ids(&content);
            let kept = numbers.len() as u64;
            assert_eq!(numbers, (added - kept..added).collect::<Vec<_>>());
            assert!(kept == added || kept >= 7 * 500 / 50, "{kept} of {added}");
            for _ in 0..round {
                journal.add(&event(added)).unwrap();
                added += 1;
            }
            drop(journal);
            let all = files(folder.path());
            assert!(all.len() <= MOST_FILES);
            let bytes: u64 = all
                .iter()
                .map(|file| fs::metadata(file).unwrap().len())
                .sum();
            assert!(bytes <= MOST_FILES as u64 * 560, "{bytes}");
        }
    }

    /// Wherever the last file is cut off, the whole lines before that are there, and new ones follow them.
    #[test]
    fn a_cut_costs_no_more_than_what_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::by(folder.path().to_owned(), 1 << 20).unwrap();
        (0..5).for_each(|id| journal.add(&event(id)).unwrap());
        drop(journal);
        let file = files(folder.path()).remove(0);
        let whole = fs::read(&file).unwrap();
        for cut in 0..=whole.len() {
            fs::write(&file, &whole[..cut]).unwrap();
            let lines = whole[..cut].iter().filter(|byte| **byte == b'\n').count() as u64;
            let (mut journal, content) = Journal::open(folder.path().to_owned()).unwrap();
            assert_eq!(ids(&content), (0..lines).collect::<Vec<_>>(), "{cut}");
            journal.add(&event(9)).unwrap();
            drop(journal);
            let (_, content) = Journal::open(folder.path().to_owned()).unwrap();
            assert_eq!(
                (ids(&content).len() as u64, content.unreadable),
                (lines + 1, 0)
            );
        }
    }

    #[test]
    fn broken_lines_are_counted_and_others_read() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(folder.path().to_owned()).unwrap();
        (0..20).for_each(|id| journal.add(&event(id)).unwrap());
        drop(journal);
        let file = files(folder.path()).remove(0);
        let whole = fs::read(&file).unwrap();
        let mut random = StdRng::seed_from_u64(7);
        for _ in 0..300 {
            let mut bytes = whole.clone();
            for _ in 0..random.random_range(1..5) {
                let place = random.random_range(0..bytes.len());
                bytes[place] = random.random();
            }
            fs::write(&file, &bytes).unwrap();
            let (_, content) = Journal::open(folder.path().to_owned()).unwrap();
            assert!(content.happened.len() >= 10, "{}", content.happened.len());
        }
    }

    #[test]
    fn other_lines_take_the_place_of_all() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::by(folder.path().to_owned(), 200).unwrap();
        (0..20).for_each(|id| journal.add(&event(id)).unwrap());
        journal.replace(&[event(30), event(31)]).unwrap();
        journal.add(&event(32)).unwrap();
        drop(journal);
        let (_, content) = Journal::open(folder.path().to_owned()).unwrap();
        assert_eq!(ids(&content), [30, 31, 32]);
        assert_eq!(files(folder.path()).len(), 1);
    }
}
