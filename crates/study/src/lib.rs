//! Studies of question answering: question sets, metrics, and evaluation runs that can be resumed.
//!
//! The path of an evaluation: [`dataset`] reads the questions, [`mod@evaluate`] has each answered and
//! scored by [`metrics`] into a [`record`], which [`results`] keeps, and [`summary`] averages them.
//! This room loads no model and opens no corpus: the caller answers.

pub mod bootstrap;
pub mod dataset;
pub mod discrimination;
pub mod evaluate;
mod json_line;
pub mod metrics;
pub mod normalize;
pub mod record;
pub mod results;
pub mod statistics;
pub mod summary;

pub use dataset::{DatasetError, Question, read_questions, sample};
pub use evaluate::{AnswerMany, Evaluation, EvaluationError, Progress, evaluate};
pub use metrics::{Scores, score};
pub use record::Record;
pub use results::{ResultsError, ResultsFile, Settings};
pub use summary::{Summary, summarize};
