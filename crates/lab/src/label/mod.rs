//! Labeling questions with the source of knowledge that helps most: the model itself, or one of
//! several corpora (SR-RAG, section 3.3 and appendix B.1).
//!
//! The model writes a first text about every question ([`FirstText`]); `demonstrations` clusters these texts and
//! makes prompts of them; [`label_sources`] has the model write from these prompts, searches every corpus, and scores
//! the golden answer after each context (`contexts`). Each question becomes a [`SourceRecord`] in a results file, and
//! [`summarize_sources`] summarizes them. `ken_probe` has the rules of preference.

mod clusters;
mod contexts;
mod demonstrations;
mod first;
mod identity;
mod record;
mod run;
mod summary;

pub use contexts::{GoldenChoice, Labeling, NamedCorpus, SELF};
pub use first::FirstText;
pub use record::{Context, LabelFingerprints, SourceLabel, SourceRecord};
pub use run::{can_be_labeled, first_texts_of_all, label_after, label_sources, write_first_texts};
pub use summary::{SourceShare, SourceSummary, summarize_sources};
