//! What a command sets of passages in a collection, and which passages it may name.

/// What becomes of passages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark<'a> {
    /// They are left out of every search.
    Prune,
    /// They get scores under this name, which filters read as metadata.
    Score(&'a str),
}

/// What becomes of passages that are named and that the collection does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// They are an error.
    Refused,
    /// They are passed over, as of labels that are older than the collection.
    Skipped,
}
