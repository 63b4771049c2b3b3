//! Reading documents from files and folders, one at a time.
//!
//! Formats are told by the file's extension, less a last `.gz`: plain text, Markdown, HTML and
//! JSON Lines. Nothing is fetched, and no other encoding than UTF-8 is read.

mod documents;
mod error;
mod files;
mod format;
mod html;
mod jsonl;
mod markdown;
mod source;

pub use documents::{Documents, ReadProgress, read_documents};
pub use error::ReadError;
