//! Studies of question answering: question sets, metrics, and evaluation runs that can be resumed.
//!
//! The path of an evaluation: [`dataset`] reads the questions, [`mod@evaluate`] has each answered and
//! scored into a [`record`], which [`results`] keeps, and [`summary`] averages them.
//! [`mod@probe`] measures what a model knows, and [`calibration`] makes of it what thresholds are
//! chosen on. This room loads no model and opens no corpus: it is
//! given them.

pub mod calibration;
pub mod dataset;
pub mod discrimination;
pub mod evaluate;
mod json_line;
pub mod probe;
pub mod record;
pub mod results;
pub mod statistics;
pub mod summary;

pub use calibration::{CalibrationError, Observed, observe};
pub use dataset::{DatasetError, Question, read_questions, sample};
pub use discrimination::auroc;
pub use evaluate::{AnswerMany, Evaluation, EvaluationError, Progress, evaluate};
pub use probe::{
    Probe, ProbeError, ProbeProgress, ProbeRecord, ProbeSummary, Probed, probe, summarize_probe,
    write_parquet,
};
pub use record::Record;
pub use results::{ResultsError, ResultsFile, Settings, read_results};
pub use summary::{Summary, summarize};
