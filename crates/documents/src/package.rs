//! Files that are zip archives: office documents, books, and archives of documents. Reads of them
//! are bounded, whatever their directories claim.

use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::budget::{Budget, Halt};
use crate::error::ReadError;
use crate::files::{InputFile, Origin};
use crate::format::Format;
use crate::place::Place;
use crate::source::Source;
use crate::watch::Watch;

/// The start of a file that Office 97 wrote, or that is encrypted.
const COMPOUND: &[u8] = b"\xd0\xcf\x11\xe0";

/// The start of a zip archive.
const ZIP: &[u8] = b"PK";

/// Files that can be read from any position.
trait Seekable: Read + Seek + Send {}

impl<T: Read + Seek + Send> Seekable for T {}

/// An open zip archive.
pub(crate) struct Package {
    archive: ZipArchive<Gauged>,
    pub(crate) place: Place,
    format: Format,
    watch: Watch,
    /// How many bytes of the file may be read until this is reset.
    allowance: Arc<AtomicU64>,
    /// How many bytes all parts together may still give.
    left: u64,
    limit: u64,
}

/// The bytes of a file: on disk, or in memory if it is in an archive or comes from standard input.
fn bytes_of(
    file: &InputFile,
    bytes_read: &Arc<AtomicU64>,
    watch: &Watch,
) -> Result<Box<dyn Seekable>, ReadError> {
    let on_disk = file.content.is_none() && file.origin != Origin::Stdin;
    if let Some(length) = file.bytes.filter(|_| on_disk) {
        bytes_read.fetch_add(length, Ordering::Relaxed);
        let opened = file.open();
        let opened =
            opened.map_err(|error| ReadError::from_io(error, &file.path, None, watch.budget))?;
        return Ok(Box::new(BufReader::new(opened)));
    }
    let mut source = Source::open(file, Arc::clone(bytes_read), watch, None)?;
    Ok(Box::new(Cursor::new(source.read_bytes()?)))
}

impl Package {
    /// Opens a file, all parts of which may take `limit` bytes together.
    pub(crate) fn open(
        file: &InputFile,
        bytes_read: &Arc<AtomicU64>,
        limit: u64,
        watch: &Watch,
    ) -> Result<Self, ReadError> {
        let place = Place::whole(&file.path);
        let failed = |error| ReadError::from_io(error, &file.path, None, watch.budget);
        let mut inner = bytes_of(file, bytes_read, watch)?;
        let mut first = Vec::new();
        let begun = inner
            .by_ref()
            .take(COMPOUND.len() as u64)
            .read_to_end(&mut first);
        begun.and_then(|_| inner.rewind()).map_err(failed)?;
        let broken = |reason: String| ReadError::broken(&file.path, file.format, reason);
        if first == COMPOUND {
            let reason = "it is encrypted, or of the binary format of Office 97".to_owned();
            return Err(broken(reason));
        }
        if !first.starts_with(ZIP) {
            return Err(broken("it does not begin as one".to_owned()));
        }
        // An entry of the directory takes at least 46 bytes, and some hundred in memory.
        let allowance = Arc::new(AtomicU64::new(directory_bytes(watch.budget)));
        let gauged = Gauged {
            inner,
            left: Arc::clone(&allowance),
            watch: watch.clone(),
        };
        let archive = match ZipArchive::new(gauged) {
            Ok(archive) => archive,
            Err(ZipError::Io(error)) if Halt::of(&error) == Some(Halt::OverBudget) => {
                return Err(ReadError::ArchiveTooLarge {
                    path: file.path.clone(),
                    unit: "bytes of directory",
                    limit: directory_bytes(watch.budget),
                });
            }
            Err(ZipError::Io(error)) if Halt::of(&error) == Some(Halt::Stopped) => {
                return Err(ReadError::Stopped);
            }
            Err(error) => return Err(broken(error.to_string())),
        };
        Ok(Self {
            archive,
            place,
            format: file.format,
            watch: watch.clone(),
            allowance,
            left: limit,
            limit,
        })
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.archive.len()
    }

    /// The name of an entry that is a file; `None` for folders and links.
    pub(crate) fn name(&mut self, index: usize) -> Option<String> {
        self.allow();
        let entry = self.archive.by_index_raw(index).ok()?;
        (entry.is_file() && !entry.is_symlink()).then(|| entry.name().to_owned())
    }

    /// Resets the limit for the reading of one entry.
    fn allow(&self) {
        let most = self.watch.budget.work().saturating_add(1 << 16);
        self.allowance.store(most, Ordering::Relaxed);
    }

    /// The bytes of an entry.
    pub(crate) fn entry(&mut self, index: usize) -> Result<Vec<u8>, ReadError> {
        self.allow();
        let most = self.left.min(self.watch.budget.document_bytes);
        let mut bytes = Vec::new();
        let read = self.archive.by_index(index).and_then(|entry| {
            let mut entry = entry.take(most.saturating_add(1));
            entry.read_to_end(&mut bytes).map_err(ZipError::Io)
        });
        let over = match read {
            Ok(_) => bytes.len() as u64 > most,
            Err(ZipError::Io(error)) => match Halt::of(&error) {
                Some(Halt::Stopped) => return Err(ReadError::Stopped),
                Some(Halt::OverBudget) => true,
                None => return Err(self.broken(error.to_string())),
            },
            Err(ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED)) => {
                let path = self.path();
                return Err(ReadError::EncryptedFile { path });
            }
            Err(error) => return Err(self.broken(error.to_string())),
        };
        if over && most < self.left {
            let name = self.archive.name_for_index(index).unwrap_or_default();
            let part = Place::whole(&self.place.path.join(name));
            return Err(self.watch.too_large(part));
        }
        if over {
            self.left = 0;
            return Err(ReadError::ArchiveTooLarge {
                path: self.path(),
                unit: "bytes",
                limit: self.limit,
            });
        }
        self.left -= bytes.len() as u64;
        Ok(bytes)
    }

    /// Whether all parts together have used up their limit.
    pub(crate) fn is_used_up(&self) -> bool {
        self.left == 0
    }

    /// The text of the part of this name; `None` if there is none.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, ReadError> {
        let name = name.trim_start_matches('/');
        let Some(index) = self.archive.index_for_name(name) else {
            return Ok(None);
        };
        let bytes = self.entry(index)?;
        let bytes = match bytes.strip_prefix("\u{feff}".as_bytes()) {
            Some(rest) => rest.to_vec(),
            None => bytes,
        };
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(error) => Err(self.broken(format!("{name}: {error}"))),
        }
    }

    /// The text of a part that every file of the format has.
    pub(crate) fn needed(&mut self, name: &str) -> Result<String, ReadError> {
        let text = self.text(name)?;
        text.ok_or_else(|| self.broken(format!("it has no part {name}")))
    }

    pub(crate) fn broken(&self, reason: String) -> ReadError {
        ReadError::broken(&self.place.path, self.format, reason)
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    fn path(&self) -> PathBuf {
        self.place.path.clone()
    }
}

fn directory_bytes(budget: Budget) -> u64 {
    (budget.document_bytes / 4).max(1 << 16)
}

/// A file that refuses reads over its limit, and all reads once the reading is stopped.
struct Gauged {
    inner: Box<dyn Seekable>,
    left: Arc<AtomicU64>,
    watch: Watch,
}

impl Read for Gauged {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.watch.stopped() {
            return Err(io::Error::other(Halt::Stopped));
        }
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 && !buffer.is_empty() {
            return Err(io::Error::other(Halt::OverBudget));
        }
        let most = usize::try_from(left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let count = self.inner.read(&mut buffer[..most])?;
        self.left
            .store(left.saturating_sub(count as u64), Ordering::Relaxed);
        Ok(count)
    }
}

impl Seek for Gauged {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.inner.seek(position)
    }
}
