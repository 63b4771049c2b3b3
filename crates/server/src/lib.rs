//! ken as a server: OpenAI's API and ken's own, over models and corpora that `ken-setup` opens, with the one pipeline
//! of `ken-answer`. Wire types stand here and nowhere else. It trains nothing and reads no documents.
//!
//! ```no_run
//! use std::sync::{Arc, atomic::AtomicBool};
//!
//! use ken_server::{Access, Served};
//! use ken_setup::{Key, Settings, Setup};
//!
//! let settings = Settings::resolve(None, [(Key::corpus, "notes.ken".into())])?;
//! let stop = Arc::new(AtomicBool::new(false));
//! let access = Access::open(settings.server_keys.clone())?;
//! let listener = ken_server::bind(settings.listen, &access)?;
//! let served = Served::open(&Setup::quiet(&settings, &stop), None, Arc::new(|entry| eprintln!("{entry:?}")))?;
//! ken_server::serve(served, access, listener, None, &stop)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod access;
mod connections;
mod listen;
mod lock;
mod log;
mod mcp;
mod metrics;
mod routes;
mod service;
mod spans;
mod wire;

pub use access::caller::Access;
pub use access::keys::{Grant, KeyRecord, Keys, KeysError, Scope};
pub use listen::{ListenError, bind, serve};
pub use log::{Entry, Log};
pub use mcp::Agent;
pub use routes::permission::Permission;
pub use routes::route::Route;
pub use routes::table::routes;
pub use service::corpora::Opened;
pub use service::data_folder::DataFolderError;
pub use service::library::intake::{Destination, Intake, ReadFiles, Taken};
pub use service::library::measurer::{Measured, Measurement, Measurer, Purpose};
pub use service::library::tool_error::ToolError;
pub use service::library::{Library, Tools};
pub use service::live::{Configured, Source};
pub use service::record::RecordError;
pub use service::resources::Served;
pub use service::setup::{Limits, OpenError};
pub use service::watch::NotGuaranteed;
pub use spans::SpansError;
