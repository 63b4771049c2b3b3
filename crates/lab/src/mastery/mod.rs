//! How much of what a corpus says a model knows (Zero-RAG, section 3.1): the passages of a sample
//! cut into sentences, questions written to each, answered closed-book, and counted.
//!
//! The path: [`sample_sentences`] draws passages and cuts them, [`label_mastery`] takes the sentences
//! batch by batch, `labeling` has pairs written and answered, each sentence becomes a
//! [`MasteryRecord`] in a results file, and [`summarize_mastery`] averages those. Writing, filtering
//! and counting pairs is done by `ken_probe::mastery`. [`mastery_of_probed`] reuses questions that were
//! probed already.

mod from_probe;
mod label;
mod record;
mod sentences;
mod summary;

pub use from_probe::{MasteryOfProbed, mastery_of_probed};
pub use label::{MasteryWork, label_mastery};
pub use record::{AnsweredPair, MasteryFingerprints, MasteryRecord};
pub use sentences::{Sentence, sample_sentences};
pub use summary::{Distribution, MasterySummary, summarize_mastery};
