//! Model files: how they are named, fetched, checked and kept.
//!
//! A [`ModelReference`] names a model; a [`ModelCache`] turns the name into files on this machine
//! and never touches the network except in [`ModelCache::pull`]. Nothing here reads weights: what
//! the files mean is the business of the decoder and the encoder.

mod archive;
mod cache;
mod digest;
mod environment;
mod error;
mod fetch;
mod folders;
mod hf;
mod known;
mod near_names;
mod pip;
mod progress;
mod record;
mod reference;
mod wheel;

pub use cache::{FileCheck, FileState, ModelCache, Verification};
pub use environment::Environment;
pub use error::HubError;
pub use known::{DEFAULT_EMBEDDER, DEFAULT_GENERATOR, ShortName, short_names};
pub use progress::{Progress, Stage};
pub use record::{FileRecord, ModelRecord};
pub use reference::ModelReference;
