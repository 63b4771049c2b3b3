//! A push: its corpus and where it goes, what it reports while it runs, and what it did.

use ken_corpus::{Corpus, CorpusInfo, Part};

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
    /// The part of the passages that is pushed, beside other jobs that push the other parts of the same generation. `None`
    /// for all.
    pub part: Option<Part>,
}

/// The progress of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Passages in the collection.
    pub passages: u64,
    /// All passages of the corpus or of the part that is pushed, pruned ones included.
    pub passages_total: u64,
}

/// What a push did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// The counts of the generation that was pushed.
    pub info: CorpusInfo,
    /// Passages that were sent.
    pub sent: u64,
    /// Passages that were deleted.
    pub deleted: u64,
    /// Passages that the collection held already.
    pub kept: u64,
    /// Whether it was stopped early.
    pub interrupted: bool,
    /// Of a push of a part: the parts that have yet to end before the collection can be searched.
    pub missing: Vec<Part>,
}
