//! Checking every byte of a corpus against the hashes of its manifests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::error::CorpusError;
use super::layout;
use super::manifest::{self, FileManifest, Manifest};
use super::pin::{Pin, pin, pin_current};

/// A file whose contents are not the published ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub reason: String,
    /// The generations that need it, ascending; none if it is `CURRENT` or the current manifest.
    pub generations: Vec<u64>,
    /// Whether the current generation needs it; otherwise only a rollback would.
    pub current: bool,
    /// The segment that it makes unusable; `None` if it is a manifest or `CURRENT`.
    #[serde(skip)]
    pub(super) segment: Option<String>,
}

/// The progress of checking or copying files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteProgress {
    /// Bytes done.
    pub bytes: u64,
    /// All bytes.
    pub bytes_total: u64,
}

/// Generations that cannot be collected.
type Pinned = Vec<(Manifest, Pin)>;

/// A file and the generations that need it.
struct Needed {
    file: FileManifest,
    segment: String,
    generations: Vec<u64>,
}

/// Checks all files of the corpus at `dir`, including those that only earlier generations need, and
/// returns the damaged ones. Files under check are not collected.
///
/// # Errors
/// [`CorpusError::NotACorpus`]; [`CorpusError::OtherFormat`]; [`CorpusError::Io`] if the corpus cannot
/// be checked at all.
pub fn verify(
    dir: &Path,
    progress: &mut dyn FnMut(ByteProgress),
) -> Result<Vec<Damage>, CorpusError> {
    let mut damages = Vec::new();
    let current = match pin_current(dir) {
        Ok((manifest, pin)) => Some((manifest, pin)),
        Err(error) => {
            damages.push(damage_of_current(dir, error)?);
            None
        }
    };
    let number = current.as_ref().map(|(manifest, _)| manifest.number);
    if let Some(number) = number
        && let Err(error) = manifest::refuse_newer(dir, number)
        && manifest::current(dir)?.is_some_and(|current| current.number == number)
    {
        damages.push(damage_of_current(dir, error)?);
    }
    let (past, mut unreadable) = pin_past(dir, number.unwrap_or(u64::MAX))?;
    // The current one may be among them.
    unreadable.retain(|past| damages.iter().all(|known| known.file != past.file));
    damages.extend(unreadable);

    let mut files: BTreeMap<PathBuf, Needed> = BTreeMap::new();
    for (manifest, _) in past.iter().chain(&current) {
        for segment in &manifest.segments {
            for (path, file) in manifest::files_of(dir, segment) {
                let needed = files.entry(path).or_insert_with(|| Needed {
                    file,
                    segment: segment.id.clone(),
                    generations: Vec::new(),
                });
                needed.generations.push(manifest.number);
            }
        }
    }
    let mut done = ByteProgress {
        bytes: 0,
        bytes_total: files.values().map(|needed| needed.file.bytes).sum(),
    };
    progress(done);
    for (path, needed) in files {
        done.bytes += needed.file.bytes;
        if let Err(error) = check(&path, &needed.file) {
            damages.push(Damage {
                current: number.is_some_and(|number| needed.generations.contains(&number)),
                segment: Some(needed.segment),
                ..damage(error, needed.generations)?
            });
        }
        progress(done);
    }
    Ok(damages)
}

/// The generations before `current` that can be read, pinned, and the damage of the others.
fn pin_past(dir: &Path, current: u64) -> Result<(Pinned, Vec<Damage>), CorpusError> {
    let (mut past, mut damages) = (Vec::new(), Vec::new());
    for number in manifest::numbers(dir, current)? {
        if number == current {
            continue;
        }
        let Some(pin) = pin(dir, number)? else {
            continue;
        };
        match manifest::read(dir, number) {
            Ok(manifest) => past.push((manifest, pin)),
            Err(error) => damages.push(damage(error, vec![number])?),
        }
    }
    Ok((past, damages))
}

/// Checks that a file has the published contents.
pub(super) fn check(path: &Path, expected: &FileManifest) -> Result<(), CorpusError> {
    expected.check_length(path)?;
    let folder = path.parent().unwrap_or(path);
    match FileManifest::of_file(folder, path)?.blake3 == expected.blake3 {
        true => Ok(()),
        false => Err(changed(path)),
    }
}

/// The error for a file of the right length with other contents.
pub(super) fn changed(path: &Path) -> CorpusError {
    CorpusError::damaged(path, "its contents are not those that were published")
}

/// The damage that keeps the current generation from being read.
fn damage_of_current(dir: &Path, error: CorpusError) -> Result<Damage, CorpusError> {
    let damage = match error {
        CorpusError::CurrentLost { reason, .. } => {
            let lost = CorpusError::damaged(&layout::current(dir), reason);
            damage(lost, Vec::new())?
        }
        CorpusError::Io(_) => return Err(error),
        other => damage(other, Vec::new())?,
    };
    Ok(Damage {
        current: true,
        ..damage
    })
}

/// The damage that an error reports; errors about no file are passed on.
fn damage(error: CorpusError, generations: Vec<u64>) -> Result<Damage, CorpusError> {
    let (file, reason) = match error {
        CorpusError::Damaged { path, reason } => (path, reason),
        CorpusError::MissingFile { path } => (path, "it is missing".to_owned()),
        // A file that the disk can no longer read is lost.
        CorpusError::Io(error) => (error.path, error.source.to_string()),
        other => return Err(other),
    };
    Ok(Damage {
        file,
        reason,
        generations,
        current: false,
        segment: None,
    })
}
