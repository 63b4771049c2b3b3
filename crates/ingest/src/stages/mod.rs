//! The stages of a run: reading, cutting, embedding, publishing. They run concurrently, each a
//! little ahead of the next, and pass on results in order, so that the corpus does not depend on
//! their speed.
//!
//! An error takes the same way, after everything before it, so the stages publish the same documents before it as they
//! would in sequence. A stage ends when the stage before or after it has ended, for whatever reason.

mod cut;
mod embed;
mod publish;
mod read;

use ken_documents::ReadProgress;

pub(crate) use cut::{CutDocument, cut};
pub(crate) use embed::embed;
pub(crate) use publish::{Embedded, Publisher};
pub(crate) use read::{NewDocument, read};

/// Passages embedded at a time.
pub(crate) const BATCH_PASSAGES: usize = 256;

/// Passages published together. A killed run loses at most the work on these, and on as many more
/// that wait to be written.
pub(crate) const PUBLISH_PASSAGES: usize = 4096;

/// The progress of a run.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Bytes of the files.
    pub read: ReadProgress,
    /// Documents read.
    pub documents: usize,
    /// Passages embedded.
    pub passages: usize,
}
