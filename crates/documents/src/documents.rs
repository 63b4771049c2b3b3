//! The stream of documents over all given files.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::iter;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::ReadError;
use crate::files::{Found, InputFile, Origin, SkipReason, Skipped, escaped, find_files};
use crate::jsonl;
use crate::notice::{NoticeKind, Notices};
use crate::open::Opener;
use crate::options::ReadOptions;
use crate::record::{Record, Records};
use crate::unread::Unread;
use crate::watch::Watch;
use ken_corpus::Document;
use serde_json::{Map, Value};

/// The progress of reading, in bytes of the files on disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadProgress {
    /// Read from disk so far.
    pub bytes_read: u64,
    /// The length of all files; `None` if one has no length, such as standard input.
    pub bytes_total: Option<u64>,
}

/// Documents as they are read; see [`read_documents`].
///
/// After an error in one record the iteration continues with the next record, after one in a file
/// with the next file. A file of a folder that vanished meanwhile is a notice and no error.
pub struct Documents {
    files: std::vec::IntoIter<InputFile>,
    skipped: Vec<Skipped>,
    excluded: usize,
    /// The remaining records of the open file.
    records: Records,
    /// The open file.
    current_file: Option<PathBuf>,
    /// Its path as documents record it.
    origin: Option<String>,
    copies: bool,
    metadata: Map<String, Value>,
    seen: ReadIds,
    bytes_total: Option<u64>,
    opener: Opener,
    /// Whether [`ReadError::Stopped`] was returned.
    ended: bool,
}

/// Reads the documents of files and of folders (with all folders in them, sorted by name).
///
/// A text, an office document, a book, a message or a file of code is one document, named by its path below
/// the given folder (with forward slashes), or by its file name if the file itself is given. Records, dumps,
/// mailboxes and archives hold many documents. Memory does not grow with a file's length except for single documents,
/// and a document over its [`Budget`](crate::Budget) is an error, after which the next one is read.
///
/// # Errors
/// At once: [`ReadError::MissingPath`], [`ReadError::NoDocuments`], [`ReadError::UnknownFormat`],
/// [`ReadError::StdinWithoutFormat`], [`ReadError::Io`]. While reading, as items: the errors of files
/// and records.
pub fn read_documents(paths: &[PathBuf]) -> Result<Documents, ReadError> {
    read_documents_with(paths, ReadOptions::default())
}

/// As [`read_documents`], with options.
///
/// # Errors
/// As [`read_documents`]; at once [`ReadError::ParquetFromStdin`] and [`ReadError::BadPattern`] too.
pub fn read_documents_with(
    paths: &[PathBuf],
    options: ReadOptions,
) -> Result<Documents, ReadError> {
    let found = find_files(paths, &options)?;
    Ok(Documents::of(found, options))
}

/// Reads records that do not come from a file: JSON objects, as in the lines of JSON Lines. Errors name them by their
/// numbers, from 1.
#[must_use]
pub fn read_records(
    records: impl Iterator<Item = String> + Send + 'static,
    options: ReadOptions,
) -> Documents {
    let found = Found::default();
    let mut documents = Documents::of(found, options);
    let (fields, watch) = (documents.opener.fields.clone(), &documents.opener.watch);
    documents.records = jsonl::given(records, fields, watch.clone());
    documents.bytes_total = None;
    documents
}

impl Documents {
    fn of(found: Found, options: ReadOptions) -> Self {
        let Found {
            files,
            skipped,
            excluded,
            unread,
            notices,
        } = found;
        Self {
            excluded: excluded.len(),
            bytes_total: files.iter().map(|file| file.bytes).sum(),
            files: files.into_iter(),
            skipped,
            records: Box::new(iter::empty()),
            current_file: None,
            origin: None,
            copies: options.copies,
            metadata: options.metadata,
            seen: ReadIds {
                excluded: excluded.iter().map(|path| recorded(path)).collect(),
                ..ReadIds::default()
            },
            opener: Opener {
                bytes_read: Arc::new(AtomicU64::new(0)),
                unread,
                watch: Watch {
                    budget: options.budget,
                    stop: options.stop,
                    notices,
                },
                encoding: options.encoding,
                fields: options.fields,
                html: options.html,
                base_url: options.base_url,
                converters: Arc::new(options.converters),
            },
            ended: false,
        }
    }

    /// The entries of the folders that are skipped: links out of them, special files, and folders without permission
    /// to read.
    #[must_use]
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// The number of files and folders in the given folders that are left out; hidden ones and corpora do not count.
    #[must_use]
    pub fn excluded(&self) -> usize {
        self.excluded
    }

    /// Whether folders hold anything that may not be read, so that it is unknown which documents are gone.
    #[must_use]
    pub fn has_unreadable(&self) -> bool {
        let mut reasons = self.skipped.iter().map(|skipped| skipped.reason);
        reasons.any(|reason| reason == SkipReason::Unreadable)
    }

    /// The files in folders and archives whose formats are not read. Those in archives are counted as the archives
    /// are read.
    #[must_use]
    pub fn unread(&self) -> Unread {
        self.opener.unread.clone()
    }

    /// The notices of files that readers decoded or read in part, which accumulate during the reading, and of lines in
    /// `.gitignore` and `.ignore` files that are no patterns.
    #[must_use]
    pub fn notices(&self) -> Notices {
        self.opener.watch.notices.clone()
    }

    /// The paths of the files still to be read, without standard input.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let files = self.files.as_slice().iter();
        let on_disk = files.filter(|file| file.origin != Origin::Stdin);
        on_disk.map(|file| file.path.as_path())
    }

    /// The file of the last item.
    #[must_use]
    pub fn current_file(&self) -> Option<&Path> {
        self.current_file.as_deref()
    }

    /// Keeps only the files for which the predicate is true.
    pub fn retain_files(&mut self, mut is_kept: impl FnMut(&Path) -> bool) {
        let mut files: Vec<_> = mem::take(&mut self.files).collect();
        files.retain(|file| is_kept(&file.path));
        self.bytes_total = files.iter().map(|file| file.bytes).sum();
        self.files = files.into_iter();
    }

    /// The ids of the documents so far.
    #[must_use]
    pub fn into_ids(self) -> ReadIds {
        self.seen
    }

    /// The progress so far.
    #[must_use]
    pub fn progress(&self) -> ReadProgress {
        ReadProgress {
            bytes_read: self.opener.bytes_read.load(Ordering::Relaxed),
            bytes_total: self.bytes_total,
        }
    }
}

impl Iterator for Documents {
    type Item = Result<Document, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Err(stopped) = self.opener.watch.check() {
                // Returned once, as the last item.
                return (!mem::replace(&mut self.ended, true)).then_some(Err(stopped));
            }
            if let Some(record) = self.records.next() {
                let record = record.and_then(|record| within_budget(record, &self.opener.watch));
                self.ended |= matches!(record, Err(ReadError::Stopped));
                let document = record.and_then(|record| unseen(&mut self.seen, record));
                return Some(document.map(|mut document| {
                    document.metadata.extend(self.metadata.clone());
                    Document {
                        origin: self.origin.clone(),
                        ..document
                    }
                }));
            }
            let file = self.files.next()?;
            if file.origin == Origin::Found && !self.copies && is_gone(&file.path) {
                let notices = &self.opener.watch.notices;
                notices.add(file.path, NoticeKind::Vanished);
                self.seen.has_vanished = true;
                continue;
            }
            self.origin = match file.origin {
                Origin::Named | Origin::Found if !self.copies => origin_of(&file.path),
                _ => None,
            };
            let origin = self.origin.as_deref();
            self.seen.origins.extend(origin.map(digest_of));
            self.records = self.opener.open(&file);
            self.current_file = Some(file.path);
        }
    }
}

/// Refuses a document over the budget: rows of Parquet and codes of PDF fonts can expand beyond their size in
/// the file.
fn within_budget(record: Record, watch: &Watch) -> Result<Record, ReadError> {
    let Document {
        id, title, text, ..
    } = &record.document;
    let bytes = (id.len() + title.len() + text.len()) as u64;
    match bytes > watch.budget.document_bytes {
        true => Err(watch.too_large(record.place)),
        false => Ok(record),
    }
}

/// The ids of the documents that were read, and the files that they came from.
#[derive(Debug, Clone, Default)]
pub struct ReadIds {
    /// Digests of 16 bytes: the ids themselves could fill the memory.
    digests: HashSet<[u8; 16]>,
    /// Digests of the files' paths.
    origins: HashSet<[u8; 16]>,
    /// The files and folders that were left out.
    excluded: HashSet<String>,
    has_vanished: bool,
}

impl ReadIds {
    /// Whether a document of this id was read.
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        self.digests.contains(&digest_of(id))
    }

    /// Whether this file was read, as [`origin_of`] names it.
    #[must_use]
    pub fn has_read(&self, origin: &str) -> bool {
        self.origins.contains(&digest_of(origin))
    }

    /// Whether any file of a folder was gone when it was to be read: removed, or on a drive that is away.
    #[must_use]
    pub fn has_vanished(&self) -> bool {
        self.has_vanished
    }

    /// Whether this file, as [`origin_of`] names it, or a folder around it was left out.
    #[must_use]
    pub fn has_excluded(&self, origin: &str) -> bool {
        let around = Path::new(origin).ancestors();
        let mut around = around.filter_map(Path::to_str);
        around.any(|path| self.excluded.contains(path))
    }
}

fn digest_of(id: &str) -> [u8; 16] {
    let mut digest = [0; 16];
    digest.copy_from_slice(&blake3::hash(id.as_bytes()).as_bytes()[..16]);
    digest
}

/// The path of a file or folder as documents record it: absolute, with links resolved. `None` if it is gone.
#[must_use]
pub fn origin_of(path: &Path) -> Option<String> {
    Some(recorded(&fs::canonicalize(path).ok()?))
}

/// Whether the file of this [origin](origin_of) is gone; not if the system does not say, as of a folder that may not be entered.
#[must_use]
pub fn is_origin_gone(origin: &str) -> bool {
    is_gone(Path::new(origin)) && unescaped(origin).is_none_or(|path| is_gone(&path))
}

fn is_gone(path: &Path) -> bool {
    match path.try_exists() {
        Ok(exists) => !exists,
        Err(error) => error.kind() == io::ErrorKind::NotADirectory,
    }
}

fn recorded(path: &Path) -> String {
    escaped(path.as_os_str().as_encoded_bytes())
}

/// The path that [`recorded`] may have made a text of; `None` if it escaped nothing.
#[cfg(unix)]
fn unescaped(origin: &str) -> Option<PathBuf> {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    let (start, rest) = origin.split_once('%')?;
    let mut bytes = start.as_bytes().to_vec();
    for part in rest.split('%') {
        let escaped = part.split_at_checked(2).and_then(|(digits, after)| {
            let byte = u8::from_str_radix(digits, 16).ok();
            Some((byte.filter(|byte| !byte.is_ascii())?, after))
        });
        let (byte, after) = escaped.unwrap_or((b'%', part));
        bytes.push(byte);
        bytes.extend_from_slice(after.as_bytes());
    }
    Some(OsString::from_vec(bytes).into())
}

/// Other systems have no names of other bytes.
#[cfg(not(unix))]
fn unescaped(_origin: &str) -> Option<PathBuf> {
    None
}

/// Refuses a document whose id was read before.
fn unseen(seen: &mut ReadIds, record: Record) -> Result<Document, ReadError> {
    let Record { document, place } = record;
    if seen.digests.insert(digest_of(&document.id)) {
        Ok(document)
    } else {
        Err(ReadError::DuplicateId {
            place,
            id: document.id,
        })
    }
}
