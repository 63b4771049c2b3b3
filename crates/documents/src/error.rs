//! What can go wrong while documents are read.

use std::io;
use std::path::{Path, PathBuf};

use crate::budget::{Budget, Halt};
use crate::compression::{self, Compression};
use crate::format::KNOWN;
use crate::names::{ID_NAMES, TEXT_NAMES, either};
use crate::place::Place;
use ken_diagnostic::{Remedy, remedy};
use ken_storage::{io_kind, io_remedy};

const RECORD: &str =
    r#"a record is {"id", "contents"}, {"id", "title", "text"} or {"_id", "title", "text"}"#;
const QUOTING: &str = "a field with a separator, a quote or a line break in it stands in quotes, and quotes in it are doubled";

/// A document could not be read.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum ReadError {
    /// A given path does not exist.
    #[error("{path} does not exist")]
    #[diagnostic(remedy = "check the spelling of the path")]
    MissingPath {
        /// The given path.
        path: PathBuf,
    },
    /// A given folder, or everything given, holds no file of a known format.
    #[error("{path} holds no documents")]
    #[diagnostic(remedy = "the known formats are {KNOWN}")]
    NoDocuments {
        /// The given folder.
        path: PathBuf,
    },
    /// A file that was named is of no known format.
    #[error("{path} is of no known format")]
    #[diagnostic(remedy = "the known formats are {KNOWN}")]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// Nothing says what standard input holds.
    #[error("the format of standard input is not given")]
    #[diagnostic(remedy = "name it, e.g. <format> jsonl")]
    StdinWithoutFormat,
    /// Parquet is read from its end, and standard input cannot be.
    #[error("Parquet cannot be read from standard input")]
    #[diagnostic(remedy = "write it to a file and give that")]
    ParquetFromStdin,
    /// A file is not UTF-8.
    #[error("{place}: invalid UTF-8 at byte {byte_offset} of the file")]
    #[diagnostic(remedy = "convert the file to UTF-8, e.g. with iconv")]
    InvalidUtf8 {
        /// The line.
        place: Place,
        /// The first wrong byte, from 0, after decompression.
        byte_offset: u64,
    },
    /// A line is not a JSON object.
    #[error("{place}: broken JSON: {source}")]
    #[diagnostic(remedy = "each line has to be one JSON object")]
    BrokenJson {
        /// The line.
        place: Place,
        /// What the parser says; its own line number is always 1.
        source: serde_json::Error,
    },
    /// A record lacks a field.
    #[error("{place}: the record has no {}", either(names))]
    #[diagnostic(remedy = Remedy::from(RECORD))]
    MissingField {
        /// The record.
        place: Place,
        /// The names that the field may have.
        names: &'static [&'static str],
    },
    /// A field is of the wrong type.
    #[error("{place}: the field {field:?} is not {expected}")]
    #[diagnostic(remedy = Remedy::from(RECORD))]
    WrongType {
        /// The record.
        place: Place,
        /// The field.
        field: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// A table lacks a column.
    #[error("{place}: the header has no column {}", either(names))]
    #[diagnostic(remedy = columns())]
    MissingColumn {
        /// The header.
        place: Place,
        /// The names that the column may have.
        names: &'static [&'static str],
    },
    /// Two columns have one name.
    #[error("{place}: the header names the column {name:?} twice")]
    #[diagnostic(remedy = "give each column a name of its own")]
    ColumnTwice {
        /// The header.
        place: Place,
        /// The name.
        name: String,
    },
    /// A record has more or fewer fields than there are columns.
    #[error("{place}: the record has {found} fields, but the header {expected}")]
    #[diagnostic(remedy = Remedy::from(QUOTING))]
    FieldCount {
        /// The line that the record begins in.
        place: Place,
        /// The record's fields.
        found: usize,
        /// The columns.
        expected: usize,
    },
    /// A file ends within quotes.
    #[error("{place}: a quote of this record is never closed")]
    #[diagnostic(remedy = Remedy::from(QUOTING))]
    OpenQuote {
        /// The line that the record begins in.
        place: Place,
    },
    /// A file is not well-formed XML.
    #[error("{place}: broken XML: {reason}")]
    #[diagnostic(remedy = "fetch the dump again")]
    BrokenXml {
        /// The line.
        place: Place,
        /// What the parser says.
        reason: String,
    },
    /// A file is no Parquet, or its data are wrong.
    #[error("{place}: broken Parquet: {reason}")]
    #[diagnostic(
        remedy = "write the file again, compressed with snappy, gzip, lz4, zstd or not at all"
    )]
    BrokenParquet {
        /// The file or the row.
        place: Place,
        /// What the decoder says.
        reason: String,
    },
    /// A PDF cannot be taken apart.
    #[error("{path} is a broken PDF: {reason}")]
    #[diagnostic(remedy = "write the file again, e.g. with qpdf, or give its text")]
    BrokenPdf {
        /// The file.
        path: PathBuf,
        /// What the parser says.
        reason: String,
    },
    /// A PDF opens with a password only.
    #[error("{path} is an encrypted PDF")]
    #[diagnostic(remedy = "take the password off, e.g. with qpdf --decrypt")]
    EncryptedPdf {
        /// The file.
        path: PathBuf,
    },
    /// A PDF has pages, but no text on them.
    #[error("{path} has no text on its {pages} pages")]
    #[diagnostic(remedy = "where it is scanned, recognize its text first, e.g. with ocrmypdf")]
    PdfWithoutText {
        /// The file.
        path: PathBuf,
        /// How many pages there are.
        pages: usize,
    },
    /// Two documents have one id.
    #[error("{place}: the document id {id:?} was read before")]
    #[diagnostic(
        remedy = "give each record an id of its own; ingest two folders with equal file names by their parent folder"
    )]
    DuplicateId {
        /// The second of them.
        place: Place,
        /// The id.
        id: String,
    },
    /// A compressed file ends too early.
    #[error("{path} is cut off: the {compression} data end too early")]
    #[diagnostic(kind = by_compression(*compression, ["truncated_gzip", "truncated_zstd", "truncated_bzip2"]), remedy = "fetch or compress the file again")]
    Truncated {
        /// The file.
        path: PathBuf,
        /// What it is compressed with.
        compression: Compression,
    },
    /// A compressed file is not what its name says, or its data are wrong.
    #[error("{path} is no valid {compression} file: {source}")]
    #[diagnostic(kind = by_compression(*compression, ["damaged_gzip", "damaged_zstd", "damaged_bzip2"]), remedy = "fetch or compress the file again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What it should be compressed with.
        compression: Compression,
        /// What the decompressor says.
        source: io::Error,
    },
    /// A document is larger than its budget.
    #[error(
        "{place}: the document has more than {limit} bytes{}",
        if *rest_lost { ", and no end, so the rest of the file is not read" } else { "" }
    )]
    #[diagnostic(
        remedy = "give more with <max_document_bytes>, or leave such documents out with <skip_broken>"
    )]
    DocumentTooLarge {
        /// The document.
        place: Place,
        /// The most bytes of a document.
        limit: u64,
        /// Whether its end was not found, so that its file cannot be read on.
        rest_lost: bool,
    },
    /// A document consists of more values than its budget allows.
    #[error("{place}: the document has more than {limit} {parts}")]
    #[diagnostic(
        remedy = "give more with <max_document_bytes>, or leave such documents out with <skip_broken>"
    )]
    TooManyParts {
        /// The document.
        place: Place,
        /// What there is too much of.
        parts: &'static str,
        /// The most of it.
        limit: u64,
    },
    /// A document is nested too deep.
    #[error("{place}: the document is nested more than {} deep", Budget::DEPTH)]
    #[diagnostic(remedy = "flatten the document, or leave such documents out with <skip_broken>")]
    TooDeep {
        /// The document.
        place: Place,
    },
    /// The pages of a document take more work than its budget allows.
    #[error("{place}: its pages draw more than {limit} bytes of content")]
    #[diagnostic(
        remedy = "give more with <max_document_bytes>, or leave such documents out with <skip_broken>"
    )]
    TooMuchWork {
        /// The document.
        place: Place,
        /// The most bytes of content that a document draws.
        limit: u64,
    },
    /// A Zstandard file can only be unpacked with more memory than the budget allows.
    #[error("{path} is compressed with a window of more than {limit} bytes")]
    #[diagnostic(
        remedy = "give more with <max_document_bytes>, of which a window may have twice as many, or compress the file again without --long"
    )]
    WindowTooLarge {
        /// The file.
        path: PathBuf,
        /// The largest window.
        limit: u64,
    },
    /// Somebody wanted the reading to stop.
    #[error("the reading was stopped")]
    #[diagnostic(remedy = "run the same command again to go on")]
    Stopped,
    /// The system refused to read.
    #[error("cannot read {path}: {source}")]
    #[diagnostic(kind = io_kind(source.kind()), remedy = io_remedy(source.kind(), path))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

fn by_compression(compression: Compression, codes: [&'static str; 3]) -> &'static str {
    let [gzip, zstd, bzip2] = codes;
    match compression {
        Compression::Gzip => gzip,
        Compression::Zstd => zstd,
        Compression::Bzip2 => bzip2,
    }
}

fn columns() -> Remedy {
    let (ids, texts) = (either(ID_NAMES), either(TEXT_NAMES));
    remedy!("the first line has to name the columns, among them {ids}, and {texts}")
}

impl ReadError {
    /// Whether only one record is wrong, so that its file can be read on.
    pub(crate) fn concerns_record(&self) -> bool {
        matches!(
            self,
            Self::InvalidUtf8 { .. }
                | Self::BrokenJson { .. }
                | Self::MissingField { .. }
                | Self::WrongType { .. }
                | Self::FieldCount { .. }
                | Self::DuplicateId { .. }
                | Self::TooManyParts { .. }
                | Self::DocumentTooLarge {
                    rest_lost: false,
                    ..
                }
        )
    }

    /// What a failed read of `path` means, which is compressed or not.
    pub(crate) fn from_io(
        source: io::Error,
        path: &Path,
        compression: Option<Compression>,
        budget: Budget,
    ) -> Self {
        let path = path.to_owned();
        match Halt::of(&source) {
            Some(Halt::Stopped) => return Self::Stopped,
            Some(Halt::OverBudget) => {
                return Self::DocumentTooLarge {
                    place: Place::whole(&path),
                    limit: budget.document_bytes,
                    rest_lost: false,
                };
            }
            None => {}
        }
        if compression == Some(Compression::Zstd) && compression::wants_larger_window(&source) {
            return Self::WindowTooLarge {
                path,
                limit: 1 << budget.window_log(),
            };
        }
        // Only what the system says has a number; the rest is said by the decompressor.
        match compression {
            Some(compression) if source.raw_os_error().is_none() => match source.kind() {
                io::ErrorKind::UnexpectedEof => Self::Truncated { path, compression },
                _ => Self::Damaged {
                    path,
                    compression,
                    source,
                },
            },
            _ => Self::Io { path, source },
        }
    }
}
