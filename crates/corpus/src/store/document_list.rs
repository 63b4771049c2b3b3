//! The documents of a corpus, one by one.

use serde::Serialize;
use serde_json::{Map, Value};

use super::corpus::Corpus;
use super::document_names::{file_name, folded};
use super::error::CorpusError;
use super::segment::Segment;
use crate::passage::{Passage, PassageId};

/// A live document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ListedDocument {
    /// Its id.
    pub id: String,
    /// [`crate::Document::digest_text`].
    #[serde(skip)]
    pub digest: String,
    /// Its title; may be empty.
    pub title: String,
    /// How many passages it has, pruned ones included.
    pub passages: usize,
    /// How many of them are pruned.
    pub pruned: usize,
    /// The file that it was read from, if known.
    pub origin: Option<String>,
    /// What the source says about it, besides its title.
    pub metadata: Map<String, Value>,
}

/// Passages, each with whether it is live.
type ListedPassages<'c> = Box<dyn Iterator<Item = Result<(Passage, bool), CorpusError>> + 'c>;

/// The most documents whose names are read: a million take some seconds, once for a generation, and 32 MB.
const MOST_NAMED: usize = 1 << 20;

impl Corpus {
    /// The live documents from files of a name, which may be written in any case, without the extension or with folders, as
    /// segment and ordinal, ascending. Of more than a million documents, only the one with this id.
    ///
    /// # Errors
    /// [`CorpusError::Damaged`] if a record cannot be read.
    pub fn documents_named(&self, name: &str) -> Result<Vec<(usize, usize)>, CorpusError> {
        if self.document_count() > MOST_NAMED {
            return Ok(self.place_of(name)?.into_iter().collect());
        }
        let path = folded(name);
        let path = path.trim_start_matches("./");
        let documents = self.names()?.of(file_name(path));
        let Some((folder, _)) = path.rsplit_once('/') else {
            return Ok(documents.collect());
        };
        let mut within = Vec::new();
        for (number, document) in documents {
            let record = self.segments()[number].document(document)?;
            let mut paths = [Some(record.id), record.origin].into_iter().flatten();
            if paths.any(|path| is_in(&path, folder)) {
                within.push((number, document));
            }
        }
        Ok(within)
    }

    /// The live documents, in the order in which they were added, or the newest first. If an id is given, only the
    /// documents after that one, which may be deleted by now.
    ///
    /// # Errors
    /// As items: [`CorpusError::UnknownDocument`] if no segment holds that one, [`CorpusError::Damaged`] if a record cannot
    /// be read.
    pub fn documents(
        &self,
        after: Option<&str>,
        newest_first: bool,
    ) -> Box<dyn Iterator<Item = Result<ListedDocument, CorpusError>> + '_> {
        let place = match after.map(|id| self.last_place_of(id)).transpose() {
            Ok(place) => place,
            Err(error) => return Box::new(std::iter::once(Err(error))),
        };
        let is_after = move |document: &(usize, usize)| match place {
            None => true,
            Some(place) if newest_first => *document < place,
            Some(place) => *document > place,
        };
        let all = self.segments().iter().enumerate();
        let all = all.flat_map(|(number, segment)| {
            let documents = segment.live_documents();
            documents.map(move |document| (number, document))
        });
        let listed = |(number, document): (usize, usize)| self.segments()[number].listed(document);
        if newest_first {
            // Collecting places instead of documents takes little memory.
            let mut all: Vec<(usize, usize)> = all.filter(is_after).collect();
            all.reverse();
            return Box::new(all.into_iter().map(listed));
        }
        Box::new(all.filter(is_after).map(listed))
    }

    /// The passages of a live document, each with whether it is live or pruned, in the order of its text. If the id of a
    /// passage is given, only those after its position, at which there may be none. `None` if there is no such document.
    ///
    /// # Errors
    /// [`CorpusError::UnknownPassage`] if that is no passage's id in this document; [`CorpusError::Damaged`] if a record
    /// cannot be read, also as items.
    pub fn passages_of(
        &self,
        id: &str,
        after: Option<&str>,
    ) -> Result<Option<ListedPassages<'_>>, CorpusError> {
        let Some((number, document)) = self.place_of(id)? else {
            return Ok(None);
        };
        let segment = &self.segments()[number];
        let mut passages = segment.passages_of(document)?;
        if let Some(after) = after {
            let after = PassageId(after.to_owned());
            let position = after.split().filter(|(own, _)| *own == id);
            let Some((_, position)) = position else {
                return Err(CorpusError::UnknownPassage { id: after.0 });
            };
            passages.start = segment.passage_from(document, position.saturating_add(1))?;
        }
        let listed =
            passages.map(|ordinal| Ok((segment.passage(ordinal)?, segment.is_live(ordinal))));
        Ok(Some(Box::new(listed)))
    }

    /// As [`Corpus::place_of`]; else of the last one that was deleted and is still in a segment.
    fn last_place_of(&self, id: &str) -> Result<(usize, usize), CorpusError> {
        if let Some(place) = self.place_of(id)? {
            return Ok(place);
        }
        for (number, segment) in self.segments().iter().enumerate().rev() {
            if let Some(document) = segment.any_document(id)? {
                return Ok((number, document));
            }
        }
        Err(CorpusError::UnknownDocument { id: id.to_owned() })
    }

    /// The segment and the ordinal of the live document of an id.
    fn place_of(&self, id: &str) -> Result<Option<(usize, usize)>, CorpusError> {
        for (number, segment) in self.segments().iter().enumerate() {
            if let Some(document) = segment.live_document(id)? {
                return Ok(Some((number, document)));
            }
        }
        Ok(None)
    }
}

/// Whether a file is in a folder, of which the last parts are given as [`folded`] writes them.
fn is_in(path: &str, folder: &str) -> bool {
    let path = folded(path);
    let own = path.rsplit_once('/').map_or("", |(own, _)| own);
    let above = own.strip_suffix(folder);
    above.is_some_and(|above| above.is_empty() || above.ends_with('/'))
}

impl Segment {
    /// The document with this ordinal.
    ///
    /// # Errors
    /// [`CorpusError::Damaged`] if its record cannot be read.
    pub fn listed(&self, document: usize) -> Result<ListedDocument, CorpusError> {
        let record = self.document(document)?;
        let passages = self.passages_of(document)?;
        let count = passages.len();
        Ok(ListedDocument {
            id: record.id,
            digest: record.digest,
            title: record.title,
            metadata: record.metadata,
            origin: record.origin,
            passages: count,
            pruned: count - self.live().count_ones(passages),
        })
    }
}
