//! Corrections: the source that would have been right for a question, as a person says. They are stored as lines that
//! a datastore imports.

use ken_answer::datastore::id_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::collection::{Collection, Item};

/// All corrections.
pub(crate) type Corrections = Collection<Correction>;

/// A line of the corrections, as `ken datastore import` reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CorrectionObject")]
pub(crate) struct Correction {
    /// Derived from the question.
    pub(crate) id: String,
    /// The question.
    pub(crate) question: String,
    /// `self`, or the name of a corpus.
    pub(crate) source: String,
}

impl Correction {
    pub(crate) fn new(question: String, source: String) -> Self {
        Self {
            id: id_of(&question),
            question,
            source,
        }
    }
}

impl Item for Correction {
    fn id(&self) -> &str {
        &self.id
    }

    fn bytes(&self) -> usize {
        self.question.len() + self.source.len()
    }
}
