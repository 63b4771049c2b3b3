//! The published documents and their contents, which can be queried while the writer publishes.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use super::error::CorpusError;
use super::segment::Segment;
use crate::document::Document;
use crate::passage::PassageId;

/// How a document relates to the published ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentState {
    /// No document of this id is published.
    New,
    /// It is published with the same content, in this shard.
    Unchanged(u32),
    /// Other content is published under its id, in this shard.
    Changed(u32),
}

/// The place of a live document or passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The index of the segment.
    pub(super) segment: usize,
    /// The ordinal in the segment.
    pub(super) ordinal: usize,
}

/// The live documents of a corpus. All clones share the same corpus, and follow its publications.
#[derive(Debug, Clone, Default)]
pub struct Known(Arc<RwLock<Vec<Arc<Segment>>>>);

/// The published version of a document.
#[derive(Debug)]
pub struct Published {
    /// The segment that holds it.
    pub segment: Arc<Segment>,
    /// The ordinals of its passages in the segment.
    pub passages: std::ops::Range<usize>,
}

impl Known {
    /// How `document` relates to the published ones. Staged ones do not count.
    ///
    /// # Errors
    /// [`CorpusError::Damaged`] if a record cannot be read.
    pub fn state_of(&self, document: &Document) -> Result<DocumentState, CorpusError> {
        let segments = self.read();
        let Some(place) = place_of(&segments, &document.id)? else {
            return Ok(DocumentState::New);
        };
        let segment = &segments[place.segment];
        let known = segment.document(place.ordinal)?.digest;
        Ok(match known == document.digest_text() {
            true => DocumentState::Unchanged(segment.shard()),
            false => DocumentState::Changed(segment.shard()),
        })
    }

    /// The file that the published document of this id was read from, if known.
    ///
    /// # Errors
    /// As [`Known::state_of`].
    pub fn origin_of(&self, id: &str) -> Result<Option<String>, CorpusError> {
        let segments = self.read();
        let place = place_of(&segments, id)?;
        let record = place.map(|place| segments[place.segment].document(place.ordinal));
        Ok(record.transpose()?.and_then(|record| record.origin))
    }

    /// The published document of this id.
    ///
    /// # Errors
    /// As [`Known::state_of`].
    pub fn published(&self, id: &str) -> Result<Option<Published>, CorpusError> {
        let segments = self.read();
        let place = place_of(&segments, id)?;
        let published = |place: Place| {
            let segment = Arc::clone(&segments[place.segment]);
            let passages = segment.passages_of(place.ordinal)?;
            Ok(Published { segment, passages })
        };
        place.map(published).transpose()
    }

    /// The passages of the published document of this id, pruned or not.
    ///
    /// # Errors
    /// [`CorpusError::UnknownDocument`] if there is none; as [`Known::state_of`].
    pub fn passages_of(&self, id: &str) -> Result<Vec<PassageId>, CorpusError> {
        let unknown = || CorpusError::UnknownDocument { id: id.to_owned() };
        let Published { segment, passages } = self.published(id)?.ok_or_else(unknown)?;
        let ids = passages.map(|ordinal| Ok(PassageId(segment.record(ordinal)?.id)));
        ids.collect()
    }

    /// The place of the live document of this id.
    pub(super) fn place_of(&self, id: &str) -> Result<Option<Place>, CorpusError> {
        place_of(&self.read(), id)
    }

    /// The place of the passage of a live document, pruned or not.
    pub(super) fn passage_place(&self, id: &PassageId) -> Result<Option<Place>, CorpusError> {
        newest(&self.read(), |segment| segment.ordinal_of_any(id))
    }

    /// The published segments, oldest first.
    pub fn segments(&self) -> Vec<Arc<Segment>> {
        self.read().clone()
    }

    fn read(&self) -> RwLockReadGuard<'_, Vec<Arc<Segment>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn replace(&self, segments: Vec<Arc<Segment>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = segments;
    }
}

fn place_of(segments: &[Arc<Segment>], id: &str) -> Result<Option<Place>, CorpusError> {
    newest(segments, |segment| segment.live_document(id))
}

/// The place in the newest segment in which `find` returns an ordinal.
fn newest(
    segments: &[Arc<Segment>],
    find: impl Fn(&Segment) -> Result<Option<usize>, CorpusError>,
) -> Result<Option<Place>, CorpusError> {
    for (segment, opened) in segments.iter().enumerate().rev() {
        if let Some(ordinal) = find(opened)? {
            return Ok(Some(Place { segment, ordinal }));
        }
    }
    Ok(None)
}
