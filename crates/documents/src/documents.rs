//! The stream of documents over all given files.

use std::collections::HashSet;
use std::iter;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::budget::Budget;
use crate::encoding::Encoding;
use crate::error::ReadError;
use crate::fields::Shape;
use crate::files::{InputFile, Origin, Skipped, find_files};
use crate::format::{Format, stem};
use crate::html::HtmlPart;
use crate::names::FieldNames;
use crate::notice::{NoticeKind, Notices};
use crate::place::Place;
use crate::record::{Contents, Record};
use crate::source::Source;
use crate::watch::Watch;
use crate::{delimited, html, jsonl, markdown, mediawiki, parquet, pdf};
use ken_corpus::Document;

/// The progress of reading, in bytes of the files on disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadProgress {
    /// Read from disk so far.
    pub bytes_read: u64,
    /// The length of all files; `None` where one has none, as standard input.
    pub bytes_total: Option<u64>,
}

/// Documents as they are read; see [`read_documents`].
///
/// After an error in one record the iteration continues with the next record, after one in a file
/// with the next file.
pub struct Documents {
    files: std::vec::IntoIter<InputFile>,
    skipped: Vec<Skipped>,
    /// The rest of the file that is being read.
    records: Records,
    /// Digests of the ids so far: 16 bytes each, where the ids themselves could fill the memory.
    seen: HashSet<[u8; 16]>,
    bytes_read: Arc<AtomicU64>,
    bytes_total: Option<u64>,
    watch: Watch,
    encoding: Option<Encoding>,
    fields: FieldNames,
    html: HtmlPart,
    /// Whether [`ReadError::Stopped`] was returned.
    ended: bool,
}

/// How to read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The format of standard input, which is the path `-`, and of files given by name, whatever
    /// their extensions; `None` to go by the extensions.
    pub format: Option<Format>,
    /// Reads what links in folders lead to, wherever it is; without it, only what stays in the folder. Links
    /// to folders are never followed.
    pub follow_links: bool,
    /// The encoding of all text; `None` to find out that of each file.
    pub encoding: Option<Encoding>,
    /// Which fields of records are what, where their names are not known ones.
    pub fields: FieldNames,
    /// Which part of HTML pages is read.
    pub html: HtmlPart,
    /// What one document may cost.
    pub budget: Budget,
    /// Stops the reading, within a document too: the next item is then [`ReadError::Stopped`].
    pub stop: Arc<AtomicBool>,
}

/// The documents of one file. It ends after an error that makes the rest of the file unreadable.
pub(crate) type Records = Box<dyn Iterator<Item = Result<Record, ReadError>> + Send>;

/// Reads the documents of files and of folders (with all folders in them, sorted by name).
///
/// A text, Markdown, HTML or PDF file is one document, named by its path below the given folder
/// (with forward slashes), or by its file name where the file itself is given. The other formats
/// hold many documents. Memory does not grow with a file's length except for single documents,
/// and a document over its [`Budget`] is an error, after which the next one is read.
///
/// # Errors
/// At once: [`ReadError::MissingPath`], [`ReadError::NoDocuments`], [`ReadError::UnknownFormat`],
/// [`ReadError::StdinWithoutFormat`], [`ReadError::Io`]. While reading, as items: whatever is
/// wrong in a file or record.
pub fn read_documents(paths: &[PathBuf]) -> Result<Documents, ReadError> {
    read_documents_with(paths, ReadOptions::default())
}

/// As [`read_documents`], with options.
///
/// # Errors
/// As [`read_documents`]; at once [`ReadError::ParquetFromStdin`] too.
pub fn read_documents_with(
    paths: &[PathBuf],
    options: ReadOptions,
) -> Result<Documents, ReadError> {
    let (files, skipped) = find_files(paths, options.format, options.follow_links)?;
    Ok(Documents {
        bytes_total: files.iter().map(|file| file.bytes).sum(),
        files: files.into_iter(),
        skipped,
        records: Box::new(iter::empty()),
        seen: HashSet::new(),
        bytes_read: Arc::new(AtomicU64::new(0)),
        watch: Watch {
            budget: options.budget,
            stop: options.stop,
            notices: Notices::default(),
        },
        encoding: options.encoding,
        fields: options.fields,
        html: options.html,
        ended: false,
    })
}

impl Documents {
    /// What the folders hold that is not read: links out of them, and what is no file.
    #[must_use]
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// What readers tell of files that they read otherwise than these are; it fills while reading.
    #[must_use]
    pub fn notices(&self) -> Notices {
        self.watch.notices.clone()
    }

    /// The progress so far.
    #[must_use]
    pub fn progress(&self) -> ReadProgress {
        ReadProgress {
            bytes_read: self.bytes_read.load(Ordering::Relaxed),
            bytes_total: self.bytes_total,
        }
    }

    fn open(&self, file: &InputFile) -> Records {
        match self.records(file) {
            Ok(records) => records,
            // Like files of unknown formats in folders.
            Err(ReadError::UnknownFormat { .. }) if file.origin == Origin::Found => {
                Box::new(iter::empty())
            }
            Err(error) => Box::new(iter::once(Err(error))),
        }
    }

    fn records(&self, file: &InputFile) -> Result<Records, ReadError> {
        let watch = &self.watch;
        let bytes_read = || Arc::clone(&self.bytes_read);
        let source = || Source::open(file, bytes_read(), watch, self.encoding);
        let shape = || {
            Arc::new(Shape {
                names: self.fields.clone(),
                file: file.id.clone(),
            })
        };
        Ok(match file.format {
            Format::Text => {
                let text = source()?.read_all()?;
                self.whole(
                    file,
                    Contents {
                        text,
                        ..Contents::default()
                    },
                )
            }
            Format::Markdown => {
                let place = Place::whole(&file.path);
                self.whole(
                    file,
                    markdown::contents(&source()?.read_all()?, &place, watch)?,
                )
            }
            Format::Html => self.whole(
                file,
                html::contents(&source()?.read_all()?, self.html, watch)?,
            ),
            Format::Pdf => self.whole(
                file,
                pdf::contents(&source()?.read_bytes()?, &file.path, watch)?,
            ),
            Format::JsonLines => Box::new(jsonl::records(source()?, shape())),
            Format::Csv => Box::new(delimited::records(source()?, b',', shape())?),
            Format::Tsv => Box::new(delimited::records(source()?, b'\t', shape())?),
            Format::Parquet => Box::new(parquet::records(file, bytes_read(), watch, shape())?),
            Format::MediaWiki => Box::new(mediawiki::records(source()?)?),
        })
    }

    /// The one document of a file.
    fn whole(&self, file: &InputFile, contents: Contents) -> Records {
        if contents.text.trim().is_empty() {
            let path = file.path.clone();
            self.watch.notices.add(path, NoticeKind::WithoutText);
        }
        let document = Document {
            id: file.id.clone(),
            title: contents.title.unwrap_or_else(|| stem(&file.path)),
            text: contents.text,
            metadata: contents.metadata,
            record: false,
        };
        let place = Place::whole(&file.path);
        Box::new(iter::once(Ok(Record { document, place })))
    }
}

impl Iterator for Documents {
    type Item = Result<Document, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Err(stopped) = self.watch.check() {
                // Once: nothing follows it.
                return (!mem::replace(&mut self.ended, true)).then_some(Err(stopped));
            }
            if let Some(record) = self.records.next() {
                let record = record.and_then(|record| within_budget(record, &self.watch));
                self.ended |= matches!(record, Err(ReadError::Stopped));
                return Some(record.and_then(|record| unseen(&mut self.seen, record)));
            }
            let file = self.files.next()?;
            self.records = self.open(&file);
        }
    }
}

/// Refuses a document that came out over the budget: rows of Parquet and codes of PDF fonts can
/// expand to more than they take in the file.
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

/// Refuses a document whose id was read before.
fn unseen(seen: &mut HashSet<[u8; 16]>, record: Record) -> Result<Document, ReadError> {
    let Record { document, place } = record;
    let mut key = [0; 16];
    key.copy_from_slice(&blake3::hash(document.id.as_bytes()).as_bytes()[..16]);
    if seen.insert(key) {
        Ok(document)
    } else {
        Err(ReadError::DuplicateId {
            place,
            id: document.id,
        })
    }
}
