//! Where each file of a corpus folder stands. It touches no file.

use std::path::{Path, PathBuf};

/// The document records of a segment, one JSON object a line.
pub(super) const DOCUMENTS: &str = "documents.jsonl";
/// Where each document's line and passages begin.
pub(super) const DOCUMENT_INDEX: &str = "documents.index";
/// The documents sorted by the hash of their ids.
pub(super) const DOCUMENT_IDS: &str = "documents.ids";
/// The passages of a segment, one JSON object a line.
pub(super) const PASSAGES: &str = "passages.jsonl";
/// Where each passage's line begins.
pub(super) const PASSAGE_INDEX: &str = "passages.index";

/// The files that every segment has.
pub(super) const REQUIRED: [&str; 5] = [
    DOCUMENTS,
    DOCUMENT_INDEX,
    DOCUMENT_IDS,
    PASSAGES,
    PASSAGE_INDEX,
];

/// The names that may stand in a corpus folder before its first generation is published.
pub(super) const UNPUBLISHED: [&str; 5] = ["LOCK", "staging", "segments", "generations", "marks"];

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

pub(super) fn marks(corpus: &Path) -> PathBuf {
    corpus.join("marks")
}

/// The id of a segment of `shard` that comes with generation `number`, one of several if need be.
pub(super) fn segment_id(number: u64, shard: u32, part: usize) -> String {
    match part {
        0 => format!("{number:08}-{shard:03}"),
        part => format!("{number:08}-{shard:03}-{part}"),
    }
}

/// The name of the marks that generation `number` puts on a segment.
pub(super) fn marks_name(number: u64, segment: &str) -> String {
    format!("{number:08}.{segment}.json")
}

/// The number of the generation with which a file or folder of one of these names came.
pub(super) fn generation_of(name: &str) -> Option<u64> {
    name.split(['.', '-']).next()?.parse().ok()
}

/// The folders whose entries come and go with generations.
pub(super) fn generational(corpus: &Path) -> [PathBuf; 3] {
    [segments(corpus), generations(corpus), marks(corpus)]
}
