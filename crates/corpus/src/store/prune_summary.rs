//! The pruned passages of a generation, by reason and by document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::corpus::Corpus;
use super::error::CorpusError;
use super::prune_mark::PruneMark;
use super::segment::Segment;
use crate::passage::PassageId;

/// The passages that are pruned for one reason.
#[derive(Debug, Clone, PartialEq)]
pub struct Pruning {
    /// The reason.
    pub reason: String,
    /// The number of these passages that belong to live documents.
    pub passages: usize,
    /// The number of their documents.
    pub documents: usize,
    /// The lowest score among them.
    pub lowest_score: f64,
    /// The highest one.
    pub highest_score: f64,
}

/// A live document with pruned passages.
#[derive(Debug, Clone, PartialEq)]
pub struct PrunedDocument {
    /// Its id.
    pub id: String,
    /// Its title; may be empty.
    pub title: String,
    /// What the source says about it, besides its title.
    pub metadata: Map<String, Value>,
    /// How many passages it has, pruned ones included.
    pub passages: usize,
    /// The pruned passages, in the order of the text.
    pub pruned: Vec<PruneMark>,
}

impl Corpus {
    /// The passages that are pruned, by reason; the reasons in alphabetical order. Only marks are read.
    ///
    /// # Errors
    /// If marks cannot be read.
    pub fn prunings(&self) -> Result<Vec<Pruning>, CorpusError> {
        let mut by_reason: BTreeMap<String, Pruning> = BTreeMap::new();
        for segment in self.segments() {
            let mut documents = BTreeSet::new();
            for (document, mark) in segment.pruned()? {
                let pruning = by_reason
                    .entry(mark.reason)
                    .or_insert_with_key(|reason| Pruning {
                        reason: reason.clone(),
                        passages: 0,
                        documents: 0,
                        lowest_score: mark.score,
                        highest_score: mark.score,
                    });
                pruning.passages += 1;
                pruning.documents +=
                    usize::from(documents.insert((document, pruning.reason.clone())));
                pruning.lowest_score = pruning.lowest_score.min(mark.score);
                pruning.highest_score = pruning.highest_score.max(mark.score);
            }
        }
        Ok(by_reason.into_values().collect())
    }

    /// The documents with pruned passages, newest first.
    ///
    /// # Errors
    /// If marks cannot be read; [`CorpusError::Damaged`] if a record cannot be read.
    pub fn pruned_documents(&self) -> Result<Vec<PrunedDocument>, CorpusError> {
        let mut all = Vec::new();
        for segment in self.segments() {
            let mut of_document: BTreeMap<usize, Vec<PruneMark>> = BTreeMap::new();
            for (document, mark) in segment.pruned()? {
                let id = segment.record(mark.ordinal as usize)?.id;
                of_document
                    .entry(document)
                    .or_default()
                    .push(PruneMark::new(PassageId(id), mark.score, mark.reason));
            }
            for (document, pruned) in of_document {
                all.push(segment.pruned_document(document, pruned)?);
            }
        }
        all.reverse();
        Ok(all)
    }
}

impl Segment {
    fn pruned_document(
        &self,
        document: usize,
        pruned: Vec<PruneMark>,
    ) -> Result<PrunedDocument, CorpusError> {
        let record = self.document(document)?;
        Ok(PrunedDocument {
            id: record.id,
            title: record.title,
            metadata: record.metadata,
            passages: self.passages_of(document)?.len(),
            pruned,
        })
    }
}
