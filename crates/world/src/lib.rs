//! The known world: invented people, books and towns, and a family of small decoders trained on nothing else, so that
//! one can control and compute what each of them knows.
//!
//! [`World`] invents it, [`write_world`] writes its corpus and questions, [`training_text_of`] gives the texts that
//! the family trains on, [`write_untrained`] writes a model before training, [`train_member`] trains it, and
//! [`measure_truth`] computes what a model knows.
//!
//! ```
//! use ken_world::{World, WorldSettings, world_questions};
//!
//! let world = World::new(WorldSettings { people: 20, ..WorldSettings::default() })?;
//! // Every answer is known, since everything was invented.
//! assert!(world_questions(&world).iter().all(|question| !question.golden_answers[0].is_empty()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answers;
mod biography;
mod choices;
mod document;
mod error;
mod family;
mod files;
mod generate;
mod misrepresent;
mod names;
mod prompts;
mod query;
mod questions;
mod reading_subjects;
mod relation;
mod settings;
mod source_accuracy;
mod subject;
mod templates;
mod tokenizer;
mod training;
mod training_text;
mod truth;
mod truth_table;
mod world;
mod zipf;

pub use answers::Truth;
pub use error::WorldError;
pub use family::{Size, write_untrained};
pub use files::{
    CORPUS_FILE, QUESTIONS_FILE, WORLD_FILE, WorldSummary, read_world, summarize_world, write_world,
};
pub use query::Query;
pub use questions::{QuestionKind, QuestionTruth, WorldQuestion, world_questions};
pub use relation::Relation;
pub use settings::WorldSettings;
pub use source_accuracy::{SourceAccuracy, accuracy_of_truth, accuracy_of_world};
pub use subject::{Account, Fact, Group, Holding, Kind, Subject, Told};
pub use tokenizer::{END_OF_TEXT, tokenizer};
pub use training::{WorldTraining, WorldTrainingError, train_member};
pub use training_text::{Piece, TextKind, TrainingText, training_text_of};
pub use truth::{Probabilities, TruthRecord, measure_truth};
pub use truth_table::{TruthRow, truth_table};
pub use world::World;
