//! The documents of a corpus, and their passages.

use ken_corpus::{ListedDocument, Passage};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::ken::Location;
use super::page::Page;
use super::query::{self, Parameter};
use super::refusal::Refusal;

/// A document of a corpus.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DocumentObject {
    /// The document.
    pub(crate) doc_id: String,
    /// Its title; may be empty.
    pub(crate) title: String,
    /// How many passages it has, including those left out.
    passages: usize,
    /// How many are left out of every result.
    pruned: usize,
    /// Its metadata; `pages` if it has some, `url` where it can be read.
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
}

impl From<ListedDocument> for DocumentObject {
    fn from(document: ListedDocument) -> Self {
        Self {
            doc_id: document.id,
            title: document.title,
            passages: document.passages,
            pruned: document.pruned,
            metadata: document.metadata,
        }
    }
}

/// A passage of a document.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PassageObject {
    /// The passage.
    pub(crate) passage_id: String,
    /// Its place in the document.
    #[serde(flatten)]
    location: Location,
    /// The text.
    pub(crate) text: String,
    /// Whether it is left out of every result.
    pub(crate) pruned: bool,
}

impl PassageObject {
    pub(crate) fn of(passage: Passage, is_live: bool) -> Self {
        Self {
            passage_id: passage.id.0,
            location: passage.location.into(),
            text: passage.text,
            pruned: !is_live,
        }
    }
}

/// The parameters of a page of documents.
pub(crate) const DOCUMENTS: &[Parameter] = &[
    Parameter("prefix", "string", "How the ids of documents begin"),
    Parameter("limit", "integer", "Documents of a page"),
    Parameter(
        "after",
        "string",
        "The id of the last document before the page",
    ),
    Parameter("order", "string", "`desc`, newest first, or `asc`"),
];

/// The parameters of a page of a document's passages.
pub(crate) const PASSAGES: &[Parameter] = &[
    Parameter("document", "string", "The document, by its id"),
    Parameter("limit", "integer", "Passages of a page"),
    Parameter(
        "after",
        "string",
        "The id of the last passage before the page",
    ),
];

/// Reads the query of an address that lists pages and has one other parameter, empty if it is not given.
///
/// # Errors
/// An unknown parameter, a value that cannot be taken.
pub(crate) fn paged(query: Option<&str>, own: &str) -> Result<(String, Page), Refusal> {
    let (mut value, mut page) = (String::new(), Page::default());
    for (name, given) in query::pairs(query) {
        if name == own {
            value = given.into_owned();
        } else if !page.take(&name, &given)? {
            let known = format!("`{own}`, `limit`, `after` and `order`");
            return Err(query::unknown(&name, &known));
        }
    }
    Ok((value, page))
}
