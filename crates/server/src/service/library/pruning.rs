//! Leaving passages of a corpus out of every result, and restoring them, each as one generation.

use std::path::Path;

use ken_corpus::{CorpusError, PassageId, PruneMark, Writer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is to be left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Prune {
    /// Whole documents.
    pub(crate) documents: Vec<String>,
    pub(crate) passages: Vec<Mark>,
    /// Of the documents, and of passages that have none of their own.
    pub(crate) reason: String,
}

/// A passage to leave out: a line of what `ken prune apply --dry-run --out` writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MarkedPassage")]
pub(crate) struct Mark {
    /// The passage.
    pub(crate) passage_id: String,
    /// How well the model knows it without reading it, or any other measure; 0 by default.
    #[serde(default)]
    pub(crate) score: f64,
    /// Why.
    pub(crate) reason: Option<String>,
}

/// What to restore.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RestoreRequest")]
pub(crate) struct Restore {
    /// Documents, all of whose passages are restored.
    #[serde(default)]
    pub(crate) documents: Vec<String>,
    /// Single passages, by their ids.
    #[serde(default)]
    pub(crate) passages: Vec<String>,
    /// Everything that is left out for one of these reasons.
    #[serde(default)]
    pub(crate) reasons: Vec<String>,
}

impl Prune {
    /// Does so.
    ///
    /// # Errors
    /// What is not there, before anything is changed; a corpus that cannot be written.
    pub(crate) fn run(&self, corpus: &Path) -> Result<(), CorpusError> {
        let mut writer = Writer::open(corpus)?;
        let mut marks: Vec<PruneMark> = of_documents(&writer, &self.documents)?
            .into_iter()
            .map(|passage_id| PruneMark::new(passage_id, 0.0, self.reason.clone()))
            .collect();
        marks.extend(self.passages.iter().map(|mark| {
            PruneMark::new(
                PassageId(mark.passage_id.clone()),
                mark.score,
                mark.reason.as_ref().unwrap_or(&self.reason).clone(),
            )
        }));
        writer.prune(marks).map(drop)
    }
}

impl Restore {
    /// Does so.
    ///
    /// # Errors
    /// As [`Prune::run`].
    pub(crate) fn run(&self, corpus: &Path) -> Result<(), CorpusError> {
        let mut writer = Writer::open(corpus)?;
        let mut passages = of_documents(&writer, &self.documents)?;
        passages.extend(self.passages.iter().cloned().map(PassageId));
        writer.restore(&passages, &self.reasons).map(drop)
    }
}

/// The passages of documents.
fn of_documents(writer: &Writer, documents: &[String]) -> Result<Vec<PassageId>, CorpusError> {
    let known = writer.known();
    let of_each = documents.iter().map(|id| known.passages_of(id));
    Ok(of_each.collect::<Result<Vec<_>, _>>()?.concat())
}
