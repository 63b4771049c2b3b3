//! Studies of question answering: question sets, metrics, and evaluation runs that can be resumed.
//!
//! The path of an evaluation: [`dataset`] reads the questions, [`mod@evaluate`] has each answered and
//! scored into a [`record`], which [`results`] keeps, and [`summary`] averages them.
//! [`compare`] holds policies against each other on the same answers.
//! [`mod@probe`] measures what a model knows, and [`calibration`] makes of it what thresholds are
//! chosen on. [`mod@label`] finds the source of knowledge that helps most with each question, and
//! [`mod@mastery`] how much of what a corpus says a model knows. [`learn`] makes heads of these
//! measurements, and [`pruning`] says which passages of a corpus can go. This room loads no model and
//! opens no corpus: it is given them.

pub mod bootstrap;
pub mod calibration;
pub mod compare;
pub mod dataset;
pub mod discrimination;
pub mod evaluate;
mod in_batches;
mod json_line;
pub mod label;
pub mod learn;
pub mod lessons;
pub mod mastery;
mod page;
pub mod probe;
pub mod pruning;
mod random;
pub mod record;
pub mod results;
pub mod statistics;
pub mod summary;
mod table;
mod training_page;
pub mod world;

pub use calibration::{
    CalibrationError, Observed, check_sampling, observe, observe_scored, recorded,
};
pub use compare::{Comparison, SignalsError, compare};
pub use dataset::{DatasetError, Question, read_questions, sample};
pub use discrimination::auroc;
pub use evaluate::{AnswerMany, Evaluation, EvaluationError, Progress, evaluate};
pub use label::{
    FirstText, LabelError, LabelProgress, Labelled, Labelling, NamedCorpus, SourceRecord,
    SourceSummary, label_sources, summarize_sources, write_sources_parquet,
};
pub use learn::{LearnError, LearnOptions, datastore::make_datastore};
pub use lessons::{
    BoundaryError, BoundaryLessons, LabelRule, Labels, Lesson, LessonKind, NoiseTolerant,
    RoutingError, RoutingLesson, RoutingStage, boundary_lessons, is_held_out, noise_tolerant,
    place_in_split, routing_lessons,
};
pub use mastery::{
    Mastered, MasteryError, MasteryProgress, MasteryRecord, MasterySummary, MasteryWork, Sentence,
    label_mastery, mastery_of_probed, sample_sentences, summarize_mastery, write_mastery_parquet,
};
pub use probe::{
    Probe, ProbeError, ProbeProgress, ProbeRecord, ProbeSummary, Probed, probe, summarize_probe,
    write_parquet,
};
pub use pruning::PruningError;
pub use record::Record;
pub use results::{ResultsError, ResultsFile, Settings, read_results, read_settings};
pub use summary::{Summary, summarize};
pub use table::ExportError;
pub use training_page::training_to_html;
