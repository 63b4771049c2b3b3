//! What takes documents in. The server reads and cuts none itself: it is given something that does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ken_language::Embedder;
use serde_json::{Map, Value};

use super::tool_error::ToolError;

/// Files: the ids of the documents of each, or why it cannot be read.
pub type ReadFiles = BTreeMap<PathBuf, Result<Vec<String>, ToolError>>;

/// Reads documents and adds them to corpora.
pub trait Intake: Send + Sync {
    /// Looks at the name of a file, or of those below a folder.
    ///
    /// # Errors
    /// Where none of them is of a known format.
    fn recognize(&self, path: &Path) -> Result<(), ToolError>;

    /// The files of known formats below a folder: each document is read, and none kept.
    ///
    /// # Errors
    /// A folder without any; `stop`.
    fn documents(&self, folder: &Path, stop: &Arc<AtomicBool>) -> Result<ReadFiles, ToolError>;

    /// Adds the documents of a folder to a corpus, except those of the files in `left_out`. What is published by the
    /// time that `stop` is raised stays.
    ///
    /// # Errors
    /// Documents that cannot be read, embedded or written.
    fn take(
        &self,
        folder: &Path,
        left_out: &[PathBuf],
        into: Destination<'_>,
        progress: &mut dyn FnMut(Taken),
        stop: &Arc<AtomicBool>,
    ) -> Result<Taken, ToolError>;
}

/// Where documents are added.
#[derive(Clone, Copy)]
pub struct Destination<'a> {
    /// The corpus folder; created if missing.
    pub corpus: &'a Path,
    /// Embeds the passages.
    pub embedder: &'a dyn Embedder,
    /// The embedder's name, by which it is found again.
    pub reference: &'a str,
    /// What the metadata of each document says besides its own; where both have a key, this wins.
    pub metadata: &'a Map<String, Value>,
}

/// How far documents are taken in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// Bytes of the files that are read.
    pub bytes_read: u64,
    /// Bytes of all files.
    pub bytes_total: u64,
    /// Documents that are read.
    pub documents: usize,
    /// Passages that are embedded.
    pub passages: usize,
    /// New documents; known at the end.
    pub added: usize,
    /// Documents whose passages are replaced; known at the end.
    pub replaced: usize,
    /// Documents that are there already; known at the end.
    pub unchanged: usize,
}
