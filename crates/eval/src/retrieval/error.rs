//! Why retrieval cannot be measured, with the remedy beside the message.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ken_answer::AnswerError;
use ken_diagnostic::Remedy;
use ken_storage::StorageError;

use crate::text_lines::{LineFault, each_line};

const QUERY: &str = "each line is one object {\"id\", \"question\"}, or {\"_id\", \"text\"} as in BEIR; \
     docs/reference/formats.md, Judged documents, has all fields";
const JUDGMENT: &str = "each line is `QUERY 0 DOCUMENT RELEVANCE`, or has the columns query-id, corpus-id and score between tabs; \
     the relevance is an integer, above 0 for what is relevant";
const RUN: &str = "each line is `QUERY Q0 DOCUMENT RANK SCORE TAG`, with ids that hold no spaces";

fn to_read(refusal: ErrorKind) -> Remedy {
    match refusal {
        ErrorKind::NotFound => "check the path of the file".into(),
        _ => "check that the file is complete and that you may read it".into(),
    }
}

/// The first names, with a sign if there are more.
pub(super) fn examples<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 3;
    let mut names = names.into_iter();
    let shown: Vec<String> = names
        .by_ref()
        .take(SHOWN)
        .map(|name| format!("{name:?}"))
        .collect();
    let more = if names.next().is_some() { ", …" } else { "" };
    shown.join(", ") + more
}

/// Why retrieval cannot be measured.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum RetrievalError {
    #[error("{path}, line {line}: {source}")]
    #[diagnostic(forward)]
    Line {
        path: PathBuf,
        line: usize,
        source: LineError,
    },
    #[error("the folder {folder} has no qrels/test.tsv")]
    #[diagnostic(
        remedy = "name the judgments by <qrels>, such as another split in its folder qrels"
    )]
    NoQrels { folder: PathBuf },
    #[error("{path} holds no queries")]
    #[diagnostic(remedy = Remedy::from(QUERY))]
    NoQueries { path: PathBuf },
    #[error("{path} holds no judgments")]
    #[diagnostic(remedy = Remedy::from(JUDGMENT))]
    NoJudgments { path: PathBuf },
    #[error("{path} ranks documents for {ranked} queries, and none of them was judged: {ids}")]
    #[diagnostic(remedy = "check that the run and the judgments name queries by the same ids")]
    RunOfOtherQueries {
        path: PathBuf,
        ranked: usize,
        ids: String,
    },
    #[error("two systems have the name {name:?}")]
    #[diagnostic(remedy = "rename the files of runs: a system is named after its file")]
    SystemNamedTwice { name: String },
    #[error(
        "none of the {judged} judged queries was asked: judged {judged_ids}, asked {asked_ids}"
    )]
    #[diagnostic(
        remedy = "name the queries that were judged, or the judgments of these queries by <qrels>"
    )]
    NoQueryKnown {
        judged: usize,
        judged_ids: String,
        asked_ids: String,
    },
    #[error("the corpus has none of the {judged} judged documents: {ids}")]
    #[diagnostic(
        remedy = "ingest the documents that were judged, under their ids: those of JSON Lines are their `_id` or `id`, those of files their paths"
    )]
    NoDocumentKnown { judged: usize, ids: String },
    #[error("the id {id:?} holds a space, which separates columns in the file of a run")]
    #[diagnostic(remedy = "ingest the documents under ids without spaces")]
    IdWithSpace { id: String },
    #[error(transparent)]
    Search(#[from] AnswerError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The fault of a line.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum LineError {
    #[error("cannot be read: {0}")]
    #[diagnostic(kind = "file_unreadable", remedy = to_read(_0.kind()))]
    Read(std::io::Error),
    #[error("not valid UTF-8 (byte {column} of the line)")]
    #[diagnostic(remedy = "convert the file to UTF-8, for instance with iconv")]
    FileNotUtf8 { column: usize },
    #[error("not a query: {reason}")]
    #[diagnostic(remedy = Remedy::from(QUERY))]
    NotAQuery { reason: String },
    #[error("the id {id:?} is already that of line {first}")]
    #[diagnostic(remedy = "give every query an id of its own")]
    DuplicateQuestionId { first: usize, id: String },
    #[error("not a judgment: {reason}")]
    #[diagnostic(remedy = Remedy::from(JUDGMENT))]
    NotAJudgment { reason: String },
    #[error("{document:?} was judged for the query {query:?} in line {first}")]
    #[diagnostic(remedy = "keep one judgment of a document for a query")]
    JudgedTwice {
        first: usize,
        query: String,
        document: String,
    },
    #[error("not a line of a run: {reason}")]
    #[diagnostic(remedy = Remedy::from(RUN))]
    NotARunLine { reason: String },
    #[error(
        "the score {received} of {document:?} is no finite number of 32 bits, and cannot be ranked"
    )]
    #[diagnostic(
        remedy = "have the other system score every document by a finite number, or leave out what it could not score"
    )]
    ScoreNotFinite { document: String, received: String },
    #[error("{document:?} was ranked for the query {query:?} in line {first}")]
    #[diagnostic(
        remedy = "keep one line of a document for a query, that with its best score if these are passages"
    )]
    RankedTwice {
        first: usize,
        query: String,
        document: String,
    },
}

impl From<LineFault> for LineError {
    fn from(fault: LineFault) -> Self {
        match fault {
            LineFault::Read(error) => Self::Read(error),
            LineFault::NotUtf8 { column } => Self::FileNotUtf8 { column },
        }
    }
}

/// Passes each line of a file that is not blank to `take`, with its number; faults become errors with their place.
pub(super) fn read_lines(
    path: &Path,
    mut take: impl FnMut(usize, &str) -> Result<(), LineError>,
) -> Result<(), RetrievalError> {
    let placed = |line, source| RetrievalError::Line {
        path: path.to_owned(),
        line,
        source,
    };
    let fault = |line, fault: LineFault| placed(line, fault.into());
    each_line(path, fault, |line, text| {
        take(line, text).map_err(|error| placed(line, error))
    })
}
