//! The types that readers return.

use ken_corpus::{Document, Outline};
use serde_json::{Map, Value};

use crate::error::ReadError;
use crate::place::Place;

/// A document and its place in the input.
pub(crate) struct Record {
    pub(crate) document: Document,
    pub(crate) place: Place,
}

/// The documents of one file. It ends after an error that makes the rest of the file unreadable.
pub(crate) type Records = Box<dyn Iterator<Item = Result<Record, ReadError>> + Send>;

/// The contents of a file that is one document.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Contents {
    /// The title that the file names or shows.
    pub(crate) title: Option<String>,
    pub(crate) text: String,
    pub(crate) outline: Outline,
    /// The file's metadata, besides the title.
    pub(crate) metadata: Map<String, Value>,
}

/// The words of a text with single spaces between them; `None` if there are none.
pub(crate) fn one_line(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// The records that `next` returns, up to the end or an error for which `continues` is false.
pub(crate) fn records(
    mut next: impl FnMut() -> Result<Option<Record>, ReadError> + Send,
    continues: fn(&ReadError) -> bool,
) -> impl Iterator<Item = Result<Record, ReadError>> + Send {
    let mut ended = false;
    std::iter::from_fn(move || {
        if ended {
            return None;
        }
        let record = next().transpose();
        ended = match &record {
            Some(Ok(_)) => false,
            Some(Err(error)) => !continues(error),
            None => true,
        };
        record
    })
}
