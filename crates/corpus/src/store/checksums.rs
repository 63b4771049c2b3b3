//! Checks of files as they are read: small files of a segment against the hashes in its manifest when it is
//! opened, blocks of large ones against the segment's file of checksums when they are first read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ken_storage::{BLOCK_BYTES, Blocks, CheckedFolder, HEAP_BYTES, Mapped, Sums, block_sum};

use super::error::CorpusError;
use super::layout;
use super::manifest::{self, FileManifest, SegmentManifest};
use super::verify;

/// Whether a file is checked block by block, since opening does not read all of it.
fn is_checked_by_block(file: &FileManifest) -> bool {
    file.bytes > HEAP_BYTES && file.name != layout::CHECKSUMS
}

/// Describes the files of a staged segment, and writes the checksums of the large ones beside them.
pub(super) fn describe(dir: &Path, files: &[PathBuf]) -> Result<Vec<FileManifest>, CorpusError> {
    let mut described = Vec::with_capacity(files.len() + 1);
    let mut sums = Vec::new();
    for path in files {
        let before = sums.len();
        let file = FileManifest::of_blocks(dir, path, |block| {
            sums.extend(block_sum(block).to_le_bytes());
            Ok(())
        })?;
        if !is_checked_by_block(&file) {
            sums.truncate(before);
        }
        described.push(file);
    }
    if !sums.is_empty() {
        ken_storage::replace(&dir.join(layout::CHECKSUMS), &sums)?;
        described.push(FileManifest::of_bytes(layout::CHECKSUMS, &sums));
    }
    Ok(described)
}

/// Opens the folder of a segment. Small files must have the published contents, large ones the published
/// length; their blocks are checked when they are first read.
pub(super) fn open(corpus: &Path, segment: &SegmentManifest) -> Result<CheckedFolder, CorpusError> {
    for (path, file) in manifest::files_of(corpus, segment) {
        match is_checked_by_block(&file) {
            true => file.check_length(&path)?,
            false => verify::check(&path, &file)?,
        }
    }
    let dir = layout::segment(corpus, &segment.id);
    if !segment.files.iter().any(is_checked_by_block) {
        return Ok(dir.as_path().into());
    }
    let path = dir.join(layout::CHECKSUMS);
    let mapped = Mapped::open(&path, None).map_err(CorpusError::opening)?;
    let sum_bytes = mapped.len();
    let sums: Sums = Arc::new(mapped);
    let (mut blocks, mut first) = (BTreeMap::new(), 0);
    for file in segment
        .files
        .iter()
        .filter(|file| is_checked_by_block(file))
    {
        let length = usize::try_from(file.bytes).unwrap_or(usize::MAX);
        let own = Blocks::new(&dir.join(&file.name), length, Arc::clone(&sums), first);
        blocks.insert(file.name.clone(), Arc::new(own));
        first += length.div_ceil(BLOCK_BYTES);
    }
    match first * size_of::<u64>() == sum_bytes {
        true => Ok(CheckedFolder::new(&dir, blocks)),
        false => Err(CorpusError::damaged(
            &path,
            "it does not fit the files of its segment",
        )),
    }
}
