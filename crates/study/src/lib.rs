//! Studies of question answering: question sets, metrics, and evaluation runs that can be resumed.
//!
//! The path of an evaluation: [`dataset`] reads the questions, [`mod@evaluate`] has each answered and
//! scored into a [`record`], which [`results`] keeps, and [`summary`] averages them.
//! [`compare`] compares policies on the same answers.
//! [`mod@probe`] measures what a model knows, and [`calibration`] derives from it what thresholds are
//! chosen on. [`mod@label`] finds the source of knowledge that helps most with each question, and
//! [`mod@mastery`] how much of a corpus a model already knows. [`learn`] trains heads on these
//! measurements, and [`pruning`] finds the passages that a corpus can do without. [`scaling`] runs grids of
//! models and corpus scales, of which [`study_report`] tells and [`plan`] chooses a set-up. Whatever asks a model
//! about many questions or sentences is one resumable [`run`]; [`table`] exports its records. This crate
//! loads no model and opens no corpus: it is given them.

pub mod bootstrap;
pub mod calibration;
mod calibration_error;
pub mod compare;
pub mod dataset;
pub mod discrimination;
pub mod evaluate;
mod grounds;
mod json_line;
pub mod label;
pub mod learn;
pub mod mastery;
mod paired;
pub mod plan;
pub mod probe;
pub mod pruning;
pub mod record;
mod record_files;
mod report_files;
pub mod results;
pub mod run;
pub mod scaling;
pub mod split;
pub mod statistics;
pub mod study_report;
pub mod summary;
pub mod table;
pub mod training_examples;
mod training_page;
pub mod tuning;

use ken_random as random;

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
pub use label::{
    FirstText, Labeling, NamedCorpus, SourceRecord, SourceSummary, label_sources, summarize_sources,
};
pub use learn::{
    LayerChoice, LearnError, LearnOptions, Target,
    datastore::{MakeOptions, make_datastore},
};
pub use mastery::{
    MasteryRecord, MasterySummary, MasteryWork, Sentence, label_mastery, mastery_of_probed,
    sample_sentences, summarize_mastery,
};
pub use paired::{Paired, paired};
pub use probe::{
    Probe, ProbeRecord, ProbeSummary, ProbedEvidence, probe, probe_report, summarize_probe,
};
pub use pruning::PruningError;
pub use record::Record;
pub use record_files::{default_file, with_ending};
pub use report_files::write_report;
pub use results::{ResultsError, ResultsFile, RunSettings, read_results, read_settings};
pub use run::{Outcome, Run, RunError, RunProgress, Task, in_memory};
pub use split::{AboutSubject, Fold, Split, half, is_held_out, place_in_split};
pub use summary::{Summary, summarize};
pub use table::{ExportError, Table, write_parquet};
pub use training_examples::{
    AssessorExampleOptions, ExampleKind, ExamplesError, LabelRule, Labels, NoiseTolerant,
    RoutingExample, RoutingExampleOptions, RoutingStage, TrainingExample, assessor_examples,
    noise_tolerant, routing_examples,
};
