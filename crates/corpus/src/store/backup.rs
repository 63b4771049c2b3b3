//! Backups: a backup copies the published generation into a corpus, which the next backup brings
//! up to date.
//!
//! The generation is pinned, so writers may go on meanwhile. A file is copied only if every byte is
//! as published. As in any publication, all files are on the disk before `CURRENT` names their
//! generation, so a reader of the backup finds the last completed one, or none.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use super::admission::lock;
use super::backup_note::{BackupNote, NOTE};
use super::collect::collect;
use super::error::CorpusError;
use super::layout;
use super::manifest::{self, FileManifest, Manifest, SegmentManifest};
use super::pin::pin_current;
use super::verify::{self, ByteProgress};

/// The result of a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Backup {
    /// The generation that it holds now.
    pub generation: u64,
    /// The number of files copied.
    pub copied_files: u64,
    /// Their length in bytes.
    pub copied_bytes: u64,
    /// The length of all files of the generation, in bytes.
    pub bytes: u64,
}

/// Brings the backup at `to`, which it creates if missing, to the published generation of the
/// corpus at `dir`. Segments that an earlier backup copied are kept, and so are the generations that
/// a rollback in the backup can restore, by the same rule as in the corpus. `None` soon after `stop`
/// has been set; the next backup uses the files copied until then.
///
/// # Errors
/// [`CorpusError::BackupRefused`] if `to` holds anything but a backup of this corpus, before
/// anything is changed; [`CorpusError::Damaged`] or [`CorpusError::MissingFile`] if a file does
/// not hold what was published: an earlier backup stays as it was. [`CorpusError::Locked`];
/// [`CorpusError::Io`]; and as [`crate::Corpus::open`].
pub fn backup(
    dir: &Path,
    to: &Path,
    progress: &mut dyn FnMut(ByteProgress),
    stop: &AtomicBool,
) -> Result<Option<Backup>, CorpusError> {
    let (manifest, _pin) = pin_current(dir)?;
    check_lengths(dir, &manifest)?;
    refuse_place(dir, to)?;
    ken_storage::create_dir_all(to)?;
    refuse_foreign(dir, to)?;
    layout::check(to)?;
    let _lock = lock(to)?;
    let held = Held::read(dir, to, &manifest)?;
    held.announce(dir, to, &manifest)?;

    let bytes = manifest.segments.iter().map(SegmentManifest::bytes).sum();
    let mut copying = Copying {
        done: ByteProgress {
            bytes: 0,
            bytes_total: bytes,
        },
        copied_files: 0,
        copied_bytes: 0,
        progress,
        stop,
    };
    for folder in layout::generational(to) {
        ken_storage::create_dir_all(&folder)?;
    }
    for segment in &manifest.segments {
        let copied = if held.has(to, segment)? {
            copying.skip(segment.files.iter().map(|file| file.bytes).sum());
            Ok(())
        } else {
            copying.segment(dir, to, segment)
        };
        let copied = copied.and_then(|()| {
            let mut beside = segment.beside();
            beside.try_for_each(|file| copying.beside(dir, to, file))
        });
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        copied?;
    }
    if held.line.as_deref() != Some(manifest::line_of(&manifest)?.as_str()) {
        let current = manifest::write(to, &manifest)?;
        manifest::publish(to, &current)?;
        ken_storage::sync_dir(to)?;
    }
    ken_storage::remove(&layout::staging(to))?;
    // Whatever cannot be removed now is removed after the next backup.
    let _ = collect(to, &manifest);
    Ok(Some(Backup {
        generation: manifest.number,
        copied_files: copying.copied_files,
        copied_bytes: copying.copied_bytes,
        bytes,
    }))
}

/// Refuses a generation if a file has another length than the published one.
fn check_lengths(dir: &Path, manifest: &Manifest) -> Result<(), CorpusError> {
    let segments = manifest.segments.iter();
    let mut files = segments.flat_map(|segment| manifest::files_of(dir, segment));
    files.try_for_each(|(path, file)| file.check_length(&path))
}

fn refused(dir: &Path, to: &Path, reason: impl Into<String>) -> CorpusError {
    CorpusError::BackupRefused {
        path: to.to_owned(),
        corpus: dir.to_owned(),
        reason: reason.into(),
    }
}

/// Refuses a path that is not a folder, the corpus itself, and a folder in it or around it.
fn refuse_place(dir: &Path, to: &Path) -> Result<(), CorpusError> {
    match to.symlink_metadata() {
        Ok(found) if found.is_symlink() => return Err(refused(dir, to, "it is a link")),
        Ok(found) if !found.is_dir() => return Err(refused(dir, to, "it is not a folder")),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(CorpusError::io("look at", to)(error));
        }
        _ => {}
    }
    let corpus = canonical(dir)?;
    let place = canonical(to)?;
    // In any corpus, a later writer would remove the backup.
    let is_corpus = |folder: &&Path| *folder == corpus || layout::current(folder).is_file();
    if let Some(around) = place.ancestors().find(is_corpus)
        && (around != place || place == corpus)
    {
        let reason = format!("it is within the corpus {}", around.display());
        return Err(refused(dir, to, reason));
    }
    if corpus.starts_with(&place) {
        return Err(refused(dir, to, "the corpus is within it"));
    }
    Ok(())
}

/// A path without links, as far as it exists.
fn canonical(path: &Path) -> Result<PathBuf, CorpusError> {
    let absolute = std::path::absolute(path).map_err(CorpusError::io("look at", path))?;
    for existing in absolute.ancestors() {
        match existing.canonicalize() {
            Ok(found) => {
                let rest = absolute.strip_prefix(existing).unwrap_or(Path::new(""));
                return Ok(found.join(rest));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(CorpusError::io("look at", existing)(error)),
        }
    }
    Ok(absolute)
}

/// Refuses a folder that holds anything but a backup, or that holds links.
fn refuse_foreign(dir: &Path, to: &Path) -> Result<(), CorpusError> {
    // Only now does all of the path exist.
    refuse_place(dir, to)?;
    let names = ken_storage::names(to)?;
    for name in &names {
        let path = to.join(name);
        let metadata = path.symlink_metadata();
        let metadata = metadata.map_err(CorpusError::io("look at", &path))?;
        if metadata.is_symlink() {
            return Err(refused(dir, to, format!("its {name} is a link")));
        }
    }
    let is_noted = names.iter().any(|name| name == NOTE);
    if !is_noted && names.iter().any(|name| name == "CURRENT") {
        return Err(refused(dir, to, "it is a corpus, not a backup"));
    }
    // The leftovers of a backup that was killed at its start.
    let is_ours = |name: &str| name == "LOCK" || layout::is_note(name);
    let is_free = |name: &str| is_ours(name) || layout::is_of_system(name);
    match is_noted || names.iter().all(|name| is_free(name)) {
        true => Ok(()),
        false => Err(refused(dir, to, "it holds other files")),
    }
}

/// The results of earlier backups.
struct Held {
    /// The contents of `CURRENT`, if any.
    line: Option<String>,
    number: u64,
    /// The segments that published generations name, by id.
    segments: BTreeMap<String, SegmentManifest>,
}

impl Held {
    /// Reads the backup at `to`, which must be of the corpus at `dir`, whose published generation has
    /// this manifest.
    fn read(dir: &Path, to: &Path, manifest: &Manifest) -> Result<Self, CorpusError> {
        let mut held = Self {
            line: None,
            number: 0,
            segments: BTreeMap::new(),
        };
        let has_current = layout::current(to).try_exists();
        let note = BackupNote::read(to)?;
        let Some(note) = note.filter(|_| matches!(has_current, Ok(true))) else {
            has_current.map_err(CorpusError::io("look at", &layout::current(to)))?;
            return Ok(held);
        };
        let current = manifest::published(to)?;
        let published = manifest::read_current(to, &current)?;
        let line = manifest::line_of(&published)?;
        held.number = published.number;
        for number in manifest::numbers(to, published.number)? {
            for segment in manifest::read(to, number)?.segments {
                held.segments.insert(segment.id.clone(), segment);
            }
        }
        if !note.current.contains(&line) {
            return Err(refused(dir, to, "it was changed since the last backup"));
        }
        let is_same = |segment: &SegmentManifest| {
            let own = held.segments.get(&segment.id);
            own.map(|own| own.files == segment.files)
        };
        let is_known = note.corpus == canonical(dir)?.to_string_lossy()
            || (manifest.segments.iter()).any(|segment| is_same(segment) == Some(true))
            || manifest::read(dir, published.number).is_ok_and(|own| own == published);
        if !is_known {
            let reason = format!("it is a backup of {}", note.corpus);
            return Err(refused(dir, to, reason));
        }
        let is_older = published.number < manifest.number || published == *manifest;
        let has_other = (manifest.segments.iter()).any(|segment| is_same(segment) == Some(false));
        if !is_older || has_other {
            let (held, own) = (published.number, manifest.number);
            let reason = format!(
                "it holds generation {held}, which does not lead to generation {own} of the corpus"
            );
            return Err(refused(dir, to, reason));
        }
        held.line = Some(line);
        Ok(held)
    }

    /// Notes the generation to be published, and removes manifests that an interrupted backup left.
    fn announce(&self, dir: &Path, to: &Path, manifest: &Manifest) -> Result<(), CorpusError> {
        let next = manifest::line_of(manifest)?;
        let mut current: Vec<String> = self.line.iter().cloned().collect();
        if self.line.as_ref() != Some(&next) {
            current.push(next);
        }
        let corpus = canonical(dir)?.to_string_lossy().into_owned();
        let left = manifest::numbers(to, u64::MAX)?;
        for &number in left.iter().filter(|&&number| number > self.number) {
            ken_storage::remove(&layout::generation(to, number))?;
        }
        if left.last().is_some_and(|&number| number > self.number) {
            ken_storage::sync_dir(&layout::generations(to))?;
        }
        BackupNote { corpus, current }.write(to)
    }

    /// Whether a segment is there, as far as the lengths of its files tell.
    fn has(&self, to: &Path, segment: &SegmentManifest) -> Result<bool, CorpusError> {
        let dir = layout::segment(to, &segment.id);
        for file in &segment.files {
            match file.check_length(&dir.join(&file.name)) {
                Err(CorpusError::Damaged { .. } | CorpusError::MissingFile { .. }) => {
                    return Ok(false);
                }
                checked => checked?,
            }
        }
        Ok(self.segments.contains_key(&segment.id))
    }
}

/// A copy in progress.
struct Copying<'a> {
    done: ByteProgress,
    copied_files: u64,
    copied_bytes: u64,
    progress: &'a mut dyn FnMut(ByteProgress),
    stop: &'a AtomicBool,
}

impl Copying<'_> {
    fn skip(&mut self, bytes: u64) {
        self.done.bytes += bytes;
        (self.progress)(self.done);
    }

    /// Copies a segment under construction, and moves it to its place. Files that an interrupted
    /// backup copied are kept if they are intact.
    fn segment(
        &mut self,
        dir: &Path,
        to: &Path,
        segment: &SegmentManifest,
    ) -> Result<(), CorpusError> {
        let from = layout::segment(dir, &segment.id);
        let staged = layout::staging(to).join(&segment.id);
        let place = layout::segment(to, &segment.id);
        ken_storage::create_dir_all(&layout::staging(to))?;
        if ken_storage::is_dir(&place)? {
            // No generation names it yet, or it is incomplete.
            ken_storage::remove(&staged)?;
            ken_storage::rename(&place, &staged)?;
        }
        for file in &segment.files {
            self.file(&from.join(&file.name), &staged.join(&file.name), file)?;
        }
        ken_storage::sync_tree(&staged)?;
        Ok(ken_storage::rename(&staged, &place)?)
    }

    /// Copies the marks on a segment, or scores of its passages.
    fn beside(&mut self, dir: &Path, to: &Path, file: &FileManifest) -> Result<(), CorpusError> {
        let place = layout::marks(to).join(&file.name);
        let staged = layout::staging(to).join(&file.name);
        if verify::check(&place, file).is_ok() {
            self.skip(file.bytes);
            return Ok(());
        }
        self.file(&layout::marks(dir).join(&file.name), &staged, file)?;
        ken_storage::sync_tree(&layout::staging(to))?;
        Ok(ken_storage::rename(&staged, &place)?)
    }

    fn file(&mut self, from: &Path, to: &Path, file: &FileManifest) -> Result<(), CorpusError> {
        if verify::check(to, file).is_ok() {
            self.skip(file.bytes);
            return Ok(());
        }
        let folder = to.parent().unwrap_or(to);
        ken_storage::create_dir_all(folder)?;
        let mut copy = ken_storage::create(to)?;
        let copied = FileManifest::of_blocks(folder, from, |block| {
            copy.write_all(block)
                .map_err(CorpusError::io("write", to))?;
            self.skip(block.len() as u64);
            match self.stop.load(Ordering::Relaxed) {
                false => Ok(()),
                true => Err(CorpusError::io("write", to)(
                    io::ErrorKind::Interrupted.into(),
                )),
            }
        })?;
        self.copied_files += 1;
        self.copied_bytes += copied.bytes;
        if copied.blake3 == file.blake3 {
            Ok(())
        } else {
            ken_storage::remove(to)?;
            Err(verify::changed(from))
        }
    }
}
