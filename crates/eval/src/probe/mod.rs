//! Probing what a model knows over a question set: each question sampled from memory, with the
//! evidence of a corpus, and with that evidence masked (KBM, section 3).
//!
//! [`probe`] takes the open questions in batches, `batch` draws and judges answers, each question becomes a
//! [`ProbeRecord`] in a results file, and [`summarize_probe`] averages those. `ken_probe` has the estimators.

mod batch;
mod evidence;
mod record;
mod report;
mod run;
mod summary;

pub use batch::Probe;
pub use evidence::ProbedEvidence;
pub use record::drawn_of;
pub use record::{Conditions, Effects, Fingerprints, ProbeAnswer, ProbeRecord, ProbeSample};
pub(crate) use report::distributions;
pub use report::probe_report;
pub use run::probe;
pub use summary::{EffectShares, ProbeSummary, summarize_probe};
