//! Studies of question answering: question sets, metrics, and evaluation runs that can be resumed.
//!
//! The path of an evaluation: [`dataset`] reads the questions, [`mod@evaluate`] has each answered and
//! scored into a [`record`], which [`results`] keeps, and [`summary`] averages them.
//! [`compare`] holds policies against each other on the same answers.
//! [`mod@probe`] measures what a model knows, and [`calibration`] makes of it what thresholds are
//! chosen on. [`mod@label`] finds the source of knowledge that helps most with each question, and
//! [`mod@mastery`] how much of what a corpus says a model knows. [`learn`] makes heads of these
//! measurements, and [`pruning`] says which passages of a corpus can go.
//! What asks a model over many questions or sentences is one resumable [`run`]. This crate loads no model and opens no corpus: it is given them.

pub mod bootstrap;
pub mod calibration;
pub mod compare;
pub mod dataset;
pub mod discrimination;
pub mod evaluate;
mod json_line;
pub mod label;
pub mod learn;
pub mod mastery;
mod page;
pub mod probe;
pub mod pruning;
pub mod record;
pub mod results;
pub mod run;
pub mod statistics;
pub mod summary;
mod table;
pub mod training_examples;
mod training_page;

use ken_random as random;

pub use calibration::{
    CalibrationError, Observed, check_sampling, observe, observe_scored, recorded,
};
pub use compare::{Comparison, compare};
pub use dataset::{DatasetError, Question, read_questions, sample};
pub use discrimination::auroc;
pub use evaluate::{AnswerMany, evaluate};
pub use label::{
    FirstText, Labelling, NamedCorpus, SourceRecord, SourceSummary, label_sources,
    summarize_sources, write_sources_parquet,
};
pub use learn::{LearnError, LearnOptions, datastore::make_datastore};
pub use mastery::{
    MasteryRecord, MasterySummary, MasteryWork, Sentence, label_mastery, mastery_of_probed,
    sample_sentences, summarize_mastery, write_mastery_parquet,
};
pub use probe::{Probe, ProbeRecord, ProbeSummary, probe, summarize_probe, write_parquet};
pub use pruning::PruningError;
pub use record::Record;
pub use results::{ResultsError, ResultsFile, Settings, read_results, read_settings};
pub use run::{Outcome, Progress, Run, RunError, Task, in_memory};
pub use summary::{Summary, summarize};
pub use table::ExportError;
pub use training_examples::{
    BoundaryError, BoundaryExamples, ExampleKind, LabelRule, Labels, NoiseTolerant, RoutingError,
    RoutingExample, RoutingStage, TrainingExample, boundary_examples, is_held_out, noise_tolerant,
    place_in_split, routing_examples,
};
pub use training_page::training_to_html;
