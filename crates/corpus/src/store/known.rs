//! Which documents are published, and what they held. It can be asked while the writer publishes.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use super::error::CorpusError;
use super::segment::Segment;
use crate::document::Document;
use crate::passage::PassageId;

/// How a document relates to what is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentState {
    /// No document of this id is published.
    New,
    /// It is published just as it is, in this shard.
    Unchanged(u32),
    /// Another content is published under its id, in this shard.
    Changed(u32),
}

/// Where a live document or one of its passages stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The number of the segment.
    pub(super) segment: usize,
    /// The ordinal in it.
    pub(super) ordinal: usize,
}

/// The live documents of a corpus. All clones are of the same corpus, and follow its publications.
#[derive(Debug, Clone, Default)]
pub struct Known(Arc<RwLock<Vec<Arc<Segment>>>>);

/// A published version of a document, with what stands beside it.
#[derive(Debug)]
pub struct Published {
    /// The segment that holds it.
    pub segment: Arc<Segment>,
    /// The ordinals of its passages in the segment.
    pub passages: std::ops::Range<usize>,
}

impl Known {
    /// How `document` relates to what is published. Stages do not count.
    ///
    /// # Errors
    /// [`CorpusError::Damaged`] where a record cannot be read.
    pub fn state_of(&self, document: &Document) -> Result<DocumentState, CorpusError> {
        let segments = self.read();
        let Some(place) = place_of(&segments, &document.id)? else {
            return Ok(DocumentState::New);
        };
        let segment = &segments[place.segment];
        let known = segment.document(place.ordinal)?.digest;
        let digest = blake3::Hash::from_bytes(document.digest()).to_hex();
        Ok(match known == digest.as_str() {
            true => DocumentState::Unchanged(segment.shard()),
            false => DocumentState::Changed(segment.shard()),
        })
    }

    /// The published document of this id.
    ///
    /// # Errors
    /// As [`Known::state_of`].
    pub fn published(&self, id: &str) -> Result<Option<Published>, CorpusError> {
        let segments = self.read();
        let place = place_of(&segments, id)?;
        Ok(place.map(|place| Published {
            passages: segments[place.segment].passages_of(place.ordinal),
            segment: Arc::clone(&segments[place.segment]),
        }))
    }

    /// Where the live document of this id stands.
    pub(super) fn place_of(&self, id: &str) -> Result<Option<Place>, CorpusError> {
        place_of(&self.read(), id)
    }

    /// Where the passage of a live document stands, pruned or not.
    pub(super) fn passage_place(&self, id: &PassageId) -> Result<Option<Place>, CorpusError> {
        for (number, segment) in self.read().iter().enumerate().rev() {
            if let Some(ordinal) = segment.ordinal_of_any(id)? {
                return Ok(Some(Place {
                    segment: number,
                    ordinal,
                }));
            }
        }
        Ok(None)
    }

    /// The published segments, oldest first.
    #[must_use]
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
    for (number, segment) in segments.iter().enumerate().rev() {
        if let Some(ordinal) = segment.live_document(id)? {
            return Ok(Some(Place {
                segment: number,
                ordinal,
            }));
        }
    }
    Ok(None)
}
