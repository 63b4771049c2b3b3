//! Measuring retrieval alone: rankings of documents against judgments of their relevance, without a language model.
//!
//! [`RetrievalFiles`] finds queries and judgments, [`read_queries`] and [`Qrels`] read them, and [`judged_queries`]
//! joins them. A [`TrecRun`] is a ranking, from a file or from a retriever by [`ranked_documents`]. [`measures()`]
//! are defined as in `trec_eval`, [`evaluate_retrieval`] averages and compares them, and [`retrieval_report`] reports
//! the result.

mod beir;
mod columns;
mod error;
mod evaluation;
mod judged_query;
mod measures;
mod qrels;
mod queries;
mod report;
mod search;
mod trec_run;

pub use beir::RetrievalFiles;
pub use error::{LineError, RetrievalError};
pub use evaluation::{
    AgainstFirst, MeasureValue, RetrievalEvaluation, SystemResult, evaluate_retrieval,
};
pub use judged_query::{JudgedQuery, judged_queries, unknown_documents};
pub use measures::{NamedMeasure, measures};
pub use qrels::{Judgments, Qrels};
pub use queries::{SearchQuery, read_queries};
pub use report::{per_query_csv, retrieval_csv, retrieval_report};
pub use search::ranked_documents;
pub use trec_run::{DocumentScore, TrecRun};
