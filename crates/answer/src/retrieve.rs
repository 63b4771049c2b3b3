//! Finding passages for a question: the query's embedding and the search, and how long each took.

use std::time::{Duration, Instant};

use ken_corpus::{Corpus, CorpusError, Filter, Selection};
use ken_index::{Hit, Index, Mode, Query};
use ken_model::embedder::Embedder;
use ken_model::encoder::Role;

use crate::AnswerError;

/// A corpus's index with the embedder of its passages.
pub struct Retriever {
    index: Index,
    embedder: Box<dyn Embedder>,
    /// The passages that may be found; `None` for all.
    selection: Option<Selection>,
}

/// What was found for a question.
pub(crate) struct Found {
    pub(crate) hits: Vec<Hit>,
    /// Its share of the time to embed all questions.
    pub(crate) embed_time: Duration,
    pub(crate) search_time: Duration,
}

impl Retriever {
    /// Joins an index with an embedder.
    ///
    /// # Errors
    /// An embedder other than the one that embedded the corpus.
    pub fn new(index: Index, embedder: Box<dyn Embedder>) -> Result<Self, AnswerError> {
        let corpus = index.corpus();
        if corpus.embedder().fingerprint != embedder.fingerprint() {
            return Err(AnswerError::OtherEmbedder {
                path: corpus.dir().to_path_buf(),
                expected: corpus.embedder().reference.clone(),
                received: embedder.fingerprint().to_owned(),
            });
        }
        Ok(Self {
            index,
            embedder,
            selection: None,
        })
    }

    /// Finds passages of documents only that fit all filters.
    ///
    /// # Errors
    /// A damaged corpus.
    pub fn within(self, filters: &[Filter]) -> Result<Self, CorpusError> {
        let selection = match filters {
            [] => None,
            filters => Some(Selection::new(self.index.corpus(), filters)?),
        };
        Ok(Self { selection, ..self })
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
        let found = self.find(&[query], mode, k)?;
        Ok(found.into_iter().flat_map(|found| found.hits).collect())
    }

    /// As [`Retriever::search`], for many queries.
    pub(crate) fn find(
        &self,
        queries: &[&str],
        mode: Mode,
        k: usize,
    ) -> Result<Vec<Found>, AnswerError> {
        if queries.iter().any(|query| query.trim().is_empty()) {
            return Err(AnswerError::EmptyQuestion);
        }
        let corpus = self.index.corpus();
        if corpus.passage_count() == 0 {
            return Err(AnswerError::EmptyCorpus {
                path: corpus.dir().to_path_buf(),
            });
        }
        let started = Instant::now();
        let vectors = match mode {
            Mode::Lexical => Vec::new(),
            Mode::Dense | Mode::Hybrid => self.embedder.embed(queries, Role::Query)?,
        };
        let embed_time = started.elapsed() / queries.len().max(1) as u32;
        queries
            .iter()
            .enumerate()
            .map(|(index, text)| {
                let started = Instant::now();
                let query = Query {
                    text,
                    vector: vectors.get(index).map(Vec::as_slice),
                };
                let hits = self
                    .index
                    .search(&query, mode, k, self.selection.as_ref())?;
                Ok(Found {
                    hits,
                    embed_time,
                    search_time: started.elapsed(),
                })
            })
            .collect()
    }
}
