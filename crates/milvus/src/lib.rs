//! A corpus in Milvus: pushing it there, and searching it there.
//!
//! [`push`] brings a collection to the state of a corpus's generation, [`Collection`] searches it
//! as `ken-index` searches the corpus on disk. This is the only crate that talks to Milvus. It
//! embeds nothing, and it changes no corpus on disk. Without its feature `client` it still parses
//! addresses, and opening one fails.
//!
//! ```
//! use ken_milvus::MilvusAddress;
//!
//! let address: MilvusAddress = "milvus://127.0.0.1:19530/notes".parse()?;
//! assert_eq!(address.collection(), "notes");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// Some items serve the client only.
#![cfg_attr(not(feature = "client"), allow(dead_code))]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod address;
#[cfg(feature = "client")]
mod client;
mod error;
mod index_kind;
mod mark;
#[cfg(any(test, not(feature = "client")))]
mod no_client;
mod push_job;
mod token;

pub use address::{AddressError, MilvusAddress};
#[cfg(feature = "client")]
pub use client::{Collection, Ranked, mark, push, push_and_switch, restore, score};
pub use error::{Failure, MilvusError};
pub use index_kind::{IndexKind, UnknownIndexKind, VectorIndex};
pub use mark::{Mark, Missing, Ranking};
#[cfg(not(feature = "client"))]
pub use no_client::{Collection, Ranked, mark, push, push_and_switch, restore, score};
pub use push_job::{Progress, PushJob, Pushed};
pub use token::Token;
