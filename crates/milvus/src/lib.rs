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
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::print_stdout,
        clippy::print_stderr
    )
)]

mod address;
mod error;
mod index_kind;
mod mark;
#[cfg(any(test, not(feature = "client")))]
mod no_client;
mod push_job;
mod push_report;
mod token;

#[cfg(feature = "client")]
mod collection;
#[cfg(feature = "client")]
mod connection;
#[cfg(feature = "client")]
mod create;
#[cfg(feature = "client")]
mod facets;
#[cfg(feature = "client")]
mod identity;
#[cfg(feature = "client")]
mod literal;
#[cfg(feature = "client")]
mod numbers;
#[cfg(feature = "client")]
mod part_marks;
#[cfg(feature = "client")]
mod pieces;
#[cfg(feature = "client")]
mod push;
#[cfg(feature = "client")]
mod ranked;
#[cfg(feature = "client")]
mod row;
#[cfg(feature = "client")]
mod schema;
#[cfg(feature = "client")]
mod sweep;
#[cfg(feature = "client")]
mod switch;
#[cfg(feature = "client")]
mod transfer;
#[cfg(feature = "client")]
mod update;

pub use address::{AddressError, MilvusAddress};
#[cfg(feature = "client")]
pub use collection::Collection;
pub use error::{Failure, MilvusError};
pub use index_kind::{IndexKind, UnknownIndexKind, VectorIndex};
pub use mark::{Mark, Missing, Ranking};
#[cfg(not(feature = "client"))]
pub use no_client::{Collection, Ranked, mark, push, push_and_switch, push_part, restore, score};
#[cfg(feature = "client")]
pub use push::{push, push_part};
pub use push_job::PushJob;
pub use push_report::{Progress, Pushed};
#[cfg(feature = "client")]
pub use ranked::{Ranked, restore};
#[cfg(feature = "client")]
pub use switch::push_and_switch;
pub use token::Token;
#[cfg(feature = "client")]
pub use update::{mark, score};
