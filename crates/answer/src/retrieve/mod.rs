//! Finding passages for a question: the query's embedding, the search, the reranking if any, and the time of each.

pub(crate) mod back_end;
mod distinct;
mod mentions;
mod named;
pub(crate) mod rerank;
pub(crate) mod search_result;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ken_corpus::{Filter, ListedDocument};
use ken_index::{Mode, Query};
use ken_language::{CancelToken, Embedder, Role, bound_embedder};
use ken_policy::Rating;
use rayon::prelude::*;

use crate::retrieve::distinct::{SPARE, distinct};
use crate::retrieve::mentions::asks_for_all;
use crate::retrieve::named::Named;
use crate::retrieve::rerank::{Reranked, Reranker, Reranking};
use crate::{AnswerError, BackEnd, SearchResult};

/// A corpus to search, with the embedder of its passages. A clone shares all of it, and may be narrowed or reranked
/// differently.
#[derive(Clone)]
pub struct Retriever {
    back_end: BackEnd,
    embedder: Arc<dyn Embedder>,
    reranking: Option<Arc<Reranking>>,
    /// The least relevance of results.
    least: Option<f32>,
    /// Other corpora to search as well, by name.
    beside: Vec<(String, Retriever)>,
}

/// The results for a question, with their cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchOutcome {
    /// The passages, or the chunks of them that were kept, best first.
    pub results: Vec<SearchResult>,
    /// The ids of the documents whose files the question names, and to which the search was narrowed: the first ten.
    pub named_documents: Vec<String>,
    /// Whether the question asks for these documents as a whole, so that the results are the passages that they begin with.
    pub is_whole: bool,
    /// The cosine of the question and the nearest passage of the corpus itself, if the search on disk computed it.
    pub nearest: Option<f32>,
    /// Its share of the time to embed all questions.
    pub embed_time: Duration,
    /// The time of its own search.
    pub search_time: Duration,
    /// The cost of the reranking, if there was one.
    pub rerank: Option<RerankCost>,
}

impl SearchOutcome {
    /// The total time.
    pub fn time(&self) -> Duration {
        let rerank = self.rerank.map(|rerank| rerank.time);
        self.embed_time + self.search_time + rerank.unwrap_or_default()
    }

    /// Appends the results of another corpus.
    fn add(&mut self, corpus: &str, more: Self) {
        let results = more.results.into_iter();
        self.results.extend(results.map(|result| SearchResult {
            corpus: Some(corpus.to_owned()),
            ..result
        }));
        self.embed_time += more.embed_time;
        self.search_time += more.search_time;
        let costs = self.rerank.into_iter().chain(more.rerank);
        self.rerank = costs.reduce(|a, b| RerankCost {
            time: a.time + b.time,
            tokens: a.tokens + b.tokens,
        });
    }
}

/// The cost of reranking for a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RerankCost {
    /// Its share of the time for all questions.
    pub time: Duration,
    /// Tokens that a language model read.
    pub tokens: usize,
}

impl Retriever {
    /// Joins a back end with its embedder.
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

    /// A retriever with this embedder, reranking and other corpora over another state of the corpus.
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
    pub fn into_embedder(self) -> Arc<dyn Embedder> {
        self.embedder
    }

    /// Narrows the search to passages that fit all filters.
    ///
    /// # Errors
    /// As [`BackEnd::within`].
    pub fn within(mut self, filters: &[Filter]) -> Result<Self, AnswerError> {
        self.back_end = self.back_end.within(filters)?;
        Ok(self)
    }

    /// Cuts the passages found into chunks and ranks those.
    #[must_use]
    pub fn reranked(mut self, reranking: Reranking) -> Self {
        self.reranking = Some(Arc::new(reranking));
        self
    }

    /// Leaves out results with less than this [relevance](Retriever::relevance), which replaces all scores and ranks the
    /// results.
    #[must_use]
    pub fn at_least(mut self, least: Option<f32>) -> Self {
        self.least = least;
        self
    }

    /// Searches other corpora as well, each with its own retriever, and names the corpus of their results. Scores of two
    /// corpora are not comparable, so this retriever ranks all results by its own [relevance](Retriever::relevance).
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

    /// Binds all models to a token, which ends their calls.
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

    /// Its reranking, if any.
    pub fn reranking(&self) -> Option<&Reranking> {
        self.reranking.as_deref()
    }

    /// The embedder of the corpus.
    pub fn embedder(&self) -> &dyn Embedder {
        self.embedder.as_ref()
    }

    /// Its corpus.
    pub fn back_end(&self) -> &BackEnd {
        &self.back_end
    }

    /// The `k` passages that fit best, best first; with a reranking the `k` best chunks of the
    /// passages that it reads.
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

    /// As [`Retriever::search_many`], with the cost.
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

    /// Ranks by relevance, and leaves out results with less than `least`.
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
        // A stable sort, so that equals keep their order.
        results.sort_by(|a, b| b.score.total_cmp(&a.score));
        Ok(())
    }

    /// Both stages: the best chunks of the passages that the first one finds.
    fn find_chunks(
        &self,
        reranking: &Reranking,
        queries: &[&str],
        mode: Mode,
        k: usize,
    ) -> Result<Vec<SearchOutcome>, AnswerError> {
        let mut found = self.find_passages(queries, mode, reranking.depth)?;
        let started = Instant::now();
        let passages = found.iter_mut().map(|own| std::mem::take(&mut own.results));
        let passages: Vec<Vec<SearchResult>> = passages.collect();
        let reranked = reranking.rerank(self.embedder.as_ref(), queries, &passages, k)?;
        let time = started.elapsed() / queries.len().max(1) as u32;
        for (found, Reranked { chunks, tokens }) in found.iter_mut().zip(reranked) {
            found.results = chunks;
            found.rerank = Some(RerankCost { time, tokens });
        }
        Ok(found)
    }

    /// As [`Retriever::find`], for reading: a query that names files is searched in the documents from these, if anything is
    /// found there, and results whose words a better one contains are left out.
    ///
    /// # Errors
    /// As [`Retriever::search`].
    pub fn evidence(
        &self,
        queries: &[&str],
        mode: Mode,
        k: usize,
    ) -> Result<Vec<SearchOutcome>, AnswerError> {
        let depth = k.saturating_mul(SPARE);
        let named = queries
            .iter()
            .map(|query| self.find_named(query, mode, depth));
        let named: Vec<Option<SearchOutcome>> = named.collect::<Result<_, _>>()?;
        let others = queries.iter().zip(&named);
        let others = others.filter(|(_, named)| named.is_none());
        let others: Vec<&str> = others.map(|(query, _)| *query).collect();
        let mut found = match others.is_empty() && !queries.is_empty() {
            true => Vec::new(),
            false => self.find(&others, mode, depth)?,
        }
        .into_iter();
        let outcomes = named.into_iter().map(|named| {
            let mut outcome = named.or_else(|| found.next()).unwrap_or_default();
            outcome.results = distinct(outcome.results, k);
            outcome
        });
        Ok(outcomes.collect())
    }

    /// As [`Retriever::find`], within the documents whose files a query names: by the words around the names or, if these ask
    /// for nothing in particular, the passages that the documents begin with. `None` if it names none, nothing is found in
    /// them, or several corpora are searched.
    fn find_named(
        &self,
        query: &str,
        mode: Mode,
        k: usize,
    ) -> Result<Option<SearchOutcome>, AnswerError> {
        let started = Instant::now();
        if !self.beside.is_empty() {
            return Ok(None);
        }
        let Some(named) = Named::find(&self.back_end, query)? else {
            return Ok(None);
        };
        let is_whole = asks_for_all(&named.rest);
        let mut outcome = if is_whole {
            let passages = named.first_passages(k)?.into_iter();
            let results = passages.map(|passage| SearchResult::of(passage, 0.0));
            SearchOutcome {
                results: results.collect(),
                search_time: started.elapsed(),
                ..SearchOutcome::default()
            }
        } else {
            let within = Self {
                back_end: named.back_end,
                ..self.clone()
            };
            let found = within.find(&[named.rest.as_str()], mode, k)?;
            found.into_iter().next().unwrap_or_default()
        };
        outcome.named_documents = named.ids;
        outcome.is_whole = is_whole;
        Ok(Some(outcome).filter(|outcome| !outcome.results.is_empty()))
    }

    /// The first documents of a corpus on disk, at most `most`, and how many there are; `None` if corpora elsewhere or several
    /// are searched.
    pub(crate) fn listing(
        &self,
        most: usize,
    ) -> Result<Option<(Vec<ListedDocument>, usize)>, AnswerError> {
        match self.beside.is_empty() {
            true => self.back_end.listing(most),
            false => Ok(None),
        }
    }

    /// How well each text fits the query by the reranking or, without one, by the embedder: from 0 to 1, higher is better. A
    /// text that is too long for the model is cut at its end.
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
        /// The passages of each search that are compared.
        const COMPARED: usize = 10;
        let by = |mode| self.find_passages(queries, mode, COMPARED);
        let (dense, lexical) = (by(Mode::Dense)?, by(Mode::Lexical)?);
        let rated = dense.iter().zip(&lexical);
        Ok(rated
            .map(|(dense, lexical)| Rating::of(&scored(dense), &scored(lexical)))
            .collect())
    }

    /// Whether a rating has the cosine of the nearest passage of all that are searched: only for a corpus on disk, and only
    /// without others beside it, which are not rated.
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
            let query = Query::new(text, vectors.get(index).map(Vec::as_slice));
            let (hits, nearest) = self.back_end.search(&query, mode, k)?;
            let hits = hits.into_iter();
            Ok(SearchOutcome {
                results: hits
                    .map(|hit| SearchResult::of(hit.passage, hit.score))
                    .collect(),
                nearest,
                embed_time,
                search_time: started.elapsed(),
                ..SearchOutcome::default()
            })
        };
        match &self.back_end {
            BackEnd::Local(_) if queries.len() > 1 => {
                queries.par_iter().enumerate().map(search).collect()
            }
            // Compute threads must not wait for servers.
            _ => queries.iter().enumerate().map(search).collect(),
        }
    }
}

/// The ids of the passages found, with their scores.
fn scored(found: &SearchOutcome) -> Vec<(&str, f32)> {
    let results = found.results.iter();
    results
        .map(|hit| (hit.passage.id.0.as_str(), hit.score))
        .collect()
}
