//! Which documents are published, and what they held. It can be asked while the writer publishes.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use super::error::CorpusError;
use super::layout;
use super::manifest::SegmentManifest;
use super::record;
use crate::document::{Digest, Document};

/// How a document relates to what is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentState {
    /// No document of this id is published.
    New,
    /// It is published just as it is.
    Unchanged,
    /// Another content is published under its id.
    Changed,
}

/// Where a live document stands, and what it held.
#[derive(Debug, Clone, Copy)]
struct Place {
    segment: u32,
    ordinal: u32,
    digest: Digest,
}

/// The live documents of a corpus. All clones are of the same corpus, and follow its publications.
#[derive(Debug, Clone)]
pub struct Known(Arc<RwLock<HashMap<Box<str>, Place>>>);

impl Known {
    /// Reads the documents that these segments hold.
    pub(super) fn read(dir: &Path, segments: &[SegmentManifest]) -> Result<Self, CorpusError> {
        Ok(Self(Arc::new(RwLock::new(read_live(dir, segments)?))))
    }

    /// How `document` relates to what is published. Stages do not count.
    #[must_use]
    pub fn state_of(&self, document: &Document) -> DocumentState {
        match self.get(&document.id) {
            None => DocumentState::New,
            Some(place) if place.digest == document.digest() => DocumentState::Unchanged,
            Some(_) => DocumentState::Changed,
        }
    }

    /// The numbers of the segment and, in it, of the live document of this id.
    pub(super) fn place_of(&self, id: &str) -> Option<(u32, u32)> {
        self.get(id).map(|place| (place.segment, place.ordinal))
    }

    /// Puts the documents of a new segment, in their order, in place of those of the same ids.
    pub(super) fn add(&self, segment: u32, documents: Vec<(Box<str>, Digest)>) {
        let mut live = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for (ordinal, (id, digest)) in (0_u32..).zip(documents) {
            let place = Place {
                segment,
                ordinal,
                digest,
            };
            live.insert(id, place);
        }
    }

    fn get(&self, id: &str) -> Option<Place> {
        let live = self.0.read().unwrap_or_else(PoisonError::into_inner);
        live.get(id).copied()
    }
}

/// Where each live document stands.
fn read_live(
    dir: &Path,
    segments: &[SegmentManifest],
) -> Result<HashMap<Box<str>, Place>, CorpusError> {
    let mut live = HashMap::new();
    for (segment, manifest) in (0_u32..).zip(segments) {
        let path = layout::segment(dir, &manifest.id).join(layout::DOCUMENTS);
        record::read_documents(&path, |ordinal, record| {
            if manifest.tombstones.binary_search(&ordinal).is_ok() {
                return Ok(());
            }
            let digest = blake3::Hash::from_hex(&record.digest)
                .map_err(|error| CorpusError::damaged(&path, error.to_string()))?;
            let place = Place {
                segment,
                ordinal,
                digest: *digest.as_bytes(),
            };
            live.insert(record.id.into(), place);
            Ok(())
        })?;
    }
    Ok(live)
}
