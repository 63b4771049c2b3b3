//! The errors of reading documents.

use std::io;
use std::path::{Path, PathBuf};

use crate::budget::{Budget, Halt};
use crate::compression::{self, Compression};
use crate::format::{Format, KNOWN};
use crate::place::Place;
use crate::unread::Unread;
use ken_diagnostic::{Remedy, remedy};
use ken_storage::{io_kind, io_remedy};

const RECORD: &str =
    r#"a record is {"id", "contents"}, {"id", "title", "text"} or {"_id", "title", "text"}"#;
const QUOTING: &str = "a field with a separator, a quote or a line break in it has to be quoted, and quotes in it doubled";

/// A document could not be read.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs)] // the messages say what variants and fields are
pub enum ReadError {
    #[error("{path} does not exist")]
    #[diagnostic(remedy = "check the spelling of the path")]
    MissingPath { path: PathBuf },
    #[error("{path} holds no documents{}{}", besides(unread), without(*excluded))]
    #[diagnostic(remedy = "the known formats are {KNOWN}")]
    NoDocuments {
        path: PathBuf,
        unread: Unread,
        excluded: usize,
    },
    #[error("`{pattern}` is no pattern of files: {reason}")]
    #[diagnostic(remedy = "write it as in a .gitignore file, such as *.log or drafts/")]
    BadPattern { pattern: String, reason: String },
    #[error("{path} is of no known format")]
    #[diagnostic(remedy = "the known formats are {KNOWN}")]
    UnknownFormat { path: PathBuf },
    #[error("the format of standard input is not given")]
    #[diagnostic(remedy = "name it, e.g. <format> jsonl")]
    StdinWithoutFormat,
    /// Parquet is read from its end, which standard input does not allow.
    #[error("Parquet cannot be read from standard input")]
    #[diagnostic(remedy = "write it to a file and give that")]
    ParquetFromStdin,
    /// `byte_offset` counts from 0, after decompression.
    #[error("{place}: invalid UTF-8 at byte {byte_offset} of the file")]
    #[diagnostic(
        remedy = "name its encoding with <encoding>, or convert the file to UTF-8, e.g. with iconv"
    )]
    InvalidUtf8 { place: Place, byte_offset: u64 },
    /// It has more NULs or control characters than text in any encoding.
    #[error("{path} is no text")]
    #[diagnostic(remedy = "give its text, or name its encoding with <encoding>")]
    NoText { path: PathBuf },
    /// The parser's own line number is always 1.
    #[error("{place}: broken JSON: {source}")]
    #[diagnostic(remedy = "each line has to be one JSON object")]
    BrokenJson {
        place: Place,
        source: serde_json::Error,
    },
    #[error("{place}: the record has no {names}")]
    #[diagnostic(remedy = fields())]
    MissingField { place: Place, names: String },
    #[error("{place}: the field {field:?} is not {expected}")]
    #[diagnostic(remedy = fields())]
    WrongType {
        place: Place,
        field: String,
        expected: &'static str,
    },
    #[error("{place}: the header has no column {names}")]
    #[diagnostic(remedy = "name a column of the header with <field>, e.g. <field> text=body")]
    MissingColumn { place: Place, names: String },
    #[error("{place}: the header names the column {name:?} twice")]
    #[diagnostic(remedy = "give each column a name of its own")]
    ColumnTwice { place: Place, name: String },
    #[error("{place}: the record has {found} fields, but the header {expected}")]
    #[diagnostic(remedy = Remedy::from(QUOTING))]
    FieldCount {
        place: Place,
        found: usize,
        expected: usize,
    },
    #[error("{place}: a quote of this record is never closed")]
    #[diagnostic(remedy = Remedy::from(QUOTING))]
    OpenQuote { place: Place },
    #[error("{place}: broken XML: {reason}")]
    #[diagnostic(remedy = "fetch the dump again")]
    BrokenXml { place: Place, reason: String },
    #[error("{place}: broken Parquet: {reason}")]
    #[diagnostic(
        remedy = "write the file again, compressed with snappy, gzip, lz4, zstd or not at all"
    )]
    BrokenParquet { place: Place, reason: String },
    #[error("{path} is a broken PDF: {reason}")]
    #[diagnostic(remedy = "write the file again, e.g. with qpdf, or give its text")]
    BrokenPdf { path: PathBuf, reason: String },
    #[error("{path} is an encrypted PDF")]
    #[diagnostic(remedy = "remove the password, e.g. with qpdf --decrypt")]
    EncryptedPdf { path: PathBuf },
    /// `unread`: how many characters it draws in fonts that do not tell their meaning.
    #[error(
        "{path} has no text on its {pages} pages{}",
        match unread {
            0 => String::new(),
            unread => format!(" that can be read: its fonts do not say what {unread} characters mean"),
        }
    )]
    #[diagnostic(
        remedy = "recognize the text of its pages first, e.g. with ocrmypdf (--force-ocr where they show text)"
    )]
    PdfWithoutText {
        path: PathBuf,
        pages: usize,
        unread: usize,
    },
    /// `format` is the expected one.
    #[error("{path} is a broken {format} file: {reason}")]
    #[diagnostic(remedy = "open the file in the program that wrote it, and save it again")]
    BrokenFile {
        path: PathBuf,
        format: Format,
        reason: String,
    },
    #[error("{path} is encrypted")]
    #[diagnostic(remedy = "save it without a password")]
    EncryptedFile { path: PathBuf },
    #[error("{path} holds more than {limit} {unit} after decompression")]
    #[diagnostic(
        remedy = "give more with <max_document_bytes>, or unpack the file and leave out what is not needed"
    )]
    ArchiveTooLarge {
        path: PathBuf,
        unit: &'static str,
        limit: u64,
    },
    #[error("{place}: the document id {id:?} was read before")]
    #[diagnostic(
        remedy = "give each record an id of its own; ingest two folders with equal file names by their parent folder"
    )]
    DuplicateId { place: Place, id: String },
    #[error("{path} could not be converted by `{command}`: {reason}")]
    #[diagnostic(remedy = "run the command by hand; it has to write the text to standard output")]
    ConverterFailed {
        path: PathBuf,
        command: String,
        reason: String,
    },
    #[error("{path} would replace {other}: both are the document {id:?}")]
    #[diagnostic(
        remedy = "ingest both by the folder above them, or rename one; if it has moved, remove it from its old place"
    )]
    OtherFile {
        path: PathBuf,
        other: PathBuf,
        id: String,
    },
    #[error("{path} is cut off: the {compression} data end too early")]
    #[diagnostic(kind = by_compression(*compression, ["truncated_gzip", "truncated_zstd", "truncated_bzip2"]), remedy = "fetch or compress the file again")]
    Truncated {
        path: PathBuf,
        compression: Compression,
    },
    #[error("{path} is no valid {compression} file: {source}")]
    #[diagnostic(kind = by_compression(*compression, ["damaged_gzip", "damaged_zstd", "damaged_bzip2"]), remedy = "fetch or compress the file again")]
    Damaged {
        path: PathBuf,
        compression: Compression,
        source: io::Error,
    },
    /// `rest_lost`: its end was not found, so the rest of its file cannot be read.
    #[error(
        "{place}: the document has more than {limit} bytes{}",
        if *rest_lost { ", and no end, so the rest of the file is not read" } else { "" }
    )]
    #[diagnostic(remedy = larger_budget())]
    DocumentTooLarge {
        place: Place,
        limit: u64,
        rest_lost: bool,
    },
    #[error("{place}: the document has more than {limit} {parts}")]
    #[diagnostic(remedy = larger_budget())]
    TooManyParts {
        place: Place,
        parts: &'static str,
        limit: u64,
    },
    #[error("{place}: the document is nested more than {} deep", Budget::DEPTH)]
    #[diagnostic(remedy = "flatten the document, or leave such documents out with <skip_broken>")]
    TooDeep { place: Place },
    #[error("{place}: its pages draw more than {limit} bytes of content")]
    #[diagnostic(remedy = larger_budget())]
    TooMuchWork { place: Place, limit: u64 },
    #[error("{path} is compressed with a window of more than {limit} bytes")]
    #[diagnostic(
        remedy = "give more with <max_document_bytes>, of which a window may have twice as many, or compress the file again without --long"
    )]
    WindowTooLarge { path: PathBuf, limit: u64 },
    #[error("the reading was stopped")]
    #[diagnostic(remedy = "run the same command again to resume")]
    Stopped,
    #[error("cannot read {path}: {source}")]
    #[diagnostic(kind = io_kind(source), remedy = io_remedy(source, path))]
    Io { path: PathBuf, source: io::Error },
}

/// A description of what a folder without documents holds instead.
fn besides(unread: &Unread) -> String {
    match unread.to_string() {
        files if files.is_empty() => String::new(),
        files => format!("; it holds files that are not read: {files}"),
    }
}

fn without(excluded: usize) -> String {
    match excluded {
        0 => String::new(),
        1 => "; 1 file or folder in it is excluded".to_owned(),
        more => format!("; {more} files and folders in it are excluded"),
    }
}

fn by_compression(compression: Compression, kinds: [&'static str; 3]) -> &'static str {
    let [gzip, zstd, bzip2] = kinds;
    match compression {
        Compression::Gzip => gzip,
        Compression::Zstd => zstd,
        Compression::Bzip2 => bzip2,
    }
}

fn larger_budget() -> Remedy {
    remedy!("give more with <max_document_bytes>, or leave such documents out with <skip_broken>")
}

fn fields() -> Remedy {
    remedy!("{RECORD}; name other fields with <field>, e.g. <field> text=body")
}

impl ReadError {
    /// A file that is no whole one of its format.
    pub(crate) fn broken(path: &Path, format: Format, reason: impl Into<String>) -> Self {
        Self::BrokenFile {
            path: path.to_owned(),
            format,
            reason: reason.into(),
        }
    }

    pub(crate) fn too_large(place: Place, limit: u64, rest_lost: bool) -> Self {
        Self::DocumentTooLarge {
            place,
            limit,
            rest_lost,
        }
    }

    /// Whether only one record is affected, so that reading its file can continue.
    pub(crate) fn concerns_record(&self) -> bool {
        matches!(
            self,
            Self::InvalidUtf8 { .. }
                | Self::BrokenJson { .. }
                | Self::MissingField { .. }
                | Self::WrongType { .. }
                | Self::FieldCount { .. }
                | Self::OpenQuote { .. }
                | Self::DuplicateId { .. }
                | Self::TooManyParts { .. }
                | Self::DocumentTooLarge {
                    rest_lost: false,
                    ..
                }
        )
    }

    /// The error for a failed read of `path`.
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
                return Self::too_large(Place::whole(&path), budget.document_bytes, false);
            }
            None => {}
        }
        if compression == Some(Compression::Zstd) && compression::wants_larger_window(&source) {
            return Self::WindowTooLarge {
                path,
                limit: 1 << budget.window_log(),
            };
        }
        // Only errors of the system have a number; others come from the decompressor.
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
