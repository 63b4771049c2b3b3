//! What a writer makes sure of before it touches a folder: that it is a corpus, or empty; that
//! nobody else writes to it; which generation is published; and that the settings fit.

use std::fs::{File, TryLockError};
use std::path::Path;

use super::error::CorpusError;
use super::layout;
use super::manifest::{self, Settings};

/// Refuses a folder that holds other things than an unpublished corpus: sweeping it could
/// destroy a person's files.
pub(super) fn refuse_foreign_folder(dir: &Path) -> Result<(), CorpusError> {
    let current = layout::current(dir);
    if current
        .try_exists()
        .map_err(CorpusError::io("look at", &current))?
    {
        return Ok(());
    }
    let names = ken_storage::names(dir)?;
    let ours = names.is_empty() || names.iter().any(|name| name == "LOCK");
    let only_ours = names
        .iter()
        .all(|name| name == "CURRENT.tmp" || layout::UNPUBLISHED.iter().any(|ours| name == ours));
    match ours && only_ours {
        true => Ok(()),
        false => Err(CorpusError::FolderInUse {
            path: dir.to_owned(),
        }),
    }
}

/// Publishes a first generation whose writer was killed between sealing and publishing it. There is
/// no telling it from one whose `CURRENT` was lost, and both are whole.
pub(super) fn publish_interrupted(dir: &Path) -> Result<Option<manifest::Current>, CorpusError> {
    if let Some((_, current)) = manifest::unpublished(dir)? {
        manifest::publish(dir, &current)?;
    }
    manifest::current(dir)
}

/// Keeps other writers out as long as what is returned is open.
pub(super) fn lock(dir: &Path) -> Result<File, CorpusError> {
    let path = layout::lock(dir);
    let is_new = !path.exists();
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(CorpusError::io("open", &path))?;
    if is_new {
        // By this name a folder whose first writer was killed is known to be ken's.
        ken_storage::sync_dir(dir)?;
    }
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(CorpusError::Locked {
            path: dir.to_owned(),
        }),
        Err(TryLockError::Error(source)) => Err(CorpusError::io("lock", &path)(source)),
    }
}

/// Refuses settings that do not fit those of the corpus at `dir`.
pub(super) fn check_settings(
    dir: &Path,
    corpus: &Settings,
    given: &Settings,
) -> Result<(), CorpusError> {
    let path = dir.to_owned();
    let (own, other) = (&corpus.embedder, &given.embedder);
    let same_model = ken_storage::same_fingerprint(&own.fingerprint, &other.fingerprint);
    if !same_model || own.dimensions != other.dimensions {
        return Err(CorpusError::OtherEmbedder {
            path,
            corpus_embedder: own.reference.clone(),
            corpus_dimensions: own.dimensions,
            given_embedder: other.reference.clone(),
            given_dimensions: other.dimensions,
        });
    }
    if corpus.segmentation != given.segmentation {
        return Err(CorpusError::OtherSegmentation {
            path,
            corpus_segmentation: corpus.segmentation.clone(),
            given_segmentation: given.segmentation.clone(),
        });
    }
    if corpus.sharding != given.sharding {
        return Err(CorpusError::OtherSharding {
            path,
            corpus: corpus.sharding,
            given: given.sharding,
        });
    }
    if corpus.dense != given.dense {
        return Err(CorpusError::OtherDense {
            path,
            corpus_dense: corpus.dense.clone(),
            given_dense: given.dense.clone(),
        });
    }
    Ok(())
}
