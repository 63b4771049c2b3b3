//! Joining corpora that hold different shards into one.

use std::fs;
use std::path::{Path, PathBuf};

use super::corpus::Corpus;
use super::error::CorpusError;
use super::manifest;
use super::verify::{self, ByteProgress};
use super::writer::{Adopted, Writer};

/// Joins `parts`, which have the same sharding and hold different shards, into one corpus at `dir`.
/// Shards that are already in `dir` stay; if `is_whole`, the corpus then has all of its shards. Files are linked if the
/// file system can, else copied. Returns the generation.
///
/// # Errors
/// [`CorpusError::OtherSettings`] if a part was made with other settings;
/// [`CorpusError::Damaged`] if a file of a part does not hold what was published;
/// [`CorpusError::ShardTwice`] if two of them hold the same shard;
/// [`CorpusError::ShardsMissing`] if more shards are missing from the whole than parts are empty; and as
/// [`Writer::create`]. On an error, `dir` stays as it was.
pub fn join(
    dir: &Path,
    parts: &[PathBuf],
    is_whole: bool,
    progress: &mut dyn FnMut(ByteProgress),
) -> Result<u64, CorpusError> {
    let parts = parts.iter().map(|part| Corpus::open(part));
    let parts: Vec<Corpus> = parts.collect::<Result<_, _>>()?;
    let Some(first) = parts.first() else {
        return Ok(0);
    };
    let mut writer = Writer::create(dir, first.settings().clone())?;
    let held = shards_once(&parts, &writer)?;
    if is_whole {
        check_all_held(&held, &parts, writer.settings().sharding.count)?;
    }
    let mut done = ByteProgress {
        bytes: 0,
        bytes_total: parts.iter().map(|part| part.info().bytes).sum(),
    };
    progress(done);
    let mut adopted = Vec::new();
    for part in &parts {
        for (described, segment) in part.manifest_segments().zip(part.segments()) {
            let staged = writer.staging_dir()?;
            for (from, file) in manifest::files_of(part.dir(), described) {
                let Some(name) = from.strip_prefix(segment.dir()).ok() else {
                    // Marks and scores are rewritten under the segment's new name.
                    continue;
                };
                let to = staged.join(name);
                link_or_copy(&from, &to)?;
                verify::check(&to, &file).map_err(|error| blamed(error, &from))?;
                done.bytes += file.bytes;
                progress(done);
            }
            adopted.push(Adopted {
                dir: staged,
                described: described.clone(),
                marks: segment.marks()?,
                scores: segment.scores().clone(),
            });
        }
    }
    writer.adopt(adopted)
}

/// The shards that the corpus would have. A shard in several segments of one corpus is there several times.
fn shards_once(parts: &[Corpus], writer: &Writer) -> Result<Vec<u32>, CorpusError> {
    let known = writer.known().segments();
    let mut taken: Vec<u32> = known.iter().map(|s| s.shard()).collect();
    for part in parts {
        // The first part's settings became those of the corpus, or match them.
        super::admission::check_settings(part.dir(), part.settings(), writer.settings())?;
        let shards: Vec<u32> = part.segments().iter().map(|s| s.shard()).collect();
        if let Some(&shard) = shards.iter().find(|shard| taken.contains(shard)) {
            return Err(CorpusError::ShardTwice {
                path: part.dir().to_owned(),
                shard,
            });
        }
        taken.extend(shards);
    }
    Ok(taken)
}

/// Refuses parts without some of the `count` shards. A part without documents is that of a shard without any.
fn check_all_held(held: &[u32], parts: &[Corpus], count: u32) -> Result<(), CorpusError> {
    let missing: Vec<u32> = (0..count).filter(|shard| !held.contains(shard)).collect();
    let empty = parts.iter().filter(|part| part.segments().is_empty());
    match missing.len().saturating_sub(empty.count()) {
        0 => Ok(()),
        number => Err(CorpusError::ShardsMissing {
            number,
            count,
            shards: missing,
        }),
    }
}

/// Blames the original for damage of a copy.
fn blamed(error: CorpusError, from: &Path) -> CorpusError {
    match error {
        CorpusError::Damaged { reason, .. } => CorpusError::damaged(from, reason),
        other => other,
    }
}

fn link_or_copy(from: &Path, to: &Path) -> Result<(), CorpusError> {
    if let Some(folder) = to.parent() {
        ken_storage::create_dir_all(folder)?;
    }
    // Published files are never written again, so a link is as good as a copy.
    fs::hard_link(from, to)
        .or_else(|_| fs::copy(from, to).map(|_| ()))
        .map_err(CorpusError::io("copy", to))
}
