//! A table of PostgreSQL: by its words with the database's own full-text search, and by its vectors with pgvector. The names of
//! tables and columns are quoted, and all else is sent as parameters.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ken_corpus::{Comparison, Filter, number_in};
use postgres::error::SqlState;
use postgres::types::ToSql;
use postgres::{Client, Config, Error, NoTls, Row};
use serde_json::Value;

use crate::address::{ServiceAddress, decoded};
use crate::error::ServiceError;
use crate::found::Found;
use crate::http::{Question, State};
use crate::key::Key;

/// Of a session: searches end after 30 s and change nothing, and an index of pgvector goes on until enough rows fit the filters
/// (from its version 0.8 on; before that, filters may leave fewer).
const SESSION: &str = "-c statement_timeout=30s -c default_transaction_read_only=on \
    -c hnsw.iterative_scan=strict_order -c ivfflat.iterative_scan=relaxed_order";

/// Idle connections that are kept.
const KEPT: usize = 8;

/// A database, with connections that no search uses at the moment.
pub(crate) struct Database {
    config: Config,
    idle: Mutex<Vec<Client>>,
}

/// A statement and its parameters, all of them texts.
#[derive(Debug, Default, PartialEq)]
struct Statement {
    sql: String,
    parameters: Vec<String>,
}

impl Database {
    pub(crate) fn open(address: &ServiceAddress, key: Option<&Key>) -> Result<Self, ServiceError> {
        let mut config = Config::new();
        let name = (address.url.path_segments()).and_then(|mut parts| parts.next());
        config
            .host(address.url.host_str().unwrap_or_default())
            .port(address.url.port().unwrap_or(5432))
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
        Ok(Self {
            config,
            idle: Mutex::default(),
        })
    }

    /// How many rows there are, as the planner estimates it, and how long the vectors are.
    pub(crate) fn state(&self, address: &ServiceAddress) -> Result<State, ServiceError> {
        let mut client = self.connection(address)?;
        let failed = |error| refused(address, &error);
        let table = quoted(&address.name());
        let count = format!("SELECT count(*) FROM {table}");
        let rows: i64 = client.query_one(&count, &[]).map_err(failed)?.get(0);
        let dimensions = match &address.options.vector {
            Some(column) => {
                let of = format!(
                    "SELECT vector_dims({}) FROM {table} LIMIT 1",
                    quoted(column)
                );
                let row = client.query_opt(&of, &[]).map_err(failed)?;
                row.map(|row| row.get::<_, i32>(0) as usize)
            }
            None => None,
        };
        self.keep(client);
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
    ) -> Result<Vec<Found>, ServiceError> {
        let Statement { sql, parameters } = statement(address, question, k, filters);
        let parameters: Vec<&(dyn ToSql + Sync)> = parameters
            .iter()
            .map(|text| text as &(dyn ToSql + Sync))
            .collect();
        let mut client = self.connection(address)?;
        let rows = match client.query(&sql, &parameters) {
            // It was restarted since this connection was made.
            Err(error) if is_lost(&error) => {
                client = self.connected(address)?;
                client.query(&sql, &parameters)
            }
            rows => rows,
        };
        let rows = rows.map_err(|error| refused(address, &error))?;
        self.keep(client);
        Ok(rows.iter().filter_map(found).collect())
    }

    fn connection(&self, address: &ServiceAddress) -> Result<Client, ServiceError> {
        let idle = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        match idle {
            Some(client) if !client.is_closed() => Ok(client),
            _ => self.connected(address),
        }
    }

    fn connected(&self, address: &ServiceAddress) -> Result<Client, ServiceError> {
        self.config
            .connect(NoTls)
            .map_err(|error| match error.as_db_error() {
                Some(_) => refused(address, &error),
                None => ServiceError::Unreachable {
                    server: address.server(),
                    reason: explained(&error),
                },
            })
    }

    fn keep(&self, client: Client) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.push(client);
        }
    }
}

/// Whether the connection ended, by itself or with the database.
fn is_lost(error: &Error) -> bool {
    error.as_db_error().is_none_or(|said| {
        let code = said.code();
        [&SqlState::ADMIN_SHUTDOWN, &SqlState::CRASH_SHUTDOWN].contains(&code)
    })
}

fn refused(address: &ServiceAddress, error: &Error) -> ServiceError {
    ServiceError::Database {
        address: address.to_string(),
        message: explained(error),
    }
}

/// The innermost message: the client's own says less.
fn explained(error: &Error) -> String {
    let inner: Option<&dyn std::error::Error> = std::error::Error::source(error);
    match error.as_db_error() {
        Some(said) => said.message().to_owned(),
        None => inner.map_or_else(|| error.to_string(), ToString::to_string),
    }
}

fn found(row: &Row) -> Option<Found> {
    let Value::Object(fields) = row.get(0) else {
        return None;
    };
    Some(Found {
        score: row.get::<_, f64>(1) as f32,
        fields,
        ..Found::default()
    })
}

/// A name of a table or a column, whatever is in it; of a table perhaps after its schema's.
fn quoted(name: &str) -> String {
    let parts = name
        .split('.')
        .map(|part| format!("\"{}\"", part.replace('"', "\"\"")));
    parts.collect::<Vec<_>>().join(".")
}

/// The search as SQL: every column of a row as JSON, and its score.
fn statement(
    address: &ServiceAddress,
    question: Question<'_>,
    k: usize,
    filters: &[Filter],
) -> Statement {
    let options = &address.options;
    let mut made = Statement::default();
    let vector = options.vector.as_deref().map(quoted);
    let (score, condition, order) = match question {
        Question::Vector(query) => {
            let numbers: Vec<String> = query.iter().map(ToString::to_string).collect();
            let query = made.parameter(format!("[{}]", numbers.join(",")));
            let (operator, score) = match options.distance.as_deref() {
                Some("l2") => ("<->", "-(DISTANCE)"),
                Some("ip") => ("<#>", "-(DISTANCE)"),
                _ => ("<=>", "1 - (DISTANCE)"),
            };
            let column = vector.as_deref().unwrap_or_default();
            let distance = format!("t.{column} {operator} {query}::text::vector");
            let score = score.replace("DISTANCE", &distance);
            (score, "true".to_owned(), distance)
        }
        Question::Words(text) => {
            let language = options.language.as_deref().unwrap_or("simple");
            // A name of a configuration is a constant in an index's expression, and so in the query that uses the index.
            let language = format!("'{}'::regconfig", language.replace('\'', "''"));
            let column = quoted(options.text.as_deref().unwrap_or("text"));
            let words = format!("to_tsvector({language}, t.{column})");
            let text = made.parameter(text.to_owned());
            // Any of the words: a question has words that no passage has.
            let any = format!(
                "replace(plainto_tsquery({language}, {text})::text, ' & ', ' | ')::tsquery"
            );
            let score = format!("ts_rank_cd({words}, {any}, 1)");
            (
                score.clone(),
                format!("{words} @@ {any}"),
                format!("{score} DESC"),
            )
        }
    };
    let fields = match &options.vector {
        Some(column) => {
            let column = made.parameter(column.clone());
            format!("to_jsonb(t) - {column}::text")
        }
        None => "to_jsonb(t)".to_owned(),
    };
    made.sql = format!(
        "SELECT {fields}, ({score})::float8 FROM {} t WHERE {condition}",
        quoted(&address.name())
    );
    for filter in filters {
        let condition = made.condition(filter, options.metadata.as_deref());
        // Writing into a String does not fail.
        let _ = write!(made.sql, " AND {condition}");
    }
    let _ = write!(made.sql, " ORDER BY {order} LIMIT {k}");
    made
}

impl Statement {
    /// Adds a parameter, and gives the sign that stands for it.
    fn parameter(&mut self, value: String) -> String {
        self.parameters.push(value);
        format!("${}", self.parameters.len())
    }

    /// A filter over a column of JSON, or over all columns.
    fn condition(&mut self, filter: &Filter, metadata: Option<&str>) -> String {
        let mut joined = |filters: &[Filter], word: &str, none: &str| {
            let each = filters.iter().map(|one| self.condition(one, metadata));
            let each: Vec<String> = each.collect();
            match each.is_empty() {
                true => none.to_owned(),
                false => format!("({})", each.join(word)),
            }
        };
        match filter {
            Filter::All(filters) => joined(filters, " AND ", "true"),
            Filter::Any(filters) => joined(filters, " OR ", "false"),
            Filter::Not(inner) => format!("NOT {}", self.condition(inner, metadata)),
            Filter::Exists { key } => self.any(key, metadata, "x IS NOT NULL"),
            Filter::Compare {
                key,
                comparison,
                value,
            } => {
                let fits = self.fits(*comparison, value);
                let any = self.any(key, metadata, &fits);
                match comparison {
                    Comparison::NotEqual => format!("NOT {any}"),
                    _ => any,
                }
            }
        }
    }

    /// Whether one of the values of a field fits: of a list, one is enough.
    fn any(&mut self, key: &str, metadata: Option<&str>, fits: &str) -> String {
        let key = self.parameter(key.to_owned());
        let of = match metadata {
            Some(column) => format!("t.{}::jsonb", quoted(column)),
            None => "to_jsonb(t)".to_owned(),
        };
        let value = format!("({of} -> {key}::text)");
        format!(
            "EXISTS (SELECT FROM jsonb_array_elements_text(CASE jsonb_typeof({value}) WHEN 'array' THEN {value} \
             ELSE jsonb_build_array({value}) END) AS of(x) WHERE {fits})"
        )
    }

    /// What is true of a text x that fits. Numbers are compared as numbers where both sides are some, as all filters do it.
    fn fits(&mut self, comparison: Comparison, value: &str) -> String {
        const NUMBER: &str = "^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?$";
        let text = self.parameter(value.to_owned());
        let operator = match comparison {
            Comparison::Equal | Comparison::NotEqual => "=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
            Comparison::StartsWith => return format!("starts_with(x, {text}::text)"),
        };
        let as_texts = format!("x COLLATE \"C\" {operator} {text}::text");
        match number_in(value) {
            Some(number) => {
                let number = self.parameter(number.to_string());
                let as_numbers = format!("x::float8 {operator} {number}::text::float8");
                format!("CASE WHEN x ~ '{NUMBER}' THEN {as_numbers} ELSE {as_texts} END")
            }
            None => as_texts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(address: &str, question: Question<'_>, filter: &str) -> Statement {
        let filters: Vec<Filter> = match filter {
            "" => Vec::new(),
            filter => vec![filter.parse().unwrap()],
        };
        statement(&address.parse().unwrap(), question, 3, &filters)
    }

    #[test]
    fn nothing_of_a_name_or_a_value_is_sql() {
        let address = "postgres://b/shop/my%22docs?text=o'b%22dy&language=en'glish";
        let Statement { sql, parameters } =
            made(address, Question::Words("it's; DROP"), "a'\"b = 'c'");
        assert!(sql.contains("t.\"o'b\"\"dy\""), "{sql}");
        assert!(sql.contains("'en''glish'::regconfig"), "{sql}");
        assert!(!sql.contains("DROP") && !sql.contains("'c'"), "{sql}");
        assert_eq!(parameters, ["it's; DROP", "'c'", "a'\"b"]);
    }

    #[test]
    fn a_vector_is_compared_as_the_index_does() {
        let vector = Question::Vector(&[0.5, 1.0]);
        let made = made("postgres://b/shop/docs?vector=v&distance=l2", vector, "");
        assert_eq!(made.parameters, ["[0.5,1]", "v"]);
        assert!(
            made.sql
                .ends_with("ORDER BY t.\"v\" <-> $1::text::vector LIMIT 3"),
            "{}",
            made.sql
        );
    }
}
