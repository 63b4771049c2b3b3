//! Passages by their ids, with the vectors that their corpus is searched by, on disk and in Milvus.

use std::collections::HashMap;

use ken_answer::{AnswerError, BackEnd};
use ken_corpus::{Passage, PassageId};
use ken_index::IndexError;

use super::error::PruningError;
use super::precedence::place_of;
use super::vectors::StoredVectors;

/// A passage with its vector.
pub(crate) type Stored = (Passage, Vec<f32>);

/// The passages of a corpus, pruned or not.
pub(crate) struct StoredPassages<'a> {
    corpus: &'a BackEnd,
    /// Those of a corpus on disk.
    vectors: Option<StoredVectors>,
}

impl<'a> StoredPassages<'a> {
    /// # Errors
    /// A file of vectors that is missing or damaged.
    pub(crate) fn open(corpus: &'a BackEnd) -> Result<Self, IndexError> {
        let vectors = corpus.corpus().map(StoredVectors::open).transpose()?;
        Ok(Self { corpus, vectors })
    }

    /// Passages with their vectors, in the order of their ids; `None` for one that the corpus does not have.
    ///
    /// # Errors
    /// A file that cannot be read, a server that fails, a corpus behind a search service.
    pub(crate) fn of(&self, ids: &[PassageId]) -> Result<Vec<Option<Stored>>, PruningError> {
        match (self.corpus, self.corpus.corpus(), &self.vectors) {
            (BackEnd::Milvus(collection), ..) => {
                let stored = collection.stored(ids).map_err(AnswerError::from)?;
                let by_id = stored.into_iter().map(|held| (held.0.id.clone(), held));
                let mut by_id: HashMap<PassageId, _> = by_id.collect();
                Ok(ids.iter().map(|id| by_id.remove(id)).collect())
            }
            (_, Some(corpus), Some(vectors)) => {
                let held = ids.iter().map(|id| {
                    let Some((segment, ordinal)) = place_of(corpus, id)? else {
                        return Ok(None);
                    };
                    let passage = corpus.segments()[segment].passage(ordinal)?;
                    Ok(Some((passage, vectors.row(segment, ordinal)?)))
                });
                held.collect()
            }
            _ => Err(AnswerError::NotListed {
                path: self.corpus.place(),
            }
            .into()),
        }
    }
}
