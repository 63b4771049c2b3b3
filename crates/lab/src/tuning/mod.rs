//! Tuning a language model on measurements: what it is tuned on ([`Curriculum`]), from a file of examples, probed
//! questions, labeled sources or questions with passages; and the training itself ([`fine_tune()`]), which resumes in
//! the folder that it writes. The command line shows progress.

mod boundary;
mod curriculum;
mod error;
mod fine_tune;
mod folder;
mod noise_tolerant;
mod prompt_file;
mod self_route;

pub use boundary::{TaughtBoundary, boundary_curriculum, taught_boundary};
pub use curriculum::{Curriculum, Stage, objectives};
pub use error::TuneError;
pub use fine_tune::{FineTuning, TuneReport, fine_tune, finish};
pub use folder::{CHECKPOINT, stopped, write_history};
pub use noise_tolerant::{
    TaughtNoiseTolerance, known_questions, noise_tolerant_curriculum, split_noise_tolerant,
};
pub use prompt_file::read_examples;
pub use self_route::{
    SecondStage, TaughtRouting, best_threshold, record_threshold, routing_texts,
    self_route_curriculum, taught_routing,
};
