//! What a command sets of passages in a collection, and which passages it may name.

use ken_corpus::PassageId;

/// What becomes of passages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark<'a> {
    /// They are left out of every search.
    Prune,
    /// They are left out where their score is above 0, by a ratio, and found again where it is 0.
    Ratio,
    /// They get scores under this name, which filters read as metadata.
    Score(&'a str),
}

/// What passages are ranked by for pruning, the highest first. What is not a number is no score.
#[derive(Clone, Copy)]
pub enum Ranking<'a> {
    /// The scores that they have under this name.
    Kept(&'a str),
    /// What this makes of their ids.
    Ids(&'a dyn Fn(&PassageId) -> f64),
    /// What this makes of their ids and vectors.
    Vectors(&'a dyn Fn(&PassageId, &[f32]) -> f64),
}

/// What becomes of passages that are named and that the collection does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// They are an error.
    Refused,
    /// They are passed over, as of labels that are older than the collection.
    Skipped,
}
