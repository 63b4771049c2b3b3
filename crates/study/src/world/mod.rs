//! The known world: an invented world of people, books and towns, and a family of small decoders that
//! are trained on it from nothing, so that what each of them knows is set by us and can be checked.
//!
//! [`World`] invents it, [`write_world`] writes its corpus and its questions, [`training_text_of`]
//! gives the texts that the family learns from, [`write_untrained`] writes a member before it has
//! learned anything, [`train_member`] trains it, and [`measure_truth`] tells exactly what it knows.

mod error;
mod exposure;
mod family;
mod files;
mod invent;
mod mix;
mod names;
mod posed;
mod questions;
mod relation;
mod scene;
mod settings;
mod subject;
mod tell;
mod training;
mod truth;
mod truth_table;
mod vocabulary;
mod wording;

pub use error::WorldError;
pub use family::{Size, UnknownSize, write_untrained};
pub use files::{
    CORPUS_FILE, QUESTIONS_FILE, WORLD_FILE, WorldSummary, read_world, summarize_world, write_world,
};
pub use invent::{Truth, World};
pub use mix::{Piece, TextKind, TrainingText, training_text_of};
pub use questions::{QuestionKind, QuestionTruth, WorldQuestion, world_questions};
pub use relation::{Query, Relation};
pub use settings::WorldSettings;
pub use subject::{Fact, Group, Kind, Subject, Time};
pub use training::{WorldTraining, WorldTrainingError, train_member};
pub use truth::{Probabilities, TruthRecord, measure_truth};
pub use truth_table::{TruthRow, truth_table};
pub use vocabulary::{END_OF_TEXT, tokenizer};
