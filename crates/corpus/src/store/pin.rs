//! Keeping a generation from being collected while somebody reads it.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use super::error::CorpusError;
use super::layout;
use super::manifest::{self, Manifest};

/// How often a reader looks again where a generation is replaced and collected just as it comes.
const ATTEMPTS: usize = 1000;

/// As long as it lives, the files of its generation are not removed, by any process.
#[derive(Debug)]
pub(super) struct Pin {
    /// Locked, shared, as long as it is open; `None` where the file system knows no locks.
    _lock: Option<File>,
}

/// Pins the current generation and reads its manifest.
pub(super) fn pin_current(dir: &Path) -> Result<(Manifest, Pin), CorpusError> {
    for _ in 0..ATTEMPTS {
        let current = manifest::current(dir)?.ok_or_else(|| CorpusError::NotACorpus {
            path: dir.to_owned(),
        })?;
        let path = layout::generation(dir, current.number);
        let lock = match File::open(&path) {
            Ok(file) => match file.try_lock_shared() {
                Ok(()) => Some(file),
                // Somebody is about to remove it.
                Err(TryLockError::WouldBlock) => {
                    std::thread::yield_now();
                    continue;
                }
                Err(TryLockError::Error(_)) => None,
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(CorpusError::io("open", &path)(error)),
        };
        // What was still there after the lock was taken is not collected any more.
        let removed = !path.exists();
        if removed && manifest::current(dir)?.as_ref() != Some(&current) {
            continue;
        }
        let manifest = manifest::read_current(dir, &current)?;
        return Ok((manifest, Pin { _lock: lock }));
    }
    Err(CorpusError::Locked {
        path: dir.to_owned(),
    })
}

/// Removes a generation's manifest unless somebody reads it. Returns whether it is gone.
pub(super) fn remove_unless_pinned(dir: &Path, number: u64) -> Result<bool, CorpusError> {
    let path = layout::generation(dir, number);
    // Some file systems lock exclusively only what is open for writing.
    let opened = File::options().read(true).write(true).open(&path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(CorpusError::io("open", &path)(error)),
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(false),
        // Where there are no locks, nobody can have one.
        Ok(()) | Err(TryLockError::Error(_)) => {
            super::durable::remove(&path)?;
            Ok(true)
        }
    }
}
