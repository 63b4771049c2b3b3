//! The vectors of published passages, so that unchanged ones are not embedded again.

use std::collections::HashMap;

use ken_corpus::{Known, Published, titled};
use ken_index::{RowBuffer, SegmentVectors};

use crate::IngestError;

/// Vectors by the embedded text.
pub(crate) struct KnownVectors {
    known: Known,
    dimensions: usize,
    /// The mapped vectors, by segment.
    open: HashMap<String, SegmentVectors>,
}

impl KnownVectors {
    pub(crate) fn new(known: Known, dimensions: usize) -> Self {
        Self {
            known,
            dimensions,
            open: HashMap::new(),
        }
    }

    /// The texts that were embedded for a published document, with their vectors.
    pub(crate) fn of_document(
        &mut self,
        id: &str,
    ) -> Result<HashMap<String, Vec<f32>>, IngestError> {
        let Some(published) = self.mapped(id)? else {
            return Ok(HashMap::new());
        };
        let segment = &published.segment;
        let vectors = self.open.get(segment.id());
        let mut by_text = HashMap::new();
        let mut buffer = RowBuffer::default();
        for ordinal in published.passages {
            let passage = segment.passage(ordinal)?;
            let text = titled(&passage.full_title(), &passage.text);
            if let Some(vectors) = vectors {
                by_text.insert(text, vectors.row(ordinal, &mut buffer)?.to_vec());
            }
        }
        Ok(by_text)
    }

    /// The published document of this id, with the vectors of its segment mapped.
    fn mapped(&mut self, id: &str) -> Result<Option<Published>, IngestError> {
        let mut published = self.known.published(id)?;
        while let Some(Published { segment, .. }) = &published {
            if self.open.contains_key(segment.id()) {
                break;
            }
            let opened =
                SegmentVectors::open(segment.files(), segment.passage_count(), self.dimensions);
            let now = self.known.published(id)?;
            match opened {
                Ok(vectors) => {
                    self.open.insert(segment.id().to_owned(), vectors);
                    break;
                }
                // The segment was just merged and removed; the document is elsewhere.
                Err(_)
                    if now
                        .as_ref()
                        .is_some_and(|now| now.segment.id() != segment.id()) =>
                {
                    published = now;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(published)
    }
}
