//! The stages of a run: reading, cutting, embedding, publishing. They work at the same time, each
//! a little ahead of the next, and hand on what they make in the order in which it came, so that
//! the corpus does not depend on which was faster.
//!
//! An error goes the same way, behind all that came before it: what is published until then is
//! what one stage after the other would have published. A stage ends when there is nobody left to
//! give or to take, whatever ended the other.

mod cut;
mod embed;
mod publish;
mod read;

use ken_documents::ReadProgress;

pub(crate) use cut::{CutDocument, cut};
pub(crate) use embed::embed;
pub(crate) use publish::{Handed, Shelf};
pub(crate) use read::{Found, Seen, read};

/// Passages embedded at a time.
pub(crate) const BATCH_PASSAGES: usize = 256;

/// Passages published together. A killed run loses at most the work on these, and on as many that
/// wait to be written.
pub(crate) const PUBLISH_PASSAGES: usize = 4096;

/// How far a run is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Bytes of the files.
    pub read: ReadProgress,
    /// Documents looked at.
    pub documents: usize,
    /// Passages embedded.
    pub passages: usize,
}
