//! Model files: naming, downloading, verifying and caching them.
//!
//! A [`ModelReference`] names a model; a [`ModelCache`] resolves it to files on this machine and uses
//! the network only in [`ModelCache::pull`]. Nothing here reads weights.
//!
//! ```
//! use ken_hub::ModelReference;
//!
//! let reference: ModelReference = "hf:org/model".parse()?;
//! assert!(matches!(reference, ModelReference::HuggingFace { file: None, .. }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
mod open_models;
mod package_index;
mod pip;
mod progress;
mod python;
mod record;
mod reference;
mod short_names;
mod transfer;
mod wheel;

pub use cache::{FileCheck, FileState, ModelCache, Verification};
pub use environment::Environment;
pub use error::HubError;
pub use open_models::{LISTED_ON, OpenModel, open_models};
pub use progress::{Progress, Stage};
pub use python::find_python;
pub use record::{FileRecord, ModelRecord};
pub use reference::ModelReference;
pub use short_names::{DEFAULT_EMBEDDER, DEFAULT_GENERATOR, ShortName, defaults};
