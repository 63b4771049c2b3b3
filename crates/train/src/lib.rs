//! Training: decoders, fine-tuned or from scratch (`decoder`, `run`), and small heads over vectors (`heads`). Other
//! crates choose the examples.
//!
//! ```
//! use ken_train::Schedule;
//!
//! let schedule = Schedule { peak: 2e-4, warm_up: 0.1, floor: 0.05 };
//! assert!(schedule.at(0, 100) < schedule.at(9, 100));
//! assert!((schedule.at(9, 100) - 2e-4).abs() < 1e-12 && schedule.at(99, 100) < 1.1e-5);
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod adapter;
mod allocator;
mod batches;
mod checkpoint;
mod decoder;
mod error;
pub mod heads;
mod history;
mod lora;
mod objective;
mod ops;
mod optimizer;
mod run;
mod schedule;
mod sequence;

pub use adapter::write_adapter;
pub use decoder::{Trainable, Tuning};
pub use error::TrainError;
pub use history::{History, StepRecord, ValidationRecord};
pub use lora::LoraSettings;
pub use objective::MeanOver;
pub use run::{Examples, Outcome, Progress, TrainSettings, train};
pub use schedule::Schedule;
pub use sequence::{Objective, Preference, Sequence};

#[cfg(test)]
mod tests;
