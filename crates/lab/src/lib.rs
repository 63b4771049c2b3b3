//! The laboratory: turns measurements into training data, heads, tuned models and pruned corpora.
//!
//! [`mod@label`] finds the source of knowledge that helps most with each question, and [`mod@mastery`] how much of a
//! corpus a model already knows. [`heads`] trains routers, gates and pruners on these measurements, [`examples`]
//! words them for the tuning of a language model, and [`tuning`] tunes it. [`pruning`] finds the passages that a
//! corpus can do without, and [`export`] writes records as tables. Callers load the models and open the corpora.
//!
//! ```
//! use ken_lab::pruning::count;
//!
//! // How many of 2,376 passages go at a ratio of 0.3: never more than that share.
//! assert_eq!(count(0.3, 2_376), 712);
//! ```

pub mod examples;
pub mod export;
pub mod heads;
pub mod label;
pub mod mastery;
pub mod pruning;
mod training_page;
pub mod tuning;

pub use examples::{
    AssessorExampleOptions, ExampleKind, ExamplesError, LabelRule, Labels, NoiseTolerant,
    RoutingExample, RoutingExampleOptions, RoutingStage, TrainingExample, assessor_examples,
    noise_tolerant, routing_examples,
};
pub use export::{ExportError, Table, write_parquet};
pub use heads::datastore::{MakeOptions, make_datastore};
pub use heads::{LayerChoice, LearnError, LearnOptions, Target};
pub use label::{
    FirstText, Labeling, NamedCorpus, SourceRecord, SourceSummary, label_sources, summarize_sources,
};
pub use mastery::{
    MasteryRecord, MasterySummary, MasteryWork, Sentence, label_mastery, mastery_of_probed,
    sample_sentences, summarize_mastery,
};
pub use pruning::PruningError;
