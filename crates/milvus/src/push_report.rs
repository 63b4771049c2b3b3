//! What a push reports: while it runs, and when it ends.

use ken_corpus::{CorpusInfo, Part};

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
