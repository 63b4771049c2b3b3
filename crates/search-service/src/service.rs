//! An open search service: searching it, and its properties.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use ken_corpus::{EmbedderIdentity, Filter, Passage};
use ken_index::{Hit, Mode, Query, reciprocal_rank};
use serde_json::Value;

use crate::address::ServiceAddress;
use crate::client::Client;
use crate::error::ServiceError;
use crate::filter::translated;
use crate::http::{self, Question, State};
use crate::key::Key;
use crate::kind::{Kind, Searches};
use crate::postgres::Database;
use crate::record::{Remembered, locked};

/// The number of fused results per wanted one.
const FUSED_DEPTH: usize = 3;

/// A corpus behind a search service. A clone shares its connections, and may be narrowed by filters of its own.
#[derive(Clone)]
pub struct SearchService {
    address: Arc<ServiceAddress>,
    backing: Backing,
    /// The embedder of the questions, if it takes vectors.
    embedder: Arc<EmbedderIdentity>,
    state: State,
    filters: Vec<Filter>,
    remembered: Arc<Mutex<Remembered>>,
}

#[derive(Clone)]
enum Backing {
    /// The client, with the filters in the service's own language.
    Http(Client, Vec<Value>),
    Database(Arc<Database>),
}

impl SearchService {
    /// Connects, and checks that the index, collection, table or field exists and that the embedder's vectors fit. A retriever
    /// of search agents is not checked before the first search.
    ///
    /// # Errors
    /// A service that does not answer, refuses the key, or has no such index, collection, table or field.
    pub fn open(
        address: &ServiceAddress,
        key: Option<&Key>,
        embedder: EmbedderIdentity,
    ) -> Result<Self, ServiceError> {
        let (backing, state) = match address.kind {
            Kind::Postgres => {
                let database = Database::open(address, key)?;
                let state = database.state(address)?;
                (Backing::Database(Arc::new(database)), state)
            }
            _ => {
                let client = Client::new(address, key)?;
                let state = http::state(&client, address)?;
                (Backing::Http(client, Vec::new()), state)
            }
        };
        if let Some(found) = state.dimensions
            && found != embedder.dimensions
        {
            return Err(ServiceError::OtherDimensions {
                address: address.to_string(),
                found,
                expected: embedder.dimensions,
            });
        }
        Ok(Self {
            address: Arc::new(address.clone()),
            backing,
            embedder: Arc::new(embedder),
            state,
            filters: Vec::new(),
            remembered: Arc::default(),
        })
    }

    /// Restricts searches to passages that match all filters, and those given before.
    ///
    /// # Errors
    /// A condition that the service cannot express.
    pub fn within(mut self, filters: &[Filter]) -> Result<Self, ServiceError> {
        if let Backing::Http(_, translations) = &mut self.backing {
            let key = |key: &str| match &self.address.options.metadata {
                Some(field) => format!("{field}.{key}"),
                None => key.to_owned(),
            };
            for filter in filters {
                let translation = translated(filter, self.address.kind, &key);
                translations.push(translation.map_err(|condition| ServiceError::Filter {
                    address: self.address.to_string(),
                    condition,
                })?);
            }
        }
        self.filters.extend_from_slice(filters);
        Ok(self)
    }

    /// Its address.
    pub fn address(&self) -> &ServiceAddress {
        &self.address
    }

    /// The embedder of the questions.
    pub fn embedder(&self) -> &EmbedderIdentity {
        &self.embedder
    }

    /// The number of its passages when it was opened, if it reports it.
    pub fn passage_count(&self) -> Option<usize> {
        self.state.passages
    }

    /// Identifies the service, the embedder, and the number of passages: a service has no generations.
    pub fn fingerprint(&self) -> String {
        let (embedder, passages) = (&self.embedder.fingerprint, self.state.passages);
        format!("{} {embedder} {passages:?}", self.address)
    }

    /// Whether a search in a mode needs the question's vector.
    pub fn takes_vector(&self, mode: Mode) -> bool {
        self.searches(mode).is_ok_and(|searches| searches.vectors)
    }

    /// A recent search result that matches the filters; no request is made for single passages.
    pub fn find(&self, id: &str) -> Option<Passage> {
        let remembered = locked(&self.remembered);
        let passage = remembered.get(id)?;
        let fits = |filter: &Filter| filter.matches(&passage.metadata);
        self.filters.iter().all(fits).then(|| passage.clone())
    }

    /// The `k` best passages, best first: by the words and by the vector of the query, as mode and service allow, fused by
    /// ranks if both are searched.
    ///
    /// # Errors
    /// A mode that the service does not offer, a query that does not fit, a service that fails.
    pub fn search(
        &self,
        query: &Query<'_>,
        mode: Mode,
        k: usize,
    ) -> Result<Vec<Hit>, ServiceError> {
        let Searches { words, vectors } = self.searches(mode)?;
        let depth = match words && vectors {
            true => k.saturating_mul(FUSED_DEPTH),
            false => k,
        };
        let mut rankings = Vec::new();
        if words {
            rankings.push(self.ranking(Question::Words(query.text), depth)?);
        }
        if vectors {
            let vector = query.checked_vector(mode, self.embedder.dimensions)?;
            rankings.push(self.ranking(Question::Vector(vector), depth)?);
        }
        let mut hits = match <[Vec<Hit>; 1]>::try_from(rankings) {
            Ok([only]) => only,
            Err(both) => fused(both, k),
        };
        hits.truncate(k);
        let mut remembered = locked(&self.remembered);
        hits.iter().for_each(|hit| remembered.keep(&hit.passage));
        Ok(hits)
    }

    fn searches(&self, mode: Mode) -> Result<Searches, ServiceError> {
        let has_vectors = self.address.options.vector.is_some();
        let searches = self.address.kind.searches(mode, has_vectors);
        searches.ok_or_else(|| ServiceError::Mode {
            address: self.address.to_string(),
            mode,
        })
    }

    fn ranking(&self, question: Question<'_>, k: usize) -> Result<Vec<Hit>, ServiceError> {
        let records = match &self.backing {
            Backing::Http(client, filters) => {
                http::search(client, &self.address, question, k, filters)?
            }
            Backing::Database(database) => {
                database.search(&self.address, question, k, &self.filters)?
            }
        };
        let records = records.into_iter();
        let hits = records.map(|record| record.hit(&self.address));
        hits.filter_map(Result::transpose).collect()
    }
}

/// The best `k` of several rankings, by reciprocal ranks.
fn fused(rankings: Vec<Vec<Hit>>, k: usize) -> Vec<Hit> {
    let ids = |ranking: &Vec<Hit>| ranking.iter().map(|hit| hit.passage.id.clone()).collect();
    let ranked = reciprocal_rank(&rankings.iter().map(ids).collect::<Vec<_>>(), k);
    let hits = rankings.into_iter().flatten();
    let mut by_id: HashMap<_, Hit> = hits.map(|hit| (hit.passage.id.clone(), hit)).collect();
    let best = ranked.into_iter().filter_map(|(id, score)| {
        let hit = by_id.remove(&id)?;
        Some(Hit { score, ..hit })
    });
    best.collect()
}
