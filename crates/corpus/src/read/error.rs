//! What can go wrong while documents are read.

use std::io;
use std::path::{Path, PathBuf};

use super::format::KNOWN;
use crate::io_hint::{io_hint, io_kind};

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
    /// A file is not UTF-8.
    #[error("{path}:{line}: invalid UTF-8 at byte {byte_offset} of the file")]
    InvalidUtf8 {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The first wrong byte, from 0, after decompression.
        byte_offset: u64,
    },
    /// A line is not a JSON object.
    #[error("{path}:{line}: broken JSON: {source}")]
    BrokenJson {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What the parser says; its own line number is always 1.
        source: serde_json::Error,
    },
    /// A record lacks a field.
    #[error("{path}:{line}: the record has no {field}")]
    MissingField {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The names that the field may have.
        field: &'static str,
    },
    /// A field is of the wrong type.
    #[error("{path}:{line}: the field {field:?} is not {expected}")]
    WrongType {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The field.
        field: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// Two documents have one id.
    #[error("{path}:{line}: the document id {id:?} was read before")]
    DuplicateId {
        /// The file with the second of them.
        path: PathBuf,
        /// Its line, from 1.
        line: u64,
        /// The id.
        id: String,
    },
    /// A compressed file ends too early.
    #[error("{path} is cut off: the gzip data end too early")]
    TruncatedGzip {
        /// The file.
        path: PathBuf,
    },
    /// A compressed file is not gzip, or its data are wrong.
    #[error("{path} is no valid gzip file: {source}")]
    DamagedGzip {
        /// The file.
        path: PathBuf,
        /// What the decompressor says.
        source: io::Error,
    },
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
            Self::InvalidUtf8 { .. } => "invalid_utf8",
            Self::BrokenJson { .. } => "broken_json",
            Self::MissingField { .. } => "missing_field",
            Self::WrongType { .. } => "wrong_type",
            Self::DuplicateId { .. } => "duplicate_id",
            Self::TruncatedGzip { .. } => "truncated_gzip",
            Self::DamagedGzip { .. } => "damaged_gzip",
            Self::Io { source, .. } => io_kind(source.kind()),
        }
    }

    /// The remedy, where one is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::MissingPath { .. } => Some("check the spelling of the path".to_owned()),
            Self::NoDocuments { .. } | Self::UnknownFormat { .. } => {
                Some(format!("the known formats are {KNOWN}"))
            }
            Self::InvalidUtf8 { .. } => {
                Some("convert the file to UTF-8, e.g. with iconv".to_owned())
            }
            Self::BrokenJson { .. } => Some("each line has to be one JSON object".to_owned()),
            Self::MissingField { .. } | Self::WrongType { .. } => Some(
                "a record is {\"id\", \"contents\"}, {\"id\", \"title\", \"text\"} or {\"_id\", \"title\", \"text\"}"
                    .to_owned(),
            ),
            Self::DuplicateId { .. } => Some(
                "give each record an id of its own; ingest two folders with equal file names by their parent folder"
                    .to_owned(),
            ),
            Self::TruncatedGzip { .. } | Self::DamagedGzip { .. } => {
                Some("fetch or compress the file again".to_owned())
            }
            Self::Io { source, path } => io_hint(source.kind(), path),
        }
    }

    /// What a failed read of `path` means.
    pub(super) fn from_io(source: io::Error, path: &Path, gzip: bool) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::UnexpectedEof if gzip => Self::TruncatedGzip { path },
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput if gzip => {
                Self::DamagedGzip { path, source }
            }
            _ => Self::Io { path, source },
        }
    }
}
