//! What a command sets of passages in a collection.

/// What becomes of passages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark<'a> {
    /// They are left out of every search.
    Prune,
    /// They get scores under this name, which filters read as metadata.
    Score(&'a str),
}
