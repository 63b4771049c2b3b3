//! Searching a corpus in Milvus, as `ken-index` searches one on disk.
//!
//! A search requests ids and scores only. The passages themselves are fetched once the best are
//! known: many ids fit into an answer, many texts do not.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ken_corpus::{Active, CorpusInfo, EmbedderIdentity, Filter, Location, Passage, PassageId};
use ken_index::{Hit, Mode, Query, fused_depth, reciprocal_rank};
use milvus::v2::prelude::{
    ConsistencyLevel, Ids, LoadCollectionRequest, QueryRequest, ResultRow, ResultValue,
    SearchRequest, SearchRequestBuilder, SearchVectors, SingleResult,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::connection::{Connection, LONG, SEARCH_ATTEMPTS, SHORT, call, text};
use super::facets::Condition;
use super::identity::Identity;
use super::literal::id_in;
use super::numbers;
use super::pieces::Pieces;
use super::row::{candidates, piece, query_words};
use super::schema::{
    DOC_ID, ID, LOCATION, METADATA, MOST_HITS, PRUNED, TEXT, TITLE, VECTOR, WORD_COUNTS, partition,
};
use crate::address::MilvusAddress;
use crate::error::{Failure, MilvusError};
use crate::token::Token;

/// The fields of a passage itself.
pub(crate) const PASSAGE: [&str; 6] = [ID, DOC_ID, TITLE, TEXT, LOCATION, METADATA];

/// How many passages are fetched at once; fewer if they do not fit into one answer.
const FETCHED_AT_ONCE: usize = 256;

/// How long the server may take to tell what a collection holds now: the caller may ask many servers in turn.
const TOLD_WITHIN: Duration = Duration::from_secs(5);

/// A collection that holds a corpus, searchable from any number of threads. Clones share the connection.
#[derive(Clone)]
pub struct Collection {
    connection: Arc<Connection>,
    identity: Identity,
    active: Active,
    /// The filter expression that every result matches.
    condition: String,
}

impl Collection {
    /// Opens a collection that a push has completed. `token` is for a server that requires one; searches read the
    /// active shards only.
    ///
    /// # Errors
    /// A server that does not answer; a collection that is missing, is not ken's or is not complete; more active
    /// shards than there are.
    pub fn open(
        address: &MilvusAddress,
        token: Option<&Token>,
        active: Active,
    ) -> Result<Self, MilvusError> {
        let connection = Connection::open(address, token, SEARCH_ATTEMPTS)?;
        let identity = Identity::read_complete(&connection)?;
        Self::loaded(Arc::new(connection), LONG, identity, active)
    }

    /// The collection as it is now at its address, without filters; `None` if that is how it was opened, or while a push
    /// changes it.
    ///
    /// # Errors
    /// As of [`Collection::open`].
    pub fn renewed(&self) -> Result<Option<Self>, MilvusError> {
        match Identity::read_complete(&self.connection.within(TOLD_WITHIN)) {
            Err(MilvusError::PushUnfinished { .. }) => Ok(None),
            Ok(identity) if identity == self.identity => Ok(None),
            identity => {
                let connection = Arc::clone(&self.connection);
                Self::loaded(connection, SHORT, identity?, self.active).map(Some)
            }
        }
    }

    /// Loads it, for which the server gets `limit`; what it has not loaded by then, it goes on to load.
    fn loaded(
        connection: Arc<Connection>,
        limit: Duration,
        identity: Identity,
        active: Active,
    ) -> Result<Self, MilvusError> {
        let shards = identity.settings.sharding.count;
        if let Some(requested) = active.scale()
            && (requested == 0 || requested > shards)
        {
            return Err(MilvusError::TooFewShards {
                address: connection.address.to_string(),
                requested,
                shards,
            });
        }
        load(&connection.within(limit))?;
        Ok(Self {
            connection,
            identity,
            active,
            condition: format!("{PRUNED} == false"),
        })
    }

    /// Finds passages as if no ratio had pruned any, without filters.
    pub fn undo_ratios(&mut self) {
        self.condition = candidates();
    }

    /// Restricts the search to documents that match all filters.
    ///
    /// # Errors
    /// [`MilvusError::FilterTooLong`], [`MilvusError::FilterNotPossible`].
    pub fn within(mut self, filters: &[Filter]) -> Result<Self, MilvusError> {
        for filter in filters {
            self.condition = format!("{} and ({})", self.condition, Condition::of(filter)?);
        }
        Ok(self)
    }

    /// The collection's address.
    #[must_use]
    pub fn address(&self) -> &MilvusAddress {
        &self.connection.address
    }

    /// The counts of the generation that was pushed, inactive shards included. Bytes are those of
    /// the corpus on disk.
    #[must_use]
    pub fn info(&self) -> &CorpusInfo {
        &self.identity.info
    }

    /// Which model embedded the passages.
    #[must_use]
    pub fn embedder(&self) -> &EmbedderIdentity {
        &self.identity.settings.embedder
    }

    /// How many passages the active shards hold that are not pruned.
    #[must_use]
    pub fn passage_count(&self) -> usize {
        let shards = self.identity.info.shards.iter();
        let count = self.identity.settings.sharding.count;
        let active = shards.filter(|shard| self.active.includes(shard.id, count));
        active.map(|shard| shard.passages as usize).sum()
    }

    /// How many of these match the filters.
    ///
    /// # Errors
    /// A server that fails.
    pub fn matching_count(&self) -> Result<u64, MilvusError> {
        let request = QueryRequest::builder()
            .partition_names(self.partitions())
            .filter(self.condition.as_str())
            .output_fields(["count(*)"])
            .consistency_level(ConsistencyLevel::Bounded);
        let response = self.connection.query("count its passages", LONG, request)?;
        Ok(response.results().get_row_count())
    }

    /// Identifies the state of the corpus and how it is searched: results with equal fingerprints are comparable.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let (fingerprint, index) = (&self.identity.fingerprint, self.identity.index);
        format!("{fingerprint} in Milvus by {index}, {}", self.active)
    }

    /// Identifies what the active shards hold, as the corpus that was pushed does.
    #[must_use]
    pub fn content(&self) -> String {
        match self.active {
            Active::All => self.identity.fingerprint.clone(),
            some => format!("{}, {some}", self.identity.fingerprint),
        }
    }

    /// The `k` best passages, best first, of those that are not pruned and match the filters; fewer if fewer match.
    /// Passages with equal scores are ordered by id.
    ///
    /// # Errors
    /// A query that does not fit, a lexical search without a lexical index, more than 16,384
    /// requested passages, or a server that fails.
    pub fn search(&self, query: &Query<'_>, mode: Mode, k: usize) -> Result<Vec<Hit>, MilvusError> {
        if k > MOST_HITS {
            return Err(MilvusError::TooManyHits {
                requested: k,
                limit: MOST_HITS,
            });
        }
        if k == 0 || self.passage_count() == 0 {
            return Ok(Vec::new());
        }
        let best = match mode {
            Mode::Dense => self.dense(query, mode, k)?,
            Mode::Lexical => self.lexical(query, k)?,
            Mode::Hybrid => {
                let depth = fused_depth(k).min(MOST_HITS);
                let rankings = [self.dense(query, mode, depth)?, self.lexical(query, depth)?];
                let ids = rankings.map(|ranking| ranking.into_iter().map(|(id, _)| id));
                reciprocal_rank(&ids.map(Vec::from_iter), k)
            }
        };
        self.fetch(best)
    }

    fn dense(
        &self,
        query: &Query<'_>,
        mode: Mode,
        k: usize,
    ) -> Result<Vec<(PassageId, f32)>, MilvusError> {
        let vector = query.checked_vector(mode, self.embedder().dimensions)?;
        self.ranking(self.dense_request(&[vector], k), k)
    }

    fn dense_request(&self, vectors: &[&[f32]], k: usize) -> SearchRequestBuilder {
        let index = self.identity.index;
        SearchRequest::builder()
            .vector_field(VECTOR)
            .vectors(numbers::queries(index.numbers, vectors))
            .extra_params(index.kind.search_params(k))
    }

    fn lexical(&self, query: &Query<'_>, k: usize) -> Result<Vec<(PassageId, f32)>, MilvusError> {
        if !self.identity.lexical {
            return Err(MilvusError::NoLexicalIndex {
                address: self.address().to_string(),
            });
        }
        let Some(words) = query_words(query.text) else {
            return Ok(Vec::new());
        };
        let request = SearchRequest::builder()
            .vector_field(WORD_COUNTS)
            .vectors(SearchVectors::EmbeddedText(vec![words]));
        // milvus-lite returns BM25 as a negative distance: the lower, the more relevant.
        let ranking = self.ranking(request, k)?.into_iter();
        Ok(ranking.map(|(id, score)| (id, score.abs())).collect())
    }

    /// The `k` passages nearest to each of some vectors, nearest first, with their cosines.
    ///
    /// # Shapes
    /// `vectors`: `[vectors][dimensions]`, normalized. Returns `[vectors]`.
    ///
    /// # Errors
    /// A server that fails.
    pub fn nearest(
        &self,
        vectors: &[Vec<f32>],
        k: usize,
    ) -> Result<Vec<Vec<(PassageId, f32)>>, MilvusError> {
        if vectors.is_empty() {
            return Ok(Vec::new());
        }
        let vectors: Vec<&[f32]> = vectors.iter().map(Vec::as_slice).collect();
        self.rankings(self.dense_request(&vectors, k), k)
    }

    fn ranking(
        &self,
        request: SearchRequestBuilder,
        k: usize,
    ) -> Result<Vec<(PassageId, f32)>, MilvusError> {
        let rankings = self.rankings(request, k)?;
        Ok(rankings.into_iter().next().unwrap_or_default())
    }

    /// The passages that a search finds for each of its queries.
    fn rankings(
        &self,
        request: SearchRequestBuilder,
        k: usize,
    ) -> Result<Vec<Vec<(PassageId, f32)>>, MilvusError> {
        let request = request
            .partition_names(self.partitions())
            .filter(self.condition.as_str())
            .limit(i64::try_from(k).unwrap_or(i64::MAX))
            .consistency_level(ConsistencyLevel::Bounded);
        let response = call!("search" within SHORT, &self.connection => search(request))?;
        let results = response.results().get_results().iter();
        results.map(|results| self.ranked(results)).collect()
    }

    fn ranked(&self, results: &SingleResult) -> Result<Vec<(PassageId, f32)>, MilvusError> {
        let ids = match results.get_ids() {
            Ids::VarChar(ids) => ids.as_slice(),
            other if other.is_empty() => &[],
            _ => return Err(self.connection.unreadable(&"its ids are no strings")),
        };
        let mut ranking: Vec<(PassageId, f32)> = ids
            .iter()
            .map(|id| PassageId(id.clone()))
            .zip(results.get_scores().iter().copied())
            .filter(|(_, score)| score.is_finite())
            .collect();
        // The server orders passages with equal scores arbitrarily.
        for ties in ranking.chunk_by_mut(|(_, left), (_, right)| left == right) {
            ties.sort_by(|(left, _), (right, _)| left.cmp(right));
        }
        Ok(ranking)
    }

    /// The partitions of the active shards; none if all are active.
    fn partitions(&self) -> Vec<String> {
        let count = self.identity.settings.sharding.count;
        match self.active {
            Active::All => Vec::new(),
            some => (0..count)
                .filter(|&shard| some.includes(shard, count))
                .map(partition)
                .collect(),
        }
    }

    /// The live passage with this id, if it matches the filters.
    ///
    /// # Errors
    /// A server that fails.
    pub fn find(&self, id: &str) -> Result<Option<Passage>, MilvusError> {
        let has_id = id_in(std::iter::once(id));
        let filter = format!("{} and ({has_id})", self.condition);
        Ok(self.fetch_where(filter, 1)?.into_iter().next())
    }

    /// Gives `read` live passages that match the filters: `limit` of them, or all, in the order of a hash of their ids,
    /// from a point that follows from `seed`. So a sample reads nothing but itself, and is part of every larger one.
    ///
    /// # Errors
    /// A server that fails.
    pub fn sample(
        &self,
        limit: Option<usize>,
        seed: u64,
        read: &mut dyn FnMut(Passage),
    ) -> Result<(), MilvusError> {
        let start = piece(&PassageId(format!("sample {seed}")));
        let partitions = self.partitions();
        let mut pieces = Pieces::starting_at(start, &self.connection, partitions, &self.condition);
        let mut wanted = limit.unwrap_or(usize::MAX);
        while wanted > 0
            && let Some(mut ids) = pieces.next_ids()?
        {
            ids.truncate(wanted);
            wanted -= ids.len();
            self.passages(&ids)?.into_iter().for_each(&mut *read);
        }
        Ok(())
    }

    /// The ids of all passages that match the filters, sorted.
    ///
    /// # Errors
    /// A server that fails.
    pub fn ids(&self) -> Result<Vec<PassageId>, MilvusError> {
        let partitions = self.partitions();
        let mut pieces =
            Pieces::starting_at(i64::MIN, &self.connection, partitions, &self.condition);
        let mut all = Vec::new();
        while let Some(ids) = pieces.next_ids()? {
            all.extend(ids);
        }
        all.sort_unstable();
        Ok(all)
    }

    /// Those of some passages that the collection has, pruned or not, each with its vector, in no order.
    ///
    /// # Errors
    /// A server that fails.
    pub fn stored(&self, ids: &[PassageId]) -> Result<Vec<(Passage, Vec<f32>)>, MilvusError> {
        let mut all = Vec::with_capacity(ids.len());
        for ids in ids.chunks(FETCHED_AT_ONCE) {
            all.extend(in_halves(ids, &|ids| self.fetch_stored(ids))?);
        }
        Ok(all)
    }

    fn fetch_stored(&self, ids: &[PassageId]) -> Result<Vec<(Passage, Vec<f32>)>, MilvusError> {
        let request = QueryRequest::builder()
            .filter(id_in(ids.iter().map(PassageId::as_str)))
            .output_fields(PASSAGE.into_iter().chain([VECTOR]))
            .limit(ids.len() as i64)
            .consistency_level(ConsistencyLevel::Bounded);
        self.connection.rows("read passages", request, |row| {
            Ok((passage(row)?, vector(row)?))
        })
    }

    /// Fetches the passages of a ranking.
    fn fetch(&self, best: Vec<(PassageId, f32)>) -> Result<Vec<Hit>, MilvusError> {
        let (ids, scores): (Vec<PassageId>, Vec<f32>) = best.into_iter().unzip();
        let passages = self.passages(&ids)?.into_iter();
        let hits = passages.zip(scores);
        Ok(hits
            .map(|(passage, score)| Hit { passage, score })
            .collect())
    }

    /// Fetches passages by their ids, in that order.
    fn passages(&self, all: &[PassageId]) -> Result<Vec<Passage>, MilvusError> {
        let fetch = |ids: &[PassageId]| {
            let filter = id_in(ids.iter().map(PassageId::as_str));
            self.fetch_where(filter, ids.len())
        };
        let mut passages = HashMap::with_capacity(all.len());
        for ids in all.chunks(FETCHED_AT_ONCE) {
            let fetched = in_halves(ids, &fetch)?;
            passages.extend(fetched.into_iter().map(|p| (p.id.clone(), p)));
        }
        all.iter()
            .map(|id| {
                passages.remove(id).ok_or_else(|| {
                    let reason = format!("it found the passage {id} but does not have it");
                    self.connection.unreadable(&reason)
                })
            })
            .collect()
    }

    /// At most `most` passages that a filter expression matches.
    fn fetch_where(&self, filter: String, most: usize) -> Result<Vec<Passage>, MilvusError> {
        let request = QueryRequest::builder()
            .filter(filter)
            .output_fields(PASSAGE)
            .limit(most as i64)
            .consistency_level(ConsistencyLevel::Bounded);
        self.connection.rows("read passages", request, passage)
    }
}

/// Makes the server load the collection, as far as its index is kept in memory.
pub(crate) fn load(connection: &Connection) -> Result<(), MilvusError> {
    let limit_ms = LONG.as_millis() as i64;
    let request = LoadCollectionRequest::builder()
        .sync(true)
        .timeout_ms(limit_ms);
    call!("load the collection" within LONG, connection => load_collection(request))
}

/// What `read` reads of passages, in halves if they do not fit into one answer.
pub(crate) fn in_halves<I, T>(
    ids: &[I],
    read: &impl Fn(&[I]) -> Result<Vec<T>, MilvusError>,
) -> Result<Vec<T>, MilvusError> {
    match read(ids) {
        Err(MilvusError::Call {
            failure: Failure::AnswerTooLarge,
            ..
        }) if ids.len() > 1 => {
            let (first, second) = ids.split_at(ids.len() / 2);
            let mut rows = in_halves(first, read)?;
            rows.extend(in_halves(second, read)?);
            Ok(rows)
        }
        rows => rows,
    }
}

/// The vector in a row.
pub(crate) fn vector(row: &ResultRow<'_>) -> Result<Vec<f32>, String> {
    let vector = row.get(VECTOR).map_err(|error| error.to_string())?;
    numbers::vector(vector).ok_or_else(|| "the vector is no list of numbers".to_owned())
}

fn location(row: &ResultRow<'_>) -> Result<Location, String> {
    match row.get(LOCATION).map_err(|error| error.to_string())? {
        ResultValue::Json(location) => {
            Location::deserialize(location).map_err(|error| error.to_string())
        }
        ResultValue::Null => Ok(Location::default()),
        _ => Err("the location is no object".to_owned()),
    }
}

/// The passage in a row with the fields [`PASSAGE`].
pub(crate) fn passage(row: &ResultRow<'_>) -> Result<Passage, String> {
    Ok(Passage {
        id: PassageId(text(row, ID)?),
        doc_id: text(row, DOC_ID)?,
        title: text(row, TITLE)?,
        text: text(row, TEXT)?,
        location: location(row)?,
        metadata: match row.get(METADATA).map_err(|error| error.to_string())? {
            ResultValue::Json(Value::Object(metadata)) => metadata.clone(),
            ResultValue::Null => Map::new(),
            _ => return Err("metadata is no object".to_owned()),
        },
    })
}
