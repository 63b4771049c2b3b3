//! Opens what settings name: models, corpora, rerankers, policies and pipelines, alike for the command line, a server
//! and Python. The caller passes the values it was given ([`Settings::resolve`]), watches models being fetched, and
//! may stop that ([`Setup`]). Nothing here prints or draws.
//!
//! ```
//! use ken_setup::{Key, Settings};
//!
//! let settings = Settings::resolve(None, [(Key::policy, "certainty@0.5".into()), (Key::k, "5".into())])?;
//! assert_eq!(settings.answering().policy.to_string(), "certainty@0.5");
//! assert_eq!(settings.answering().k, 5);
//! # Ok::<(), ken_setup::SetupError>(())
//! ```

mod chosen;
mod error;
mod fetch;
mod identity;
mod models;
mod pipeline;
mod retrieval;
mod settings;
mod trust;
mod tuned;

pub use chosen::Chosen;
pub use error::SetupError;
pub use fetch::{FetchProgress, Setup, fetched};
pub use pipeline::Opened;
pub use settings::{
    Bytes, CorpusAddress, CorpusSource, Key, KeySource, Keys, Named, NamedBy, Origins, Setting,
    Settings, count, seed,
};
pub use tuned::Tuned;
