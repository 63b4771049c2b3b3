//! Corpora behind search services that others run: vector stores of OpenAI's API, retrievers of search agents, Elasticsearch,
//! OpenSearch, Qdrant, and tables of PostgreSQL with pgvector. This crate searches them, never writes to them, and embeds nothing.
//!
//! ```
//! use ken_search_service::ServiceAddress;
//!
//! let address: ServiceAddress = "qdrant+http://127.0.0.1:6333/notes?text=body".parse()?;
//! assert_eq!(address.name(), "notes");
//! assert_eq!(address.origin(), "http://127.0.0.1:6333");
//! # Ok::<(), ken_search_service::ServiceAddressError>(())
//! ```

mod address;
mod client;
mod error;
mod filter;
mod http;
mod key;
mod kind;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(not(feature = "postgres"))]
#[path = "no_postgres.rs"]
mod postgres;
mod record;
mod service;

pub use address::{ServiceAddress, ServiceAddressError};
pub use error::ServiceError;
pub use key::Key;
pub use service::SearchService;
