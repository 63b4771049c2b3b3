//! What can go wrong while documents are read.

use std::io;
use std::path::{Path, PathBuf};

use crate::budget::{Budget, Halt};
use crate::compression::{self, Compression};
use crate::format::KNOWN;
use crate::names::{ID_NAMES, TEXT_NAMES, either};
use crate::place::Place;
use ken_storage::{io_hint, io_kind};

/// A document could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A given path does not exist.
    #[error("{path} does not exist")]
    MissingPath {
        /// The given path.
        path: PathBuf,
    },
    /// A given folder, or everything given, holds no file of a known format.
    #[error("{path} holds no documents")]
    NoDocuments {
        /// The given folder.
        path: PathBuf,
    },
    /// A file that was named is of no known format.
    #[error("{path} is of no known format")]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// Nothing says what standard input holds.
    #[error("the format of standard input is not given")]
    StdinWithoutFormat,
    /// Parquet is read from its end, and standard input cannot be.
    #[error("Parquet cannot be read from standard input")]
    ParquetFromStdin,
    /// A file is not UTF-8.
    #[error("{place}: invalid UTF-8 at byte {byte_offset} of the file")]
    InvalidUtf8 {
        /// The line.
        place: Place,
        /// The first wrong byte, from 0, after decompression.
        byte_offset: u64,
    },
    /// A line is not a JSON object.
    #[error("{place}: broken JSON: {source}")]
    BrokenJson {
        /// The line.
        place: Place,
        /// What the parser says; its own line number is always 1.
        source: serde_json::Error,
    },
    /// A record lacks a field.
    #[error("{place}: the record has no {}", either(names))]
    MissingField {
        /// The record.
        place: Place,
        /// The names that the field may have.
        names: &'static [&'static str],
    },
    /// A field is of the wrong type.
    #[error("{place}: the field {field:?} is not {expected}")]
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
    MissingColumn {
        /// The header.
        place: Place,
        /// The names that the column may have.
        names: &'static [&'static str],
    },
    /// Two columns have one name.
    #[error("{place}: the header names the column {name:?} twice")]
    ColumnTwice {
        /// The header.
        place: Place,
        /// The name.
        name: String,
    },
    /// A record has more or fewer fields than there are columns.
    #[error("{place}: the record has {found} fields, but the header {expected}")]
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
    OpenQuote {
        /// The line that the record begins in.
        place: Place,
    },
    /// A file is not well-formed XML.
    #[error("{place}: broken XML: {reason}")]
    BrokenXml {
        /// The line.
        place: Place,
        /// What the parser says.
        reason: String,
    },
    /// A file is no Parquet, or its data are wrong.
    #[error("{place}: broken Parquet: {reason}")]
    BrokenParquet {
        /// The file or the row.
        place: Place,
        /// What the decoder says.
        reason: String,
    },
    /// A PDF cannot be taken apart.
    #[error("{path} is a broken PDF: {reason}")]
    BrokenPdf {
        /// The file.
        path: PathBuf,
        /// What the parser says.
        reason: String,
    },
    /// A PDF opens with a password only.
    #[error("{path} is an encrypted PDF")]
    EncryptedPdf {
        /// The file.
        path: PathBuf,
    },
    /// A PDF has pages, but no text on them.
    #[error("{path} has no text on its {pages} pages")]
    PdfWithoutText {
        /// The file.
        path: PathBuf,
        /// How many pages there are.
        pages: usize,
    },
    /// Two documents have one id.
    #[error("{place}: the document id {id:?} was read before")]
    DuplicateId {
        /// The second of them.
        place: Place,
        /// The id.
        id: String,
    },
    /// A compressed file ends too early.
    #[error("{path} is cut off: the {compression} data end too early")]
    Truncated {
        /// The file.
        path: PathBuf,
        /// What it is compressed with.
        compression: Compression,
    },
    /// A compressed file is not what its name says, or its data are wrong.
    #[error("{path} is no valid {compression} file: {source}")]
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
    TooDeep {
        /// The document.
        place: Place,
    },
    /// The pages of a document take more work than its budget allows.
    #[error("{place}: its pages draw more than {limit} bytes of content")]
    TooMuchWork {
        /// The document.
        place: Place,
        /// The most bytes of content that a document draws.
        limit: u64,
    },
    /// A Zstandard file can only be unpacked with more memory than the budget allows.
    #[error("{path} is compressed with a window of more than {limit} bytes")]
    WindowTooLarge {
        /// The file.
        path: PathBuf,
        /// The largest window.
        limit: u64,
    },
    /// Somebody wanted the reading to stop.
    #[error("the reading was stopped")]
    Stopped,
    /// The system refused to read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

impl ReadError {
    /// A short stable name of the kind of error.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::MissingPath { .. } => "missing_path",
            Self::NoDocuments { .. } => "no_documents",
            Self::UnknownFormat { .. } => "unknown_format",
            Self::StdinWithoutFormat => "stdin_without_format",
            Self::ParquetFromStdin => "parquet_from_stdin",
            Self::InvalidUtf8 { .. } => "invalid_utf8",
            Self::BrokenJson { .. } => "broken_json",
            Self::MissingField { .. } => "missing_field",
            Self::WrongType { .. } => "wrong_type",
            Self::MissingColumn { .. } => "missing_column",
            Self::ColumnTwice { .. } => "column_twice",
            Self::FieldCount { .. } => "field_count",
            Self::OpenQuote { .. } => "open_quote",
            Self::BrokenXml { .. } => "broken_xml",
            Self::BrokenParquet { .. } => "broken_parquet",
            Self::BrokenPdf { .. } => "broken_pdf",
            Self::EncryptedPdf { .. } => "encrypted_pdf",
            Self::PdfWithoutText { .. } => "pdf_without_text",
            Self::DuplicateId { .. } => "duplicate_id",
            Self::Truncated { compression, .. } => match compression {
                Compression::Gzip => "truncated_gzip",
                Compression::Zstd => "truncated_zstd",
                Compression::Bzip2 => "truncated_bzip2",
            },
            Self::Damaged { compression, .. } => match compression {
                Compression::Gzip => "damaged_gzip",
                Compression::Zstd => "damaged_zstd",
                Compression::Bzip2 => "damaged_bzip2",
            },
            Self::DocumentTooLarge { .. } => "document_too_large",
            Self::TooManyParts { .. } => "too_many_parts",
            Self::TooDeep { .. } => "too_deep",
            Self::TooMuchWork { .. } => "too_much_work",
            Self::WindowTooLarge { .. } => "window_too_large",
            Self::Stopped => "stopped",
            Self::Io { source, .. } => io_kind(source.kind()),
        }
    }

    /// The remedy, where one is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::MissingPath { .. } => "check the spelling of the path".to_owned(),
            Self::NoDocuments { .. } | Self::UnknownFormat { .. } => {
                format!("the known formats are {KNOWN}")
            }
            Self::StdinWithoutFormat => "name it, e.g. --format jsonl".to_owned(),
            Self::ParquetFromStdin => "write it to a file and give that".to_owned(),
            Self::InvalidUtf8 { .. } => "convert the file to UTF-8, e.g. with iconv".to_owned(),
            Self::BrokenJson { .. } => "each line has to be one JSON object".to_owned(),
            Self::MissingField { .. } | Self::WrongType { .. } => {
                "a record is {\"id\", \"contents\"}, {\"id\", \"title\", \"text\"} or {\"_id\", \"title\", \"text\"}"
                    .to_owned()
            }
            Self::MissingColumn { .. } => format!(
                "the first line has to name the columns, among them {}, and {}",
                either(ID_NAMES),
                either(TEXT_NAMES)
            ),
            Self::ColumnTwice { .. } => "give each column a name of its own".to_owned(),
            Self::FieldCount { .. } | Self::OpenQuote { .. } => {
                "a field with a separator, a quote or a line break in it stands in quotes, and quotes in it are doubled"
                    .to_owned()
            }
            Self::DuplicateId { .. } => {
                "give each record an id of its own; ingest two folders with equal file names by their parent folder"
                    .to_owned()
            }
            Self::BrokenXml { .. } => "fetch the dump again".to_owned(),
            Self::BrokenParquet { .. } => {
                "write the file again, compressed with snappy, gzip, lz4, zstd or not at all"
                    .to_owned()
            }
            Self::BrokenPdf { .. } => {
                "write the file again, e.g. with qpdf, or give its text".to_owned()
            }
            Self::EncryptedPdf { .. } => {
                "take the password off, e.g. with qpdf --decrypt".to_owned()
            }
            Self::PdfWithoutText { .. } => {
                "where it is scanned, recognize its text first, e.g. with ocrmypdf".to_owned()
            }
            Self::Truncated { .. } | Self::Damaged { .. } => {
                "fetch or compress the file again".to_owned()
            }
            Self::DocumentTooLarge { .. } | Self::TooManyParts { .. } | Self::TooMuchWork { .. } => {
                "give more with --max-document-bytes, or leave such documents out with --skip-broken"
                    .to_owned()
            }
            Self::TooDeep { .. } => {
                "flatten the document, or leave such documents out with --skip-broken".to_owned()
            }
            Self::WindowTooLarge { .. } => {
                "give more with --max-document-bytes, of which a window may have twice as many, or compress the file again without --long"
                    .to_owned()
            }
            Self::Stopped => "run the same command again to go on".to_owned(),
            Self::Io { source, path } => return io_hint(source.kind(), path),
        })
    }

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
