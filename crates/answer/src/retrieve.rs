//! Finding passages for a question: the query's embedding and the search, and how long each took.

use std::time::{Duration, Instant};

use ken_corpus::Corpus;
use ken_index::{Hit, Index, Mode, Query};
use ken_model::encoder::{Encoder, Role};

use crate::AnswerError;

/// A corpus's index with the embedder of its passages.
pub struct Retriever {
    index: Index,
    embedder: Encoder,
}

/// What a search found.
pub(crate) struct Found {
    pub(crate) hits: Vec<Hit>,
    pub(crate) embed_time: Duration,
    pub(crate) search_time: Duration,
}

impl Retriever {
    /// Joins an index with an embedder.
    ///
    /// # Errors
    /// An embedder other than the one that embedded the corpus.
    pub fn new(index: Index, embedder: Encoder) -> Result<Self, AnswerError> {
        let corpus = index.corpus();
        if corpus.embedder().fingerprint != embedder.fingerprint() {
            return Err(AnswerError::OtherEmbedder {
                path: corpus.dir().to_path_buf(),
                expected: corpus.embedder().reference.clone(),
                received: embedder.fingerprint().to_owned(),
            });
        }
        Ok(Self { index, embedder })
    }

    /// The corpus.
    #[must_use]
    pub fn corpus(&self) -> &Corpus {
        self.index.corpus()
    }

    /// The `k` passages that fit best, best first.
    ///
    /// # Errors
    /// An empty query or corpus, or a damaged index.
    pub fn search(&self, query: &str, mode: Mode, k: usize) -> Result<Vec<Hit>, AnswerError> {
        Ok(self.find(query, mode, k)?.hits)
    }

    pub(crate) fn find(&self, query: &str, mode: Mode, k: usize) -> Result<Found, AnswerError> {
        if query.trim().is_empty() {
            return Err(AnswerError::EmptyQuestion);
        }
        let corpus = self.index.corpus();
        if corpus.passage_count() == 0 {
            return Err(AnswerError::EmptyCorpus {
                path: corpus.dir().to_path_buf(),
            });
        }
        let started = Instant::now();
        let vector = match mode {
            Mode::Lexical => None,
            Mode::Dense | Mode::Hybrid => self.embedder.embed(&[query], Role::Query)?.pop(),
        };
        let embed_time = started.elapsed();
        let started = Instant::now();
        let query = Query {
            text: query,
            vector: vector.as_deref(),
        };
        let hits = self.index.search(&query, mode, k)?;
        Ok(Found {
            hits,
            embed_time,
            search_time: started.elapsed(),
        })
    }
}
