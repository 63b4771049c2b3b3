//! Going on with a corpus whose current generation cannot be read, or should not be: a rollback, and
//! a repair. Both need nothing but the manifest of the generation that they take up.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;

use super::admission::lock;
use super::collect::collect;
use super::error::CorpusError;
use super::known::Known;
use super::layout;
use super::manifest::{self, Change, Manifest};
use super::pin::pin_current;
use super::verify::{self, Damage};
use super::writer::Writer;

impl Writer {
    /// Takes up an earlier generation again, as a new one, whatever state the current one is in.
    ///
    /// # Errors
    /// [`CorpusError::UnknownGeneration`] where it is not kept; [`CorpusError::NotACorpus`];
    /// [`CorpusError::Locked`]; [`CorpusError::Damaged`] or [`CorpusError::MissingFile`] where it is
    /// damaged itself; [`CorpusError::Io`].
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

    /// Publishes a generation without the segments that are damaged, found by [`verify()`]. Their
    /// documents count as unknown afterwards, so that an ingest takes them in again. Where the
    /// current generation itself cannot be read, the newest one that is whole takes its place, or,
    /// if none is, what is whole of the newest one. Earlier generations that are damaged are given
    /// up.
    ///
    /// Each damage is looked at once more: what can be read this time is kept.
    ///
    /// # Errors
    /// [`CorpusError::Unrecoverable`] where no manifest can be read; [`CorpusError::NotACorpus`];
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
        let mut given_up = damaged(dir, manifest.number, is_suspect)?;
        let mut number = manifest.number;
        if !lost.is_empty() || !is_readable {
            let mut kept = manifest.segments.clone();
            kept.retain(|segment| !lost.contains(&segment.id));
            let mut writer = Self::recovering(dir, &manifest, lock)?;
            number = writer.commit_segments(Change::Repair, kept)?;
        }
        if !lost.is_empty() {
            given_up.push(manifest.number);
        }
        for past in given_up {
            ken_storage::remove(&layout::generation(dir, past))?;
        }
        ken_storage::sync_dir(&layout::generations(dir))?;
        collect(dir, &manifest::read(dir, number)?)?;
        Ok(number)
    }

    /// A writer that opened nothing: it can do no more than commit what a manifest names.
    fn recovering(dir: &Path, manifest: &Manifest, lock: File) -> Result<Self, CorpusError> {
        let number = match current(dir)? {
            Some(current) => current.number,
            // Higher than all that was ever published.
            None => layout::newest(dir)?.max(manifest::claimed(dir)),
        };
        Self {
            dir: dir.to_owned(),
            settings: manifest.settings.clone(),
            number,
            base: number,
            segments: Vec::new(),
            known: Known::default(),
            stages: 0,
            is_recovering: true,
            is_durable: true,
            _lock: lock,
        }
        .swept()
    }
}

/// Locks a folder that holds something of a corpus, whether it can be opened or not.
fn lock_existing(dir: &Path) -> Result<File, CorpusError> {
    match manifest::published(dir) {
        // Before the lock makes a file.
        Err(error @ CorpusError::NotACorpus { .. }) => Err(error),
        _ => lock(dir),
    }
}

/// The current generation; `None` where its manifest cannot be read, or newer ones are there.
///
/// # Errors
/// One of another version of ken, which is not to be touched.
fn current(dir: &Path) -> Result<Option<Manifest>, CorpusError> {
    match pin_current(dir) {
        Ok((manifest, _)) if manifest::refuse_newer(dir, manifest.number).is_ok() => {
            Ok(Some(manifest))
        }
        Err(error @ CorpusError::OtherFormat { .. }) => Err(error),
        _ => Ok(None),
    }
}

/// The generations that can be returned to.
fn kept(dir: &Path) -> Result<Vec<u64>, CorpusError> {
    // What is newer than the current one was never published.
    let newest = current(dir)?.map_or(u64::MAX, |current| current.number);
    manifest::numbers(dir, newest)
}

/// The ids of the segments that are damaged, of those that are suspected.
fn damaged_segments(
    dir: &Path,
    manifest: &Manifest,
    is_suspect: impl Fn(&str) -> bool,
) -> HashSet<String> {
    let suspects = manifest.segments.iter().filter(|one| is_suspect(&one.id));
    let damaged = suspects.filter(|segment| {
        let mut files = manifest::files_of(dir, segment).into_iter();
        files.any(|(path, file)| verify::check(&path, &file).is_err())
    });
    damaged.map(|segment| segment.id.clone()).collect()
}

/// The newest generation without any damage, or else the newest that can be read, with the ids of
/// its damaged segments.
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

/// The generations beside `current` that nobody can return to.
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
