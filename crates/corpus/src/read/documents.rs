//! The stream of documents over all given files.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Map;

use super::error::ReadError;
use super::files::{InputFile, find_files};
use super::format::{Format, stem};
use super::source::Source;
use super::{html, jsonl, markdown};
use crate::document::Document;

/// How far the reading is, in bytes of the files as they lie on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadProgress {
    /// What was taken from the disk so far.
    pub bytes_read: u64,
    /// The length of all files.
    pub bytes_total: u64,
}

/// Documents as they are read; see [`read_documents`].
///
/// An error that concerns one record does not end the iteration, one that concerns a file goes on
/// with the next file.
pub struct Documents {
    files: std::vec::IntoIter<InputFile>,
    /// The JSON Lines file that is being read.
    records: Option<(InputFile, Source)>,
    /// Digests of the ids so far: 16 bytes an id, where the ids themselves could fill the memory.
    seen: HashSet<[u8; 16]>,
    bytes_read: Arc<AtomicU64>,
    bytes_total: u64,
}

/// Reads the documents of files and of folders (with all folders in them, sorted by name).
///
/// A text, Markdown or HTML file is one document, named by its path below the given folder (with
/// forward slashes), or by its file name where the file itself is given. A JSON Lines file holds
/// one document a line. Memory does not grow with a file's length except for single documents.
///
/// # Errors
/// At once: [`ReadError::MissingPath`], [`ReadError::NoDocuments`], [`ReadError::UnknownFormat`],
/// [`ReadError::Io`]. While reading, as items: whatever is wrong in a file or record.
pub fn read_documents(paths: &[PathBuf]) -> Result<Documents, ReadError> {
    let files = find_files(paths)?;
    Ok(Documents {
        bytes_total: files.iter().map(|file| file.bytes).sum(),
        files: files.into_iter(),
        records: None,
        seen: HashSet::new(),
        bytes_read: Arc::new(AtomicU64::new(0)),
    })
}

impl Documents {
    /// How far the reading is.
    #[must_use]
    pub fn progress(&self) -> ReadProgress {
        ReadProgress {
            bytes_read: self.bytes_read.load(Ordering::Relaxed),
            bytes_total: self.bytes_total,
        }
    }

    /// The next record of the open JSON Lines file; `None` at its end.
    fn next_record(&mut self) -> Option<Result<Document, ReadError>> {
        let (file, source) = self.records.as_mut()?;
        loop {
            return match source.next_line() {
                Ok(None) => None,
                Ok(Some((_, text))) if text.trim().is_empty() => continue,
                Ok(Some((line, text))) => Some(
                    jsonl::document(&text, &file.path, line)
                        .and_then(|document| unseen(&mut self.seen, document, file, line)),
                ),
                Err(error @ ReadError::InvalidUtf8 { .. }) => Some(Err(error)),
                Err(error) => {
                    self.records = None;
                    Some(Err(error))
                }
            };
        }
    }

    fn read_file(&mut self, file: InputFile) -> Option<Result<Document, ReadError>> {
        let mut source = match Source::open(&file, Arc::clone(&self.bytes_read)) {
            Ok(source) => source,
            Err(error) => return Some(Err(error)),
        };
        if file.format == Format::JsonLines {
            self.records = Some((file, source));
            return None;
        }
        let document = source
            .read_all()
            .map(|text| whole_document(&file, text))
            .and_then(|document| unseen(&mut self.seen, document, &file, 1));
        Some(document)
    }
}

impl Iterator for Documents {
    type Item = Result<Document, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.next_record() {
                return Some(record);
            }
            self.records = None;
            let file = self.files.next()?;
            if let Some(document) = self.read_file(file) {
                return Some(document);
            }
        }
    }
}

/// The document that a whole file is.
fn whole_document(file: &InputFile, contents: String) -> Document {
    let (title, text) = match file.format {
        Format::Text | Format::JsonLines => (None, contents),
        Format::Markdown => markdown::title_and_text(&contents),
        Format::Html => html::title_and_text(&contents),
    };
    Document {
        id: file.id.clone(),
        title: title.unwrap_or_else(|| stem(&file.path)),
        text,
        metadata: Map::new(),
        record: false,
    }
}

/// Passes a document on unless its id was read before.
fn unseen(
    seen: &mut HashSet<[u8; 16]>,
    document: Document,
    file: &InputFile,
    line: u64,
) -> Result<Document, ReadError> {
    let mut key = [0; 16];
    key.copy_from_slice(&blake3::hash(document.id.as_bytes()).as_bytes()[..16]);
    if seen.insert(key) {
        Ok(document)
    } else {
        Err(ReadError::DuplicateId {
            path: file.path.clone(),
            line,
            id: document.id,
        })
    }
}
