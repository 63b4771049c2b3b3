//! Corrections: of a question, the source that was right, as a person says. They are kept as lines that a
//! datastore imports.

use ken_answer::datastore::{SELF, id_of};
use serde::{Deserialize, Serialize};

use super::collected::{Collected, Item};
use crate::access::caller::Caller;

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
    /// The corpora that the question is asked of; none where nobody said any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) corpora: Vec<String>,
}

impl Correction {
    /// Of a question that is asked of these corpora, beside the one that is right.
    pub(crate) fn new(question: String, source: String, mut corpora: Vec<String>) -> Self {
        if source != SELF && !corpora.contains(&source) {
            corpora.push(source.clone());
        }
        Self {
            id: id_of(&question),
            question,
            source,
            corpora,
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

    fn is_for(&self, caller: &Caller) -> bool {
        caller.may_read_each(&self.corpora)
    }
}
