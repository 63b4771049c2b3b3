//! The paths of all files of a corpus folder.

use std::io;
use std::path::{Path, PathBuf};

use super::backup_note::NOTE;
use super::error::CorpusError;

/// The document records of a segment, one JSON object a line.
pub(super) const DOCUMENTS: &str = "documents.jsonl";
/// The start of each document's line, and its first passage.
pub(super) const DOCUMENT_INDEX: &str = "documents.index";
/// The documents sorted by the hash of their ids.
pub(super) const DOCUMENT_IDS: &str = "documents.ids";
/// The passages of a segment, one JSON object a line.
pub(super) const PASSAGES: &str = "passages.jsonl";
/// The start of each passage's line.
pub(super) const PASSAGE_INDEX: &str = "passages.index";

/// A checksum for each block of the segment's large files.
pub(super) const CHECKSUMS: &str = "checksums.xxh3";

/// The files that every segment has.
pub(super) const REQUIRED: [&str; 5] = [
    DOCUMENTS,
    DOCUMENT_INDEX,
    DOCUMENT_IDS,
    PASSAGES,
    PASSAGE_INDEX,
];

/// The names allowed in a corpus folder before its first generation is published.
const UNPUBLISHED: [&str; 5] = ["LOCK", "staging", "segments", "generations", "marks"];
/// What systems put into folders by themselves.
const OF_SYSTEMS: [&str; 3] = [".DS_Store", "desktop.ini", "lost+found"];
/// The file that a writer leaves if it is killed while publishing.
pub(super) const UNPUBLISHED_CURRENT: &str = "CURRENT.tmp";

/// Whether a file in a folder was put there by the system and not by a person.
pub(super) fn is_of_system(name: &str) -> bool {
    OF_SYSTEMS.contains(&name)
}

/// Whether a folder of these names is empty, or holds a corpus before its first generation and nothing else.
pub(super) fn is_unpublished(names: &[String]) -> bool {
    let mut others = names.iter().filter(|name| !is_of_system(name));
    others.next().is_none() || is_begun(names) && !names.iter().any(|name| is_note(name))
}

/// Whether a folder of these names holds a corpus or a backup before its first generation, and nothing else.
pub(super) fn is_begun(names: &[String]) -> bool {
    let is_ours = |name: &str| {
        let is_known = UNPUBLISHED.contains(&name) || name == UNPUBLISHED_CURRENT;
        is_known || is_note(name) || is_of_system(name)
    };
    names.iter().any(|name| name == "LOCK") && names.iter().all(|name| is_ours(name))
}

/// Whether a file is the note of a backup, or a note that was not finished.
pub(super) fn is_note(name: &str) -> bool {
    name.strip_suffix(".tmp").unwrap_or(name) == NOTE
}

/// Refuses a corpus in which anything of ken's is a link, a pipe, a socket or a device, at any depth. The
/// folder itself may be a link; other files in it do not matter.
///
/// # Errors
/// [`CorpusError::Io`] with the path of the link, pipe, socket or device.
pub(super) fn check(corpus: &Path) -> Result<(), CorpusError> {
    let files = ["CURRENT", UNPUBLISHED_CURRENT, NOTE];
    for name in UNPUBLISHED.into_iter().chain(files) {
        ken_storage::check_tree(&corpus.join(name))?;
    }
    Ok(())
}

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

/// The id of a segment of `shard` of generation `number`; `part` counts several.
pub(super) fn segment_id(number: u64, shard: u32, part: usize) -> String {
    match part {
        0 => format!("{number:08}-{shard:03}"),
        part => format!("{number:08}-{shard:03}-{part}"),
    }
}

/// The name of the marks of generation `number` on a segment.
pub(super) fn marks_name(number: u64, segment: &str) -> String {
    format!("{number:08}.{segment}.json")
}

/// The name of a segment's scores under a name, of generation `number`. They stand beside the marks.
pub(super) fn scores_name(number: u64, segment: &str, score: &str) -> String {
    format!("{number:08}.{segment}.{score}.f32")
}

/// The number of the generation in such a name.
pub(super) fn generation_of(name: &str) -> Option<u64> {
    name.split(['.', '-']).next()?.parse().ok()
}

/// The folders whose entries belong to generations, in the order of creation and of removal, so that no
/// manifest ever names a missing file.
pub(super) fn generational(corpus: &Path) -> [PathBuf; 3] {
    [generations(corpus), segments(corpus), marks(corpus)]
}

/// The names in a folder, sorted; none if there is no folder.
pub(super) fn names(folder: &Path) -> Result<Vec<String>, CorpusError> {
    match ken_storage::names(folder) {
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) if error.source.kind() == io::ErrorKind::NotADirectory => Ok(Vec::new()),
        names => Ok(names?),
    }
}

/// The number of the newest generation with any file; 0 for none.
pub(super) fn newest(corpus: &Path) -> Result<u64, CorpusError> {
    let mut newest = 0;
    for folder in generational(corpus) {
        let names = names(&folder)?;
        let numbers = names.iter().filter_map(|name| generation_of(name));
        newest = numbers.fold(newest, u64::max);
    }
    Ok(newest)
}

/// Whether a text has the form of [`segment_id`].
pub(super) fn is_segment_id(id: &str) -> bool {
    let parts: Vec<&str> = id.split('-').collect();
    let is_number =
        |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (2..=3).contains(&parts.len()) && parts.iter().all(is_number)
}

/// Whether a text has the form of [`marks_name`].
pub(super) fn is_marks_name(name: &str) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    matches!(parts.as_slice(), [number, segment, "json"]
        if number.parse::<u64>().is_ok() && is_segment_id(segment))
}

/// Whether a text may name scores of passages: 1 to 64 small letters, digits and underscores. One case, since it becomes
/// part of a file's name.
#[must_use]
pub fn is_score_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=64).contains(&name.len()) && name.bytes().all(is_plain)
}

/// Whether a text has the form of [`scores_name`] for a score.
pub(super) fn is_scores_name(name: &str, score: &str) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    matches!(parts.as_slice(), [number, segment, own, "f32"]
        if number.parse::<u64>().is_ok() && is_segment_id(segment) && *own == score && is_score_name(score))
}

/// Whether a text is a path below a segment's folder, with forward slashes.
pub(super) fn is_file_name(name: &str) -> bool {
    let is_plain = |part: &str| {
        !part.trim_matches('.').is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    name.split('/').all(is_plain)
}
