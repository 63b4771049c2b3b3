//! How much of a corpus a model knows (Zero-RAG, section 3.1): sample passages, cut them into sentences, have
//! questions written about each, have the model answer them from memory, and count.
//!
//! [`sample_sentences`] draws passages and cuts them; [`label_mastery`] takes the sentences in batches and has pairs
//! written and answered; each sentence becomes a [`MasteryRecord`] in a results file, and [`summarize_mastery`]
//! averages those. `ken_probe::mastery` writes, filters and counts pairs. [`mastery_of_probed`] reuses questions that
//! were already probed.

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
