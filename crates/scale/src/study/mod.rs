//! Studies of corpus scale and model size: a full grid of models and corpus scales over the same
//! questions ("Less LLM, More Documents").
//!
//! A study is a folder: `manifest` describes it, `evidence` holds the search results for all models, `cell` answers
//! each cell. `join` and `parts` join what several jobs measured. `records` reads it back; `measures` and `compensation` compute what [`crate::report`] reports. `table`
//! reads the scores of a study that was run elsewhere.

mod cell;
mod compensation;
mod condition;
mod curve;
mod error;
mod evidence;
mod join;
mod manifest;
mod measures;
mod parts;
mod records;
mod table;

pub use cell::{CellWork, KnownAnswers};
pub use compensation::{ByMetric, Compensation, MissingScale, compensations, n_star_interval};
pub use condition::{Cell, Condition, NotARatio, Order, PruneRatio, Retrieval};
pub use curve::{Curve, Scores};
pub use error::ScalingError;
pub use evidence::{
    Evidence, FoundPassage, PassagesRead, as_found, evidence_file, find_evidence, passages_read,
    told,
};
pub use join::join;
pub use ken_eval::Measure;
pub use manifest::{Dataset, Manifest, StudiedCondition, StudiedModel};
pub use measures::{Outcome, ScaleMeasures};
pub use parts::{Row, join_parts, questions_of, rows};
pub use records::{Measured, PASSAGES_READ, StudyTime, signals_file};
pub use table::{TableError, read_table};
