//! Recovering a corpus whose current generation cannot or should not be read: rollback and repair.
//! Both need only the manifest of the generation that they restore.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;

use super::admission::lock;
use super::collect::collect;
use super::error::CorpusError;
use super::layout;
use super::manifest::{self, Change, Manifest};
use super::pin::pin_current;
use super::verify::{self, Damage};
use super::writer::Writer;

impl Writer {
    /// Restores an earlier generation as a new one, whatever state the current one is in.
    ///
    /// # Errors
    /// [`CorpusError::UnknownGeneration`] if it is not kept; [`CorpusError::NotACorpus`];
    /// [`CorpusError::Locked`]; [`CorpusError::Damaged`] or [`CorpusError::MissingFile`] if it
    /// is damaged itself; [`CorpusError::Io`].
    pub fn rollback(dir: &Path, number: u64) -> Result<u64, CorpusError> {
        let lock = lock_existing(dir)?;
        let kept = kept(dir)?;
        if !kept.contains(&number) {
            return Err(CorpusError::UnknownGeneration {
                path: dir.to_owned(),
                number,
                kept,
            });
        }
        if current(dir)?.is_some_and(|current| current.number == number) {
            return Ok(number);
        }
        let past = manifest::read(dir, number)?;
        Self::recovering(dir, &past, lock)?.commit_segments(Change::Rollback, past.segments)
    }

    /// Publishes a generation without the damaged segments that [`verify()`] found. Their documents
    /// count as unknown afterwards, so that they can be ingested again. If the current
    /// generation itself cannot be read, the newest whole one takes its place, or, if none is
    /// whole, the undamaged segments of the newest one. Damaged earlier generations are dropped.
    ///
    /// All damage is checked again, and files that can be read this time are kept.
    ///
    /// # Errors
    /// [`CorpusError::Unrecoverable`] if no manifest can be read; [`CorpusError::NotACorpus`];
    /// [`CorpusError::Locked`]; [`CorpusError::Io`].
    ///
    /// [`verify()`]: super::verify()
    pub fn repair(dir: &Path, damages: &[Damage]) -> Result<u64, CorpusError> {
        let lock = lock_existing(dir)?;
        let suspected: HashSet<&str> = damages
            .iter()
            .filter_map(|damage| damage.segment.as_deref())
            .collect();
        let is_suspect = |id: &str| suspected.contains(id);
        let current = current(dir)?;
        let is_readable = current.is_some();
        let (manifest, lost) = match current {
            Some(manifest) => {
                let lost = damaged_segments(dir, &manifest, is_suspect);
                (manifest, lost)
            }
            None => newest_whole(dir)?,
        };
        let mut dropped = damaged(dir, manifest.number, is_suspect)?;
        let mut number = manifest.number;
        if !lost.is_empty() || !is_readable {
            let mut kept = manifest.segments.clone();
            kept.retain(|segment| !lost.contains(&segment.id));
            let mut writer = Self::recovering(dir, &manifest, lock)?;
            number = writer.commit_segments(Change::Repair, kept)?;
        }
        if !lost.is_empty() {
            dropped.push(manifest.number);
        }
        for past in dropped {
            ken_storage::remove(&layout::generation(dir, past))?;
        }
        ken_storage::sync_dir(&layout::generations(dir))?;
        collect(dir, &manifest::read(dir, number)?)?;
        Ok(number)
    }

    /// A writer that opened nothing: it can only commit segments that a manifest names.
    fn recovering(dir: &Path, manifest: &Manifest, lock: File) -> Result<Self, CorpusError> {
        let number = match current(dir)? {
            Some(current) => current.number,
            // Higher than any number ever published.
            None => layout::newest(dir)?.max(manifest::claimed(dir)),
        };
        Self {
            is_recovering: true,
            ..Self::new(dir, manifest.settings.clone(), number, lock)
        }
        .swept()
    }
}

/// Locks the folder of a corpus, whether it can be opened or not.
fn lock_existing(dir: &Path) -> Result<File, CorpusError> {
    layout::check(dir)?;
    match manifest::published(dir) {
        // Before locking creates a file.
        Err(error @ CorpusError::NotACorpus { .. }) => Err(error),
        _ => lock(dir),
    }
}

/// The current generation; `None` if its manifest cannot be read, or newer ones exist.
///
/// # Errors
/// A generation of another version of ken, which must stay as it is.
fn current(dir: &Path) -> Result<Option<Manifest>, CorpusError> {
    match pin_current(dir) {
        Ok((manifest, _)) if manifest::refuse_newer(dir, manifest.number).is_ok() => {
            Ok(Some(manifest))
        }
        Err(error @ CorpusError::OtherFormat { .. }) => Err(error),
        _ => Ok(None),
    }
}

/// The generations that a rollback can restore.
fn kept(dir: &Path) -> Result<Vec<u64>, CorpusError> {
    // Generations newer than the current one were never published.
    let newest = current(dir)?.map_or(u64::MAX, |current| current.number);
    manifest::numbers(dir, newest)
}

/// The ids of the suspected segments that are damaged.
fn damaged_segments(
    dir: &Path,
    manifest: &Manifest,
    is_suspect: impl Fn(&str) -> bool,
) -> HashSet<String> {
    let suspects = manifest
        .segments
        .iter()
        .filter(|segment| is_suspect(&segment.id));
    let damaged = suspects.filter(|segment| {
        let mut files = manifest::files_of(dir, segment).into_iter();
        files.any(|(path, file)| verify::check(&path, &file).is_err())
    });
    damaged.map(|segment| segment.id.clone()).collect()
}

/// The newest undamaged generation, or else the newest that can be read, with the ids of its
/// damaged segments.
fn newest_whole(dir: &Path) -> Result<(Manifest, HashSet<String>), CorpusError> {
    let mut newest = None;
    for number in manifest::numbers(dir, u64::MAX)?.into_iter().rev() {
        let manifest = match manifest::read(dir, number) {
            Ok(manifest) => manifest,
            Err(error @ CorpusError::OtherFormat { .. }) => return Err(error),
            Err(_) => continue,
        };
        let lost = damaged_segments(dir, &manifest, |_| true);
        if lost.is_empty() {
            return Ok((manifest, lost));
        }
        newest.get_or_insert((manifest, lost));
    }
    newest.ok_or_else(|| CorpusError::Unrecoverable {
        path: dir.to_owned(),
    })
}

/// The generations other than `current` that no rollback can restore.
fn damaged(
    dir: &Path,
    current: u64,
    is_suspect: impl Fn(&str) -> bool,
) -> Result<Vec<u64>, CorpusError> {
    let mut damaged = manifest::numbers(dir, u64::MAX)?;
    damaged.retain(|&number| {
        number != current
            && match manifest::read(dir, number) {
                Ok(past) => !damaged_segments(dir, &past, &is_suspect).is_empty(),
                Err(CorpusError::Damaged { .. } | CorpusError::MissingFile { .. }) => true,
                Err(_) => false,
            }
    });
    Ok(damaged)
}
