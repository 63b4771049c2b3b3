//! Evaluation of question answering: question sets, metrics, resumable runs, and comparisons of policies.
//!
//! [`dataset`] reads the questions, [`mod@evaluate`] answers and scores each into a [`record`], [`results`] stores
//! the records, and [`summary`] averages them. [`mod@compare`] compares policies on the same answers. [`retrieval`]
//! measures search alone, and [`mod@card`] shows what a model knows. [`mod@probe`] measures what a model knows, and
//! [`calibration`] derives the observations for choosing thresholds from it. All work on many questions is a
//! resumable [`run`], which [`mod@part`] splits among jobs. Callers load the models and open the corpora; nothing
//! here trains.
//!
//! ```
//! use ken_eval::paired_interval;
//!
//! // Of 40 questions, one policy alone answers three right, and the other alone one.
//! let differences = [[1.0; 3].as_slice(), &[-1.0], &[0.0; 36]].concat();
//! let [low, high] = paired_interval(&differences, 0).ok_or("no questions")?;
//! assert!(low < 0.0 && 0.05 < high, "nothing is shown: {low} to {high}");
//! # Ok::<(), &str>(())
//! ```

pub mod bootstrap;
pub mod calibration;
mod calibration_error;
pub mod card;
pub mod compare;
pub mod correctness;
pub mod dataset;
pub mod discrimination;
pub mod evaluate;
mod grounds;
pub mod json_line;
mod measure;
mod paired;
mod paired_interval;
pub mod part;
pub mod probe;
mod randomization;
pub mod record;
mod record_files;
mod report_files;
pub mod results;
pub mod retrieval;
pub mod run;
pub mod split;
pub mod statistics;
pub mod summary;
mod text_lines;
pub mod tune;

pub use calibration::{
    Observed, Scored, answer_scores, check_sampling, observe, probed_k, recorded,
    recorded_with_evidence, signal_scores,
};
pub use calibration_error::CalibrationError;
pub use compare::{Comparison, compare};
pub use dataset::{DatasetError, Question, check_field, read_questions, sample};
pub use discrimination::auroc;
pub use evaluate::{AnswerMany, evaluate, evaluate_pipeline};
pub use grounds::{Grounds, grounds};
pub use measure::Measure;
pub use paired::{Paired, paired};
pub use paired_interval::paired_interval;
pub use part::{Part, PartError};
pub use probe::{
    Probe, ProbeRecord, ProbeSummary, ProbedEvidence, probe, probe_report, summarize_probe,
};
pub use randomization::randomization_test;
pub use record::Record;
pub use record_files::{default_file, with_ending};
pub use report_files::write_report;
pub use results::{ResultsError, ResultsFile, RunSettings, read_results, read_run, read_settings};
pub use run::{Outcome, Run, RunError, RunProgress, Task, in_memory};
pub use split::{AboutSubject, Fold, Split, half, is_held_out, place_in_split};
pub use summary::{Summary, summarize};
