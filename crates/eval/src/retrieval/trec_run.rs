//! Runs: what a system ranks for each query, and their files in TREC's six columns. The order is that of `trec_eval`:
//! by score as a 32-bit float, descending, and equal scores by document id in descending byte order. The column of
//! ranks is ignored.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use ken_storage::replace;

use super::columns::{PairLines, columns};
use super::error::{LineError, RetrievalError, examples, read_lines};

/// A document with its score.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentScore {
    /// The id of the document.
    pub document: String,
    /// Higher is more relevant.
    pub score: f32,
}

/// A system's ranking for each query.
#[derive(Debug, Clone, PartialEq)]
pub struct TrecRun {
    /// The name of the system.
    pub name: String,
    ranked: BTreeMap<String, Vec<DocumentScore>>,
}

impl TrecRun {
    /// Builds a run from rankings by query id, in any order.
    pub fn new(name: &str, mut ranked: BTreeMap<String, Vec<DocumentScore>>) -> Self {
        for documents in ranked.values_mut() {
            documents.sort_by(|a, b| {
                let by_score = b.score.total_cmp(&a.score);
                by_score.then_with(|| b.document.cmp(&a.document))
            });
        }
        Self {
            name: name.to_owned(),
            ranked,
        }
    }

    /// Reads a plain or gzip file as a run, named after the file.
    ///
    /// # Errors
    /// The first line that is not part of a run, has no finite score, or repeats a document, with its number.
    pub fn read(path: &Path) -> Result<Self, RetrievalError> {
        let mut ranked: BTreeMap<String, Vec<DocumentScore>> = BTreeMap::new();
        let mut pairs = PairLines::default();
        read_lines(path, |line, text| {
            let (query, DocumentScore { document, score }) = parse(text)?;
            if let Some(first) = pairs.note(&query, &document, line) {
                return Err(LineError::RankedTwice {
                    first,
                    query,
                    document,
                });
            }
            let documents = ranked.entry(query).or_default();
            documents.push(DocumentScore { document, score });
            Ok(())
        })?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let name = [".run", ".trec", ".txt"]
            .iter()
            .find_map(|extension| name.strip_suffix(extension))
            .unwrap_or(name);
        Ok(Self::new(name, ranked))
    }

    /// Checks that the run of a file ranks documents for some of the queries.
    ///
    /// # Errors
    /// [`RetrievalError::RunOfOtherQueries`].
    pub fn check_queries<'a>(
        &self,
        path: &Path,
        queries: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), RetrievalError> {
        match queries
            .into_iter()
            .any(|query| self.ranked.contains_key(query))
        {
            true => Ok(()),
            false => Err(RetrievalError::RunOfOtherQueries {
                path: path.to_owned(),
                ranked: self.ranked.len(),
                ids: examples(self.ranked.keys().map(String::as_str)),
            }),
        }
    }

    /// Its ranking for a query, best first; empty for an unknown query.
    pub fn of(&self, query: &str) -> &[DocumentScore] {
        self.ranked.get(query).map_or(&[], Vec::as_slice)
    }

    /// Writes the run to a file.
    ///
    /// # Errors
    /// An id with a space; a file that cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), RetrievalError> {
        let mut text = String::new();
        for (query, documents) in &self.ranked {
            for (rank, DocumentScore { document, score }) in (1..).zip(documents) {
                for id in [query, document] {
                    if id.contains(char::is_whitespace) {
                        return Err(RetrievalError::IdWithSpace { id: id.clone() });
                    }
                }
                // Writing to a string never fails.
                let _ = writeln!(text, "{query} Q0 {document} {rank} {score} {}", self.name);
            }
        }
        Ok(replace(path, text.as_bytes())?)
    }
}

/// The query of a line, and its document with the score.
fn parse(text: &str) -> Result<(String, DocumentScore), LineError> {
    let not_a_line = |reason| LineError::NotARunLine { reason };
    let Some([query, _, document, _, received, _]) = columns(text) else {
        return Err(not_a_line("it has not 6 columns".to_owned()));
    };
    let score: f64 = received
        .parse()
        .map_err(|_| not_a_line(format!("the score {received:?} is no number")))?;
    // Adding 0 turns -0 into 0.
    let score = score as f32 + 0.0;
    let document = document.to_owned();
    match score.is_finite() {
        true => Ok((query.to_owned(), DocumentScore { document, score })),
        false => Err(LineError::ScoreNotFinite {
            document,
            received: received.to_owned(),
        }),
    }
}
