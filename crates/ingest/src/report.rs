//! The outcome of a run.

use serde::Serialize;

/// What a run did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// New documents.
    pub added: usize,
    /// New documents with the contents of others that are gone: they were moved.
    pub moved: usize,
    /// Documents that were deleted, since they are gone.
    pub deleted: usize,
    /// Whether nothing was deleted, since not everything could be read.
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
    /// Those of them whose vectors were reused, since their text did not change.
    pub reused: usize,
    /// Passages that the embedder truncates, so that their end does not count in dense search.
    pub longer_than_embedder: usize,
    /// The generation published last; 0 where there is none.
    pub generation: u64,
    /// Whether the run was interrupted. Running it again ingests the rest.
    pub interrupted: bool,
}
