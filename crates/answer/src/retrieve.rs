//! Finding passages for a question: the query's embedding and the search, and how long each took.

use std::time::{Duration, Instant};

use ken_corpus::Filter;
use ken_index::{Hit, Mode, Query};
use ken_model::embedder::Embedder;
use ken_model::encoder::Role;

use crate::{AnswerError, BackEnd};

/// What is searched, with the embedder of its passages.
pub struct Retriever {
    back_end: BackEnd,
    embedder: Box<dyn Embedder>,
}

/// What was found for a question.
pub(crate) struct Found {
    pub(crate) hits: Vec<Hit>,
    /// Its share of the time to embed all questions.
    pub(crate) embed_time: Duration,
    pub(crate) search_time: Duration,
}

impl Retriever {
    /// Joins what is searched with an embedder.
    ///
    /// # Errors
    /// An embedder other than the one that embedded the corpus.
    pub fn new(
        back_end: impl Into<BackEnd>,
        embedder: Box<dyn Embedder>,
    ) -> Result<Self, AnswerError> {
        let back_end = back_end.into();
        if back_end.embedder().fingerprint != embedder.fingerprint() {
            return Err(AnswerError::OtherEmbedder {
                path: back_end.place(),
                expected: back_end.embedder().reference.clone(),
                received: embedder.fingerprint().to_owned(),
            });
        }
        Ok(Self { back_end, embedder })
    }

    /// Finds passages of documents only that fit all filters.
    ///
    /// # Errors
    /// As [`BackEnd::within`].
    pub fn within(self, filters: &[Filter]) -> Result<Self, AnswerError> {
        let back_end = self.back_end.within(filters)?;
        Ok(Self { back_end, ..self })
    }

    /// What is searched.
    #[must_use]
    pub fn back_end(&self) -> &BackEnd {
        &self.back_end
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
        if self.back_end.passage_count() == 0 {
            return Err(AnswerError::EmptyCorpus {
                path: self.back_end.place(),
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
                let hits = self.back_end.search(&query, mode, k)?;
                Ok(Found {
                    hits,
                    embed_time,
                    search_time: started.elapsed(),
                })
            })
            .collect()
    }
}
