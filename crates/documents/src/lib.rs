//! Documents from files, folders and standard input, one at a time.
//!
//! The format follows from the file's extension, without that of a compression, or the caller names it. Each format has
//! a module here. Of folders, hidden entries and those that patterns exclude are left out. Readers fetch nothing and write
//! nothing. They decode text in encodings other than UTF-8, and report that in a notice. `ken-corpus` defines what a document
//! is, and which folders are a corpus and thus skipped.
//!
//! ```
//! use std::io::Write;
//!
//! let mut file = tempfile::Builder::new().suffix(".md").tempfile()?;
//! write!(file, "# The bell\n\nIt was cast in *1734*.\n")?;
//! for document in ken_documents::read_documents(&[file.path().to_owned()])? {
//!     let document = document?;
//!     assert_eq!(document.title, "The bell");
//!     assert!(document.text.contains("It was cast in 1734."));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod archive;
mod attachment;
mod base_url;
mod budget;
mod compression;
mod convert;
mod delimited;
mod documents;
mod encoding;
mod epub;
mod error;
mod exclusions;
mod fields;
mod files;
mod format;
mod front_matter;
mod html;
mod json_array;
mod jsonl;
mod mail;
mod markdown;
mod markup;
mod mediawiki;
mod notebook;
mod notice;
mod numerals;
mod office;
mod open;
mod options;
mod package;
mod parquet;
mod pdf;
mod place;
mod prose;
mod raised;
mod record;
mod rtf;
mod seen_files;
mod source;
mod strike;
mod symbols;
mod table;
mod terminal;
mod unread;
mod watch;
mod xml;

pub use base_url::{BaseUrl, BaseUrlError};
pub use budget::Budget;
pub use compression::Compression;
pub use convert::{Converter, ConverterError, Converters};
pub use documents::{
    Documents, ReadIds, ReadProgress, is_origin_gone, origin_of, read_documents,
    read_documents_with, read_records,
};
pub use encoding::{Encoding, EncodingError};
pub use error::ReadError;
pub use files::{SkipReason, Skipped};
pub use format::{Format, FormatError};
pub use html::{HtmlPart, HtmlPartError};
pub use notice::{Notice, NoticeKind, Notices};
pub use options::ReadOptions;
pub use place::{Part, Place};
pub use seen_files::SeenFiles;
pub use unread::{Unread, UnreadKind};
