//! Finding passages for a question: the query's embedding, the search, the reranking if any, and how
//! long each took.

pub(crate) mod back_end;
mod distinct;
pub(crate) mod rerank;
pub(crate) mod search_result;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ken_corpus::Filter;
use ken_index::{Mode, Query};
use ken_language::{CancelToken, Embedder, Role, bound_embedder};
use ken_policy::Rating;
use rayon::prelude::*;

use crate::retrieve::distinct::{SPARE, distinct};
use crate::retrieve::rerank::{Reranked, Reranker, Reranking};
use crate::{AnswerError, BackEnd, SearchResult};

/// What is searched, with the embedder of its passages. A clone shares all of it, and may be narrowed
/// or reranked differently.
#[derive(Clone)]
pub struct Retriever {
    back_end: BackEnd,
    embedder: Arc<dyn Embedder>,
    reranking: Option<Arc<Reranking>>,
    /// The least relevance of what is found.
    least: Option<f32>,
    /// Other corpora that are searched as well, by name.
    beside: Vec<(String, Retriever)>,
}

/// What was found for a question.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchOutcome {
    /// The passages, or the chunks of them that were kept, best first.
    pub results: Vec<SearchResult>,
    /// Its share of the time to embed all questions.
    pub embed_time: Duration,
    /// The time of its own search.
    pub search_time: Duration,
    /// What reranking took, where there was one.
    pub rerank: Option<RerankCost>,
}

impl SearchOutcome {
    /// What finding it took in all.
    #[must_use]
    pub fn time(&self) -> Duration {
        let rerank = self.rerank.map(|rerank| rerank.time);
        self.embed_time + self.search_time + rerank.unwrap_or_default()
    }

    /// Takes what another corpus holds, behind what is there.
    fn add(&mut self, corpus: &str, more: Self) {
        let results = more.results.into_iter();
        self.results.extend(results.map(|result| SearchResult {
            corpus: Some(corpus.to_owned()),
            ..result
        }));
        self.embed_time += more.embed_time;
        self.search_time += more.search_time;
        let costs = self.rerank.into_iter().chain(more.rerank);
        self.rerank = costs.reduce(|one, other| RerankCost {
            time: one.time + other.time,
            tokens: one.tokens + other.tokens,
        });
    }
}

/// What reranking took for a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RerankCost {
    /// Its share of the time for all questions.
    pub time: Duration,
    /// Tokens that a language model read.
    pub tokens: usize,
}

impl Retriever {
    /// Joins what is searched with an embedder.
    ///
    /// # Errors
    /// An embedder other than the one that embedded the corpus.
    pub fn new(
        back_end: impl Into<BackEnd>,
        embedder: Arc<dyn Embedder>,
    ) -> Result<Self, AnswerError> {
        let back_end = back_end.into();
        if back_end.embedder().fingerprint != embedder.fingerprint() {
            return Err(AnswerError::OtherEmbedder {
                path: back_end.place(),
                expected: back_end.embedder().reference.clone(),
                received: embedder.fingerprint().to_owned(),
            });
        }
        Ok(Self {
            back_end,
            embedder,
            reranking: None,
            least: None,
            beside: Vec::new(),
        })
    }

    /// The same embedder and reranking over another state of the corpus.
    ///
    /// # Errors
    /// As [`Retriever::new`].
    pub fn over(&self, back_end: BackEnd) -> Result<Self, AnswerError> {
        let renewed = Self::new(back_end, Arc::clone(&self.embedder))?;
        Ok(Self {
            reranking: self.reranking.clone(),
            least: self.least,
            beside: self.beside.clone(),
            ..renewed
        })
    }

    /// Its embedder alone.
    #[must_use]
    pub fn into_embedder(self) -> Arc<dyn Embedder> {
        self.embedder
    }

    /// Finds passages of documents only that fit all filters.
    ///
    /// # Errors
    /// As [`BackEnd::within`].
    pub fn within(mut self, filters: &[Filter]) -> Result<Self, AnswerError> {
        self.back_end = self.back_end.within(filters)?;
        Ok(self)
    }

    /// Cuts what is found into chunks and ranks those.
    #[must_use]
    pub fn reranked(mut self, reranking: Reranking) -> Self {
        self.reranking = Some(Arc::new(reranking));
        self
    }

    /// Leaves out what has less than this [relevance](Retriever::relevance), which takes the place of all scores: what is
    /// found is ranked by it.
    #[must_use]
    pub fn at_least(mut self, least: Option<f32>) -> Self {
        self.least = least;
        self
    }

    /// Searches other corpora as well, each as its own retriever does, and names the corpus of what is found there. Scores
    /// of two corpora say nothing of one another, so what all of them find is ranked by its
    /// [relevance](Retriever::relevance), as this retriever sees it.
    #[must_use]
    pub fn beside(mut self, others: Vec<(String, Self)>) -> Self {
        self.beside = others;
        self
    }

    /// Ranks passages by the search alone.
    #[must_use]
    pub fn not_reranked(mut self) -> Self {
        self.reranking = None;
        self
    }

    /// The same with models whose calls end with a token.
    #[must_use]
    pub fn bound(mut self, token: &CancelToken) -> Self {
        self.embedder = bound_embedder(self.embedder, token);
        self.reranking = self
            .reranking
            .map(|reranking| Arc::new(reranking.bound(token)));
        for (_, other) in &mut self.beside {
            *other = other.clone().bound(token);
        }
        self
    }

    /// How what is found is reranked.
    #[must_use]
    pub fn reranking(&self) -> Option<&Reranking> {
        self.reranking.as_deref()
    }

    /// The embedder of the corpus.
    #[must_use]
    pub fn embedder(&self) -> &dyn Embedder {
        self.embedder.as_ref()
    }

    /// What is searched.
    #[must_use]
    pub fn back_end(&self) -> &BackEnd {
        &self.back_end
    }

    /// The `k` passages that fit best, best first; with a reranking the `k` best chunks of the
    /// passages that it takes.
    ///
    /// # Errors
    /// An empty query or corpus, a damaged index, a model that fails.
    pub fn search(
        &self,
        query: &str,
        mode: Mode,
        k: usize,
    ) -> Result<Vec<SearchResult>, AnswerError> {
        let found = self.search_many(&[query], mode, k)?;
        Ok(found.into_iter().flatten().collect())
    }

    /// As [`Retriever::search`], for many queries: returns one list for each.
    pub fn search_many(
        &self,
        queries: &[&str],
        mode: Mode,
        k: usize,
    ) -> Result<Vec<Vec<SearchResult>>, AnswerError> {
        let found = self.find(queries, mode, k)?;
        Ok(found.into_iter().map(|found| found.results).collect())
    }

    /// As [`Retriever::search_many`], with what it cost.
    ///
    /// # Errors
    /// As [`Retriever::search`].
    pub fn find(
        &self,
        queries: &[&str],
        mode: Mode,
        k: usize,
    ) -> Result<Vec<SearchOutcome>, AnswerError> {
        let mut found = match &self.reranking {
            None => self.find_passages(queries, mode, k)?,
            Some(reranking) => self.find_chunks(reranking, queries, mode, k)?,
        };
        for (name, other) in &self.beside {
            for (found, more) in found.iter_mut().zip(other.find(queries, mode, k)?) {
                found.add(name, more);
            }
        }
        if self.least.is_some() || !self.beside.is_empty() {
            let least = self.least.unwrap_or_default();
            for (query, found) in queries.iter().zip(&mut found) {
                let started = Instant::now();
                self.keep_relevant(query, &mut found.results, least)?;
                found.results.truncate(k);
                found.search_time += started.elapsed();
            }
        }
        Ok(found)
    }

    /// Ranks by relevance, and leaves out what has less than `least`.
    fn keep_relevant(
        &self,
        query: &str,
        results: &mut Vec<SearchResult>,
        least: f32,
    ) -> Result<(), AnswerError> {
        let texts = results.iter().map(|result| result.text.clone());
        let relevance = self.relevance(query, texts.collect())?;
        for (result, relevance) in results.iter_mut().zip(relevance) {
            result.score = relevance;
        }
        results.retain(|result| result.score >= least);
        // Stable, so that equals stay in their order.
        results.sort_by(|one, other| other.score.total_cmp(&one.score));
        Ok(())
    }

    /// Both stages: chunks of the passages that the first one finds.
    fn find_chunks(
        &self,
        reranking: &Reranking,
        queries: &[&str],
        mode: Mode,
        k: usize,
    ) -> Result<Vec<SearchOutcome>, AnswerError> {
        let mut found = self.find_passages(queries, mode, reranking.depth)?;
        let started = Instant::now();
        let passages = found.iter_mut().map(|one| std::mem::take(&mut one.results));
        let passages: Vec<Vec<SearchResult>> = passages.collect();
        let reranked = reranking.rerank(self.embedder.as_ref(), queries, &passages, k)?;
        let time = started.elapsed() / queries.len().max(1) as u32;
        for (found, Reranked { chunks, tokens }) in found.iter_mut().zip(reranked) {
            found.results = chunks;
            found.rerank = Some(RerankCost { time, tokens });
        }
        Ok(found)
    }

    /// As [`Retriever::find`], for what is to be read: what says the same words as a better result is left out.
    ///
    /// # Errors
    /// As [`Retriever::search`].
    pub fn evidence(
        &self,
        queries: &[&str],
        mode: Mode,
        k: usize,
    ) -> Result<Vec<SearchOutcome>, AnswerError> {
        let mut found = self.find(queries, mode, k.saturating_mul(SPARE))?;
        for one in &mut found {
            one.results = distinct(std::mem::take(&mut one.results), k);
        }
        Ok(found)
    }

    /// How well each text fits the query, as the reranking sees it, and the embedder where there is none: from 0 to 1,
    /// the larger the better. What is longer than the model reads is cut at its end.
    ///
    /// # Errors
    /// A model that fails.
    pub fn relevance(&self, query: &str, texts: Vec<String>) -> Result<Vec<f32>, AnswerError> {
        let reranking = self.reranking.as_ref();
        let by = reranking.map_or(&Reranker::Embedder, |reranking| &reranking.by);
        by.relevance(self.embedder.as_ref(), query, texts)
    }

    /// How well the passages fit each query; those of corpora beside this one are not rated.
    ///
    /// # Errors
    /// As [`Retriever::search`].
    pub fn rate(&self, queries: &[&str]) -> Result<Vec<Rating>, AnswerError> {
        /// Passages of each search that are compared.
        const COMPARED: usize = 10;
        let by = |mode| self.find_passages(queries, mode, COMPARED);
        let (dense, lexical) = (by(Mode::Dense)?, by(Mode::Lexical)?);
        let rated = dense.iter().zip(&lexical);
        Ok(rated
            .map(|(dense, lexical)| Rating::of(&scored(dense), &scored(lexical)))
            .collect())
    }

    /// Whether a rating tells how near the nearest passage is, in cosines: of corpora of one's own alone, and only of
    /// one, since those beside it are not rated.
    #[must_use]
    pub fn rates_all(&self) -> bool {
        matches!(self.back_end, BackEnd::Local(_)) && self.beside.is_empty()
    }

    /// The first stage: passages as they were ingested.
    fn find_passages(
        &self,
        queries: &[&str],
        mode: Mode,
        k: usize,
    ) -> Result<Vec<SearchOutcome>, AnswerError> {
        if queries.iter().any(|query| query.trim().is_empty()) {
            return Err(AnswerError::EmptyQuestion);
        }
        if self.back_end.passage_count() == Some(0) {
            return Err(AnswerError::EmptyCorpus {
                path: self.back_end.place(),
            });
        }
        let started = Instant::now();
        let vectors = match self.back_end.takes_vector(mode) {
            true => self.embedder.embed(queries, Role::Query)?,
            false => Vec::new(),
        };
        let embed_time = started.elapsed() / queries.len().max(1) as u32;
        let search = |(index, text): (usize, &&str)| {
            let started = Instant::now();
            let query = Query {
                text,
                vector: vectors.get(index).map(Vec::as_slice),
            };
            let hits = self.back_end.search(&query, mode, k)?;
            Ok(SearchOutcome {
                results: hits.into_iter().map(SearchResult::passage).collect(),
                embed_time,
                search_time: started.elapsed(),
                rerank: None,
            })
        };
        match &self.back_end {
            BackEnd::Local(_) if queries.len() > 1 => {
                queries.par_iter().enumerate().map(search).collect()
            }
            // Threads that compute do not wait for servers.
            _ => queries.iter().enumerate().map(search).collect(),
        }
    }
}

/// The ids of the passages that were found, with their scores.
fn scored(found: &SearchOutcome) -> Vec<(&str, f32)> {
    let results = found.results.iter();
    results
        .map(|hit| (hit.passage.id.0.as_str(), hit.score))
        .collect()
}
