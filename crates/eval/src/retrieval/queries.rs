//! Queries: from a question file of ken, whose golden answers are ignored, or from `queries.jsonl` of a BEIR folder.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;

use super::error::{LineError, RetrievalError, read_lines};
use crate::json_line;

/// A query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery {
    /// Unique in its file.
    pub id: String,
    /// The text to search for.
    pub text: String,
}

/// A line of either format.
#[derive(Deserialize)]
struct QueryLine {
    #[serde(rename = "_id")]
    beir_id: Option<String>,
    id: Option<String>,
    text: Option<String>,
    question: Option<String>,
}

/// Reads the queries of a file, in order.
///
/// # Errors
/// The first line that is not a query, with its number.
pub fn read_queries(path: &Path) -> Result<Vec<SearchQuery>, RetrievalError> {
    let mut queries: Vec<SearchQuery> = Vec::new();
    let mut line_of_id: HashMap<String, usize> = HashMap::new();
    read_lines(path, |line, text| {
        let query = parse(text).map_err(|reason| LineError::NotAQuery { reason })?;
        if let Some(first) = line_of_id.insert(query.id.clone(), line) {
            return Err(LineError::DuplicateQuestionId {
                first,
                id: query.id,
            });
        }
        queries.push(query);
        Ok(())
    })?;
    match queries.is_empty() {
        true => Err(RetrievalError::NoQueries {
            path: path.to_owned(),
        }),
        false => Ok(queries),
    }
}

fn parse(text: &str) -> Result<SearchQuery, String> {
    let line: QueryLine = json_line::parse(text.as_bytes())
        .map_err(|fault| format!("{} in column {}", fault.reason, fault.column))?;
    let id = line.beir_id.or(line.id).ok_or("no field `_id` or `id`")?;
    let text = line.text.or(line.question);
    let text = text.ok_or("no field `text` or `question`")?;
    match text.trim() {
        "" => Err(format!("the text of {id:?} is empty")),
        text => Ok(SearchQuery {
            id,
            text: text.to_owned(),
        }),
    }
}
