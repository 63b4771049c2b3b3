//! The crash-safe store of passages: immutable segments, numbered generations, one commit point.
//!
//! A corpus folder holds
//!
//! - `CURRENT`: the number of the published generation, as text. Replacing this file is the only
//!   commit point: before it the old generation stands, after it the new one.
//! - `generations/{n:08}.json`: what generation n consists of ([`manifest`]), never rewritten.
//! - `segments/{n:08}/`: the documents and passages that came with generation n, never rewritten.
//! - `staging/`: segments under construction; a killed writer's leftovers go at the next open.
//! - `LOCK`: held by the one writer. Readers need no lock, since nothing that they see changes.
//!
//! It holds no vectors and no search index; the index room adds its files to a staged segment.

mod corpus;
mod durable;
mod error;
mod known;
mod layout;
mod manifest;
mod record;
mod segment;
mod staged;
mod writer;

pub use corpus::Corpus;
pub use error::CorpusError;
pub use known::{DocumentState, Known};
pub use manifest::EmbedderIdentity;
pub use segment::Segment;
pub use staged::StagedSegment;
pub use writer::{Settings, Writer};
