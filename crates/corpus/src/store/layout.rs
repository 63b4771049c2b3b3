//! Where each file of a corpus folder stands. It touches no file.

use std::path::{Path, PathBuf};

/// The document records of a segment.
pub(super) const DOCUMENTS: &str = "documents.jsonl";
/// The passages of a segment, one JSON object a line.
pub(super) const PASSAGES: &str = "passages.jsonl";
/// Where each passage's line begins.
pub(super) const OFFSETS: &str = "passages.offsets";

/// The names that may stand in a corpus folder before its first generation is published.
pub(super) const UNPUBLISHED: [&str; 4] = ["LOCK", "staging", "segments", "generations"];

pub(super) fn current(corpus: &Path) -> PathBuf {
    corpus.join("CURRENT")
}

pub(super) fn lock(corpus: &Path) -> PathBuf {
    corpus.join("LOCK")
}

pub(super) fn staging(corpus: &Path) -> PathBuf {
    corpus.join("staging")
}

pub(super) fn segments(corpus: &Path) -> PathBuf {
    corpus.join("segments")
}

pub(super) fn segment(corpus: &Path, id: &str) -> PathBuf {
    segments(corpus).join(id)
}

pub(super) fn generations(corpus: &Path) -> PathBuf {
    corpus.join("generations")
}

pub(super) fn generation(corpus: &Path, number: u64) -> PathBuf {
    generations(corpus).join(format!("{number:08}.json"))
}

/// The id of the segment that comes with generation `number`.
pub(super) fn segment_id(number: u64) -> String {
    format!("{number:08}")
}
