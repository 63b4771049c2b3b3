//! Documents from files, folders and standard input, one at a time.
//!
//! Formats are told by the file's extension, less that of a compression, or named by the caller;
//! each has a file here. Nothing is fetched, and no other encoding than UTF-8 is read. Readers
//! write nothing: `ken-corpus` tells them what a document is, and which folders are a corpus and
//! are passed over.

mod budget;
mod compression;
mod documents;
mod error;
mod fields;
mod files;
mod format;
mod front_matter;
mod html;
mod jsonl;
mod markdown;
mod mediawiki;
mod names;
mod parquet;
mod pdf;
mod place;
mod record;
mod separated;
mod source;
mod watch;

pub use budget::Budget;
pub use compression::Compression;
pub use documents::{Documents, ReadOptions, ReadProgress, read_documents, read_documents_with};
pub use error::ReadError;
pub use format::{Format, FormatError};
pub use place::{Part, Place};
