//! Traces on disk: a folder of files of JSON Lines, each named by a number. The last one grows; when it is
//! long enough, the next is begun and the first is removed. A line tells of an answer, or of what was found
//! or said of an earlier one. A crash costs lines of the last seconds, and never one before these.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use ken_storage::{AppendFile, StorageError};
use serde::{Deserialize, Serialize};

use super::trace_record::{Feedback, TraceRecord};
use crate::service::record::RecordError;
use crate::service::watch::comparison::Verdict;

/// When a file is long enough, in bytes.
const LONG: u64 = 8 << 20;

/// The most files.
const MOST_FILES: usize = 8;

/// What the name of every file ends with.
const ENDING: &str = ".jsonl";

/// What happened to a question.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum TraceEvent {
    /// It was answered.
    Answered(Box<TraceRecord>),
    /// It was looked at to watch the guarantee.
    Watched {
        /// The request.
        id: String,
        /// What came of it.
        outcome: String,
    },
    /// A judge said which of both answers are right then.
    Decided {
        /// The request.
        id: String,
        /// What it says.
        judge: Verdict,
    },
    /// Something was said of the answer.
    Judged {
        /// The request.
        id: String,
        /// What.
        feedback: Feedback,
    },
}

impl TraceEvent {
    /// Whether it holds what somebody asked or wrote.
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
    /// Bytes in it.
    length: u64,
    long: u64,
}

/// What a journal tells.
#[derive(Default)]
pub(crate) struct JournalContent {
    /// Oldest first.
    pub(crate) happened: Vec<TraceEvent>,
    /// Lines that tell nothing.
    pub(crate) unreadable: usize,
}

impl Journal {
    /// Opens a folder, which is made where it is not there, and reads it.
    ///
    /// # Errors
    /// A folder that cannot be read or written.
    pub(crate) fn open(folder: PathBuf) -> Result<(Self, JournalContent), RecordError> {
        Self::by(folder, LONG)
    }

    /// The same, with files of another length.
    pub(super) fn by(folder: PathBuf, long: u64) -> Result<(Self, JournalContent), RecordError> {
        ken_storage::create_plain_dir_all(&folder)?;
        let names = ken_storage::names(&folder)?;
        let numbers = names.iter().filter_map(|name| number(name));
        let mut numbers: VecDeque<u64> = numbers.collect();
        let last = numbers.pop_back().unwrap_or_default();
        let mut told = JournalContent::default();
        for number in &numbers {
            told.read(&ken_storage::read(&path(&folder, *number))?);
        }
        let mut open = AppendFile::open::<StorageError>(&path(&folder, last), |_| Ok(()))?;
        let bytes = open.read()?;
        let whole = told.read(&bytes);
        open.truncate(whole)?;
        numbers.push_back(last);
        let journal = Self {
            folder,
            numbers,
            open,
            length: whole,
            long,
        };
        Ok((journal, told))
    }

    /// Appends a line.
    ///
    /// # Errors
    /// A disk that takes no more: then the line is not there.
    pub(crate) fn add(&mut self, happened: &TraceEvent) -> Result<(), StorageError> {
        let line = line(happened);
        if self.length >= self.long {
            self.begin(&[])?;
        }
        self.open.append(&line)?;
        self.length += line.len() as u64;
        Ok(())
    }

    /// Has all lines on disk.
    ///
    /// # Errors
    /// Where the system cannot.
    pub(crate) fn sync(&mut self) -> Result<(), StorageError> {
        self.open.sync()
    }

    /// Puts other lines in the place of all. A crash in between leaves both, of which the later hold.
    ///
    /// # Errors
    /// A disk that takes no more, or files that cannot be removed.
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
    /// Reads the lines of a file; returns the length of those that are whole.
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

/// What is written of it. Traces have neither maps with strange keys nor failing parts.
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

    fn said(id: u64) -> TraceEvent {
        TraceEvent::Watched {
            id: id.to_string(),
            outcome: "agrees".to_owned(),
        }
    }

    fn ids(told: &JournalContent) -> Vec<u64> {
        let all = told.happened.iter().map(|happened| match happened {
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
            let (mut journal, told) = open();
            assert_eq!(told.unreadable, 0);
            let found = ids(&told);
            let kept = found.len() as u64;
            assert_eq!(found, (added - kept..added).collect::<Vec<_>>());
            assert!(kept == added || kept >= 7 * 500 / 50, "{kept} of {added}");
            for _ in 0..round {
                journal.add(&said(added)).unwrap();
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

    /// Wherever the last file is cut off, what is whole before that is there, and new lines follow it.
    #[test]
    fn a_cut_costs_no_more_than_what_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::by(folder.path().to_owned(), 1 << 20).unwrap();
        (0..5).for_each(|id| journal.add(&said(id)).unwrap());
        drop(journal);
        let file = files(folder.path()).remove(0);
        let whole = fs::read(&file).unwrap();
        for cut in 0..=whole.len() {
            fs::write(&file, &whole[..cut]).unwrap();
            let lines = whole[..cut].iter().filter(|byte| **byte == b'\n').count() as u64;
            let (mut journal, told) = Journal::open(folder.path().to_owned()).unwrap();
            assert_eq!(ids(&told), (0..lines).collect::<Vec<_>>(), "{cut}");
            journal.add(&said(9)).unwrap();
            drop(journal);
            let (_, told) = Journal::open(folder.path().to_owned()).unwrap();
            assert_eq!((ids(&told).len() as u64, told.unreadable), (lines + 1, 0));
        }
    }

    #[test]
    fn broken_lines_are_counted_and_others_read() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(folder.path().to_owned()).unwrap();
        (0..20).for_each(|id| journal.add(&said(id)).unwrap());
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
            let (_, told) = Journal::open(folder.path().to_owned()).unwrap();
            assert!(told.happened.len() >= 10, "{}", told.happened.len());
        }
    }

    #[test]
    fn other_lines_take_the_place_of_all() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::by(folder.path().to_owned(), 200).unwrap();
        (0..20).for_each(|id| journal.add(&said(id)).unwrap());
        journal.replace(&[said(30), said(31)]).unwrap();
        journal.add(&said(32)).unwrap();
        drop(journal);
        let (_, told) = Journal::open(folder.path().to_owned()).unwrap();
        assert_eq!(ids(&told), [30, 31, 32]);
        assert_eq!(files(folder.path()).len(), 1);
    }
}
