//! Corrections: of a question, the source that was right, as a person says. They are kept as lines that a
//! datastore imports.

use ken_answer::datastore::id_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::collection::{Collection, Item};

/// All of them.
pub(crate) type Corrections = Collection<Correction>;

/// A line of the corrections, as `ken datastore import` reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CorrectionObject")]
pub(crate) struct Correction {
    /// It follows from the question.
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
