//! A corpus in Milvus: pushing it there, and searching it there.
//!
//! [`push`] brings a collection to the state of a corpus's generation, [`Collection`] searches it
//! as `ken-index` searches the corpus on disk. This is the only crate that talks to Milvus. It
//! embeds nothing, and it changes no corpus on disk.

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
pub use error::{Failure, MilvusError};
pub use push::{Progress, Pushed, push};
pub use schema::{IndexKind, UnknownIndexKind};
pub use token::Token;
