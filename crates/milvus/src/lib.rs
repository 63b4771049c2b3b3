//! A corpus in Milvus: bringing one there, and searching it there.
//!
//! [`push`] brings a collection to the state of a corpus's generation, [`Collection`] searches it
//! as `ken-index` searches the corpus on disk. This is the only room that speaks to Milvus. It
//! embeds nothing, and it changes no corpus on disk.

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
mod collection;
mod connection;
mod create;
mod error;
mod facets;
mod identity;
mod literal;
mod push;
mod row;
mod schema;
mod sweep;
mod token;

pub use address::{AddressError, MilvusAddress};
pub use collection::Collection;
pub use error::MilvusError;
pub use push::{Progress, Pushed, push};
pub use schema::{IndexKind, UnknownIndexKind};
pub use token::Token;
