//! How files, folders and records are read.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ken_corpus::FieldNames;
use serde_json::{Map, Value};

use crate::base_url::BaseUrl;
use crate::budget::Budget;
use crate::convert::Converters;
use crate::encoding::Encoding;
use crate::format::Format;
use crate::html::HtmlPart;

/// How to read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The format of standard input, which is the path `-`, and of files given by name, whatever
    /// their extensions; `None` to go by the extensions.
    pub format: Option<Format>,
    /// Follows links to files outside the given folders; without it, only links within them. Links
    /// to folders are never followed.
    pub follow_links: bool,
    /// The encoding of all text; `None` to detect that of each file.
    pub encoding: Option<Encoding>,
    /// The names of the fields of records, if they are not the known ones.
    pub fields: FieldNames,
    /// Which part of HTML pages is read.
    pub html: HtmlPart,
    /// The address of the folder. It gives documents that are whole files a `url`, unless they name one themselves.
    pub base_url: Option<BaseUrl>,
    /// Patterns, as in a `.gitignore` file, of what is left out of the given folders. They come before those of the
    /// `.ignore` and `.gitignore` files in these.
    pub exclude: Vec<String>,
    /// Whether the files are temporary copies, such as uploads, so that documents do not record their paths, and nothing
    /// is left out.
    pub copies: bool,
    /// Additional metadata of each document, which wins if both have a key.
    pub metadata: Map<String, Value>,
    /// The commands that read files of other formats.
    pub converters: Converters,
    /// The limits on one document.
    pub budget: Budget,
    /// Stops the reading, even within a document: the next item is then [`ReadError::Stopped`](crate::ReadError::Stopped).
    pub stop: Arc<AtomicBool>,
}
