//! Pins, which keep a generation from being collected while a process reads it.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use super::error::CorpusError;
use super::layout;
use super::manifest::{self, Manifest};

/// How often a reader retries if a generation is replaced and collected while it opens.
const ATTEMPTS: usize = 1000;

/// While it exists, no process removes the files of its generation.
#[derive(Debug)]
pub(super) struct Pin {
    /// Holds a shared lock; `None` on file systems without locks.
    _lock: Option<File>,
}

impl Pin {
    /// Locks a generation's manifest; `None` if it is removed, or about to be.
    fn take(path: &Path) -> Result<Option<Self>, CorpusError> {
        let lock = match ken_storage::open(path) {
            Ok(file) => match file.try_lock_shared() {
                Ok(()) => Some(file),
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(_)) => None,
            },
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // A manifest that still exists after locking will not be collected.
        Ok(exists(path)?.then_some(Self { _lock: lock }))
    }
}

fn exists(path: &Path) -> Result<bool, CorpusError> {
    path.try_exists().map_err(CorpusError::io("look at", path))
}

/// Pins a generation; `None` if it was collected meanwhile.
pub(super) fn pin(dir: &Path, number: u64) -> Result<Option<Pin>, CorpusError> {
    Pin::take(&layout::generation(dir, number))
}

/// Pins the current generation and reads its manifest.
pub(super) fn pin_current(dir: &Path) -> Result<(Manifest, Pin), CorpusError> {
    for _ in 0..ATTEMPTS {
        let current = manifest::published(dir)?;
        if let Some(pin) = pin(dir, current.number)? {
            return Ok((manifest::read_current(dir, &current)?, pin));
        }
        if manifest::published(dir)? == current {
            let path = layout::generation(dir, current.number);
            if !exists(&path)? {
                return Err(CorpusError::MissingFile { path });
            }
        }
        // A newer generation was published, and this one is being removed.
        std::thread::yield_now();
    }
    Err(CorpusError::Locked {
        path: dir.to_owned(),
    })
}

/// Removes a generation's manifest unless the generation is pinned. Returns whether it is gone.
pub(super) fn remove_unless_pinned(dir: &Path, number: u64) -> Result<bool, CorpusError> {
    let path = layout::generation(dir, number);
    // Some file systems grant exclusive locks only on files that are open for writing.
    let opened = ken_storage::open_with(&path, File::options().read(true).write(true));
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error.into()),
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(false),
        // On a file system without locks, no reader holds one.
        Ok(()) | Err(TryLockError::Error(_)) => {
            ken_storage::remove(&path)?;
            Ok(true)
        }
    }
}
