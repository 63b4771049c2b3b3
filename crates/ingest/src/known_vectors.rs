//! The vectors of published passages, so that what did not change is not embedded again.

use std::collections::HashMap;

use ken_corpus::Known;
use ken_index::SegmentVectors;

use crate::IngestError;
use crate::stages::embedded_text;

/// Vectors by what was embedded.
pub(crate) struct KnownVectors {
    known: Known,
    dimensions: usize,
    /// Mapped so far, by segment.
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
        let Some(published) = self.known.published(id)? else {
            return Ok(HashMap::new());
        };
        let segment = &published.segment;
        if !self.open.contains_key(segment.id()) {
            let vectors =
                SegmentVectors::open(segment.dir(), segment.passage_count(), self.dimensions)?;
            self.open.insert(segment.id().to_owned(), vectors);
        }
        let vectors = self.open.get(segment.id());
        let mut found = HashMap::new();
        for ordinal in published.passages {
            let passage = segment.passage(ordinal)?;
            let text = embedded_text(&passage.title, &passage.text);
            let vector = vectors.map(|vectors| vectors.row(ordinal));
            found.extend(vector.map(|vector| (text, vector.to_vec())));
        }
        Ok(found)
    }
}
