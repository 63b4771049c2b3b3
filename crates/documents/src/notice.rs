//! Notices: how readers changed the content of a file, and what they left out.

use std::fmt;
use std::mem;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::encoding::Encoding;

/// The most notices kept, so that a folder of a million files does not fill the memory.
const MOST_KEPT: usize = 10_000;

/// Something about one file that its reader should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The file; `stdin` for standard input.
    pub path: PathBuf,
    /// What happened to it.
    pub kind: NoticeKind,
}

/// What happened to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoticeKind {
    /// It was decoded from another encoding than UTF-8.
    Decoded {
        /// The encoding.
        encoding: Encoding,
        /// How many sequences of bytes were malformed, and became U+FFFD; for a long table, only those in
        /// its start.
        malformed: u64,
    },
    /// It has no text, like a page that only a script fills.
    WithoutText,
    /// It is a PDF that could be read only in part.
    PartlyUnread {
        /// How many of its pages have no text.
        pages: usize,
        /// How many characters it has whose meaning its fonts do not tell.
        characters: usize,
    },
    /// It is a `.gitignore` or `.ignore` file with a line that is no pattern, and excludes nothing.
    BadPattern {
        /// The number of the line, from 1.
        line: usize,
        /// Why it is none.
        reason: String,
    },
    /// It was in a folder when that was listed, and gone when it was to be read.
    Vanished,
    /// It is a message with a file that cannot be read.
    AttachmentUnread {
        /// Why it cannot.
        reason: String,
    },
    /// It had NUL bytes, which were left out.
    NulsLeftOut {
        /// How many.
        count: u64,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.kind {
            NoticeKind::Decoded {
                encoding,
                malformed: 0,
            } => write!(formatter, "{path} was read as {encoding}"),
            NoticeKind::Decoded {
                encoding,
                malformed,
            } => write!(
                formatter,
                "{path} was read as {encoding}, in which {malformed} characters have no meaning"
            ),
            NoticeKind::Vanished => write!(formatter, "{path} vanished before it was read"),
            NoticeKind::WithoutText => write!(formatter, "{path} has no text"),
            NoticeKind::PartlyUnread { pages, characters } => {
                write!(formatter, "{path} was read in part: ")?;
                let no_text = format!("{pages} of its pages have no text");
                let unknown = format!("its fonts do not say what {characters} characters mean");
                match (pages, characters) {
                    (0, _) => formatter.write_str(&unknown),
                    (_, 0) => formatter.write_str(&no_text),
                    _ => write!(formatter, "{no_text}, and {unknown}"),
                }
            }
            NoticeKind::BadPattern { line, reason } => {
                write!(
                    formatter,
                    "{path}:{line} is no pattern, and excludes nothing: {reason}"
                )
            }
            NoticeKind::AttachmentUnread { reason } => {
                write!(
                    formatter,
                    "{path} has an attachment that was not read: {reason}"
                )
            }
            NoticeKind::NulsLeftOut { count } => {
                write!(formatter, "{path} was read without its {count} NUL bytes")
            }
        }
    }
}

/// The notices of a reading, shared by the readers and their caller.
#[derive(Debug, Clone, Default)]
pub struct Notices(Arc<Mutex<Vec<Notice>>>);

impl Notices {
    /// Takes the notices since the last call, in order. At most the first 10,000 are kept between calls.
    #[must_use]
    pub fn take(&self) -> Vec<Notice> {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn add(&self, path: PathBuf, kind: NoticeKind) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MOST_KEPT {
            kept.push(Notice { path, kind });
        }
    }
}
