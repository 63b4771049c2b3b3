//! Judgments of documents' relevance to queries (qrels), in TREC's four columns or BEIR's three.

use std::collections::BTreeMap;
use std::path::Path;

use super::columns::{PairLines, columns};
use super::error::{LineError, RetrievalError, read_lines};

/// Judgments by query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Qrels(pub(super) BTreeMap<String, Judgments>);

/// The judged documents of a query, each with its relevance: above 0 it is relevant, and higher is more so.
pub type Judgments = BTreeMap<String, i64>;

impl Qrels {
    /// Reads judgments from a file, plain or gzip.
    ///
    /// # Errors
    /// The first line that is not a judgment, or repeats a document, with its number.
    pub fn read(path: &Path) -> Result<Self, RetrievalError> {
        let mut judged: BTreeMap<String, Judgments> = BTreeMap::new();
        let mut pairs = PairLines::default();
        read_lines(path, |line, text| {
            if line == 1 && is_header(text) {
                return Ok(());
            }
            let (query, document, relevance) =
                parse(text).map_err(|reason| LineError::NotAJudgment { reason })?;
            let [query_id, document_id] = [query, document].map(str::to_owned);
            if let Some(first) = pairs.note(query, document, line) {
                return Err(LineError::JudgedTwice {
                    first,
                    query: query_id,
                    document: document_id,
                });
            }
            let judgments = judged.entry(query_id).or_default();
            judgments.insert(document_id, relevance);
            Ok(())
        })?;
        match judged.is_empty() {
            true => Err(RetrievalError::NoJudgments {
                path: path.to_owned(),
            }),
            false => Ok(Self(judged)),
        }
    }
}

/// Whether this line is BEIR's header.
fn is_header(text: &str) -> bool {
    columns(text).is_some_and(|[_, _, relevance]: [&str; 3]| relevance.parse::<i64>().is_err())
}

/// The query, the document and the relevance.
fn parse(text: &str) -> Result<(&str, &str, i64), String> {
    let (query, document, relevance) = match (columns(text), columns(text)) {
        (Some([query, _, document, relevance]), _) => (query, document, relevance),
        (_, Some([query, document, relevance])) => (query, document, relevance),
        _ => return Err("neither 4 columns nor 3".to_owned()),
    };
    match relevance.parse() {
        Ok(relevance) => Ok((query, document, relevance)),
        Err(_) => Err(format!("the relevance {relevance:?} is no integer")),
    }
}
