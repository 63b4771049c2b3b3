//! What a writer checks before it touches a folder: that it is a corpus, or empty; that no other writer
//! has it; which generation is published; and that the settings match.

use std::fs::File;
use std::path::Path;

use ken_diagnostic::remedy;

use super::error::CorpusError;
use super::layout;
use super::manifest;
use super::settings::{Setting, Settings};
use super::shards::Sharding;

/// Refuses a folder that holds anything but an unpublished corpus, since sweeping it could destroy a
/// person's files; and a corpus that holds anything but plain files: [`layout::check`].
pub(super) fn refuse_foreign_folder(dir: &Path) -> Result<(), CorpusError> {
    let names = ken_storage::names(dir)?;
    if names.iter().any(|name| name == "CURRENT") {
        return layout::check(dir);
    }
    match layout::is_unpublished(&names) {
        true => layout::check(dir),
        false => Err(CorpusError::FolderInUse {
            path: dir.to_owned(),
        }),
    }
}

/// Publishes a first generation whose writer was killed between sealing and publishing it. The folder looks the same
/// if `CURRENT` was lost; the generation is whole in both cases.
pub(super) fn publish_interrupted(dir: &Path) -> Result<Option<manifest::Current>, CorpusError> {
    if let Some((_, current)) = manifest::unpublished(dir)? {
        manifest::publish(dir, &current)?;
    }
    manifest::current(dir)
}

/// Keeps other writers out while the returned file is open.
pub(super) fn lock(dir: &Path) -> Result<File, CorpusError> {
    let path = layout::lock(dir);
    let is_new = !path.exists();
    let locked = ken_storage::try_lock(&path)?;
    if is_new {
        // If the first writer is killed, this name marks the folder as ken's.
        ken_storage::sync_dir(dir)?;
    }
    locked.ok_or_else(|| CorpusError::Locked {
        path: dir.to_owned(),
    })
}

/// Refuses settings other than those of the corpus at `dir`.
pub(super) fn check_settings(
    dir: &Path,
    corpus: &Settings,
    given: &Settings,
) -> Result<(), CorpusError> {
    let Some((setting, own, given)) = corpus.difference(given) else {
        return Ok(());
    };
    let (reference, Sharding { count, seed }) = (&corpus.embedder.reference, corpus.sharding);
    let remedy = match setting {
        Setting::Embedder => {
            remedy!("use the embedder {reference}, or ingest into a new corpus")
        }
        Setting::Segmentation => {
            remedy!("use the segmentation {own}, or ingest into a new corpus")
        }
        Setting::Sharding => {
            remedy!("use <shards> {count} <shard_seed> {seed}, or ingest into a new corpus")
        }
        Setting::Dense => remedy!("use <dense> {own}, or ingest into a new corpus"),
    };
    Err(CorpusError::OtherSettings {
        path: dir.to_owned(),
        setting,
        own,
        given,
        remedy,
    })
}
