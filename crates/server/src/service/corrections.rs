//! Corrections: of a question, the source that was right, as a person says. They are kept as lines that a
//! datastore imports.

use ken_answer::datastore::id_of;
use serde::{Deserialize, Serialize};

use super::collected::{Collected, Item};

/// All of them.
pub(crate) type Corrections = Collected<Correction>;

/// A question and the source that was right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Correction {
    /// It follows from the question, as that of an entry.
    pub(crate) id: String,
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
