//! A table of PostgreSQL: by its words with the database's own full-text search, and by its vectors with pgvector.

mod search;
mod sql;
mod tls;
mod words;

use std::collections::HashMap;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use ken_corpus::Filter;
use ken_http::{TlsFailure, UntrustedCertificate, tls_failure_in};
use postgres::config::SslMode;
use postgres::error::SqlState;
use postgres::types::ToSql;
use postgres::{Client, Config, Error, NoTls, Row};
use serde_json::Value;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::{ServiceAddress, decoded};
use crate::error::ServiceError;
use crate::http::{Question, State};
use crate::key::Key;
use crate::record::{ServiceRecord, locked};

use search::Ranking;
use sql::{Statement, quoted};
use words::{Term, counted, split, weighed};

/// The options of a session: searches end after 30 s and change nothing, and an index of pgvector continues until enough rows
/// match the filters (from its version 0.8 on; before that, filters may leave fewer rows).
const SESSION: &str = "-c statement_timeout=30s -c default_transaction_read_only=on \
    -c hnsw.iterative_scan=strict_order -c ivfflat.iterative_scan=relaxed_order";

/// The most idle connections.
const KEPT: usize = 8;

/// The most rows that are counted one by one.
const MOST_COUNTED: i64 = 1_000_000;

/// The most words whose counts are kept.
const MOST_COUNTS: usize = 100_000;

/// A database, with its idle connections.
pub(crate) struct Database {
    config: Config,
    /// The TLS settings, if connections are encrypted.
    tls: Option<MakeRustlsConnect>,
    idle: Mutex<Vec<Client>>,
    /// The number of rows when it was opened.
    rows: AtomicU64,
    /// The number of rows with each word that was searched for.
    counts: Mutex<HashMap<String, u64>>,
}

impl Database {
    pub(crate) fn open(address: &ServiceAddress, key: Option<&Key>) -> Result<Self, ServiceError> {
        let mut config = Config::new();
        let host = address.url.host_str().unwrap_or_default();
        // Brackets of an IPv6 address belong to the URL.
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = (address.url.path_segments()).and_then(|mut parts| parts.next());
        config
            .host(host)
            .port(address.port())
            .dbname(&decoded(name.unwrap_or_default()))
            .application_name("ken")
            .connect_timeout(Duration::from_secs(10))
            .options(SESSION);
        let user = match address.url.username() {
            "" => std::env::var("USER").unwrap_or_else(|_| "postgres".to_owned()),
            user => decoded(user),
        };
        config.user(&user);
        if let Some(key) = key {
            config.password(key.text(address)?);
        }
        let tls = match address.is_encrypted() {
            true => Some(tls::connector(address)?),
            false => None,
        };
        config.ssl_mode(match tls {
            Some(_) => SslMode::Require,
            None => SslMode::Disable,
        });
        Ok(Self {
            config,
            tls,
            idle: Mutex::default(),
            rows: AtomicU64::default(),
            counts: Mutex::default(),
        })
    }

    /// The number of rows, as the planner estimates it if there are many, and the length of the vectors.
    pub(crate) fn state(&self, address: &ServiceAddress) -> Result<State, ServiceError> {
        let mut client = self.connection(address)?;
        let failed = |error| refused(address, &error);
        let table = quoted(&address.name());
        // Counting many rows takes long. The estimate is below 0 for a table that was never analyzed.
        let estimate = "SELECT reltuples::bigint FROM pg_class WHERE oid = $1::text::regclass";
        let estimate = client.query_one(estimate, &[&table]).map_err(failed)?;
        let rows: i64 = match estimate.get(0) {
            many if many > MOST_COUNTED => many,
            _ => {
                let count = format!("SELECT count(*) FROM {table}");
                client.query_one(&count, &[]).map_err(failed)?.get(0)
            }
        };
        let dimensions = match &address.options.vector {
            Some(column) => {
                let column = quoted(column);
                let of = format!("SELECT vector_dims({column}) FROM {table} LIMIT 1");
                let row = client.query_opt(&of, &[]).map_err(failed)?;
                row.map(|row| row.get::<_, i32>(0) as usize)
            }
            None => None,
        };
        self.keep(client);
        self.rows.store(rows as u64, Relaxed);
        Ok(State {
            passages: Some(rows as usize),
            dimensions,
        })
    }

    pub(crate) fn search(
        &self,
        address: &ServiceAddress,
        question: Question<'_>,
        k: usize,
        filters: &[Filter],
    ) -> Result<Vec<ServiceRecord>, ServiceError> {
        let ranking = match question {
            Question::Vector(vector) => Ranking::Nearest(vector),
            Question::Words(text) => match self.terms(address, text)? {
                // No row has any of the words.
                terms if terms.is_empty() => return Ok(Vec::new()),
                terms => Ranking::Words(terms),
            },
        };
        let rows = self.query(address, &Statement::search(address, &ranking, k, filters))?;
        Ok(rows.iter().filter_map(record).collect())
    }

    /// The words of a text that any row has, with their weights.
    fn terms(&self, address: &ServiceAddress, text: &str) -> Result<Vec<Term>, ServiceError> {
        let split = self.query(address, &split(address, text))?;
        let words: Vec<String> = split.iter().map(|row| row.get(0)).collect();
        let new: Vec<String> = {
            let known = locked(&self.counts);
            let new = words.iter().filter(|word| !known.contains_key(*word));
            new.cloned().collect()
        };
        if !new.is_empty() {
            let rows = self.query(address, &counted(address, &new))?;
            let counts = rows
                .iter()
                .map(|row| (row.get(0), row.get::<_, i64>(1) as u64));
            let counts: Vec<(String, u64)> = counts.collect();
            let mut known = locked(&self.counts);
            if known.len() > MOST_COUNTS {
                known.clear();
            }
            known.extend(counts);
        }
        let known = locked(&self.counts);
        let of = |word: String| known.get(&word).map(|count| (word, *count));
        Ok(weighed(
            words.into_iter().filter_map(of),
            self.rows.load(Relaxed),
        ))
    }

    /// The rows that a statement returns.
    fn query(&self, address: &ServiceAddress, of: &Statement) -> Result<Vec<Row>, ServiceError> {
        let parameters = of.parameters.iter();
        let parameters: Vec<&(dyn ToSql + Sync)> =
            parameters.map(|text| text as &(dyn ToSql + Sync)).collect();
        let mut client = self.connection(address)?;
        let rows = match client.query(&of.sql, &parameters) {
            // The database was restarted since this connection was made.
            Err(error) if is_lost(&error) => {
                client = self.connected(address)?;
                client.query(&of.sql, &parameters)
            }
            rows => rows,
        };
        let rows = rows.map_err(|error| refused(address, &error))?;
        self.keep(client);
        Ok(rows)
    }

    fn connection(&self, address: &ServiceAddress) -> Result<Client, ServiceError> {
        let idle = locked(&self.idle).pop();
        match idle {
            Some(client) if !client.is_closed() => Ok(client),
            _ => self.connected(address),
        }
    }

    fn connected(&self, address: &ServiceAddress) -> Result<Client, ServiceError> {
        let connected = match &self.tls {
            Some(tls) => self.config.connect(tls.clone()),
            None => self.config.connect(NoTls),
        };
        connected.map_err(|error| match error.as_db_error() {
            Some(_) => refused(address, &error),
            None => unreachable(address.server(), &error),
        })
    }

    fn keep(&self, client: Client) {
        let mut idle = locked(&self.idle);
        if idle.len() < KEPT {
            idle.push(client);
        }
    }
}

/// Whether the connection was lost, alone or with the database.
fn is_lost(error: &Error) -> bool {
    error.as_db_error().is_none_or(|error| {
        let code = error.code();
        [&SqlState::ADMIN_SHUTDOWN, &SqlState::CRASH_SHUTDOWN].contains(&code)
    })
}

/// The error of a connection that was not made.
fn unreachable(server: String, error: &Error) -> ServiceError {
    let source = std::error::Error::source(error);
    let source = source.and_then(|source| source.downcast_ref::<io::Error>());
    match source.and_then(tls_failure_in) {
        Some(TlsFailure::Certificate(reason)) => UntrustedCertificate { server, reason }.into(),
        Some(TlsFailure::Handshake(reason)) => ServiceError::Unreachable { server, reason },
        None => ServiceError::Unreachable {
            server,
            reason: explained(error),
        },
    }
}

fn refused(address: &ServiceAddress, error: &Error) -> ServiceError {
    ServiceError::Database {
        address: address.to_string(),
        message: explained(error),
    }
}

/// The innermost message, which says more than the client's own.
fn explained(error: &Error) -> String {
    let inner: Option<&dyn std::error::Error> = std::error::Error::source(error);
    match error.as_db_error() {
        Some(error) => error.message().to_owned(),
        None => inner.map_or_else(|| error.to_string(), ToString::to_string),
    }
}

fn record(row: &Row) -> Option<ServiceRecord> {
    let Value::Object(fields) = row.get(0) else {
        return None;
    };
    Some(ServiceRecord {
        score: row.get::<_, f64>(1) as f32,
        fields,
        ..ServiceRecord::default()
    })
}
