//! A push: its corpus, address, token and kind of index.

use ken_corpus::Corpus;

use crate::address::MilvusAddress;
use crate::index_kind::VectorIndex;
use crate::token::Token;

/// A corpus on its way to a collection.
#[derive(Clone, Copy)]
pub struct PushJob<'a> {
    /// Open with all shards.
    pub corpus: &'a Corpus,
    /// The collection.
    pub address: &'a MilvusAddress,
    /// For a server that requires one.
    pub token: Option<&'a Token>,
    /// The index of a new collection; that of another one is checked. None for the default, or that of the collection
    /// that is replaced.
    pub index: Option<VectorIndex>,
}
