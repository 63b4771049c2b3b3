//! The outcome of a run.

use serde::Serialize;

/// The counts of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// New documents.
    pub added: usize,
    /// New documents with the contents of others that are gone; these were moved.
    pub moved: usize,
    /// Documents that were deleted, since they are gone from the folders.
    pub deleted: usize,
    /// Whether a sync deleted nothing, since not everything could be read.
    pub not_synced: bool,
    /// Documents whose passages were replaced.
    pub replaced: usize,
    /// Unchanged documents.
    pub unchanged: usize,
    /// Documents that could not be read and were skipped.
    pub broken: usize,
    /// Documents of shards that are not ingested.
    pub other_shards: usize,
    /// Passages written.
    pub passages: usize,
    /// Passages among these whose vectors were reused, since their text did not change.
    pub reused: usize,
    /// Passages that the embedder truncates, so that dense search ignores their ends.
    pub longer_than_embedder: usize,
    /// The generation published last; 0 if there is none.
    pub generation: u64,
    /// Whether the run was interrupted. Running it again ingests the rest.
    pub interrupted: bool,
}
