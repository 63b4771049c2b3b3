//! The shard of a document, and whether this run ingests it.

use ken_corpus::{Assigner, CorpusError, DocumentState, Writer};

/// Assigns documents to shards as they are read.
pub(crate) struct Split {
    assigner: Assigner,
    only: Option<u32>,
}

impl Split {
    /// Continues from the published documents. A run for one shard knows nothing of the others, so
    /// it repeats the assignment from the first document on, as the runs for the others do.
    pub(crate) fn new(writer: &Writer, only: Option<u32>) -> Result<Self, CorpusError> {
        let sharding = writer.settings().sharding;
        if let Some(shard) = only
            && shard >= sharding.count
        {
            return Err(CorpusError::UnknownShard {
                shard,
                shards: sharding.count,
            });
        }
        let mut documents = vec![0; sharding.count as usize];
        if only.is_none() {
            for segment in writer.known().segments() {
                if let Some(count) = documents.get_mut(segment.shard() as usize) {
                    *count += segment.live_document_count() as u64;
                }
            }
        }
        Ok(Self {
            assigner: Assigner::new(sharding, &documents),
            only,
        })
    }

    /// The shard of the next document; `None` if it belongs to another run. A known document stays
    /// in its shard.
    pub(crate) fn shard(&mut self, id: &str, state: DocumentState) -> Option<u32> {
        let assigned = match (state, self.only) {
            (DocumentState::New, _) | (_, Some(_)) => Some(self.assigner.assign(id)),
            _ => None,
        };
        match state {
            DocumentState::Unchanged(shard) | DocumentState::Changed(shard) => Some(shard),
            DocumentState::New => {
                assigned.filter(|&shard| self.only.is_none_or(|only| only == shard))
            }
        }
    }
}
