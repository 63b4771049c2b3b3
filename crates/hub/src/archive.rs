//! Opens a wheel, which is a zip archive, after checking its directory of entries against limits. It
//! extracts nothing.

use std::fs::File;
use std::io::{BufReader, Read, Result as IoResult, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::error::{HubError, io_error};

/// Wheels with a model have dozens of entries.
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
    let broken = |detail: String| HubError::BrokenArchive {
        path: path.to_owned(),
        detail,
    };
    let mut file = File::open(path).map_err(|e| io_error("open", path, e))?;
    let start = directory(&mut file)
        .map_err(|e| io_error("read", path, e))?
        .map_err(broken)?;
    // The reader searches the whole file for directories, and tries all that look like one.
    let hidden = Arc::new(AtomicU64::new(start));
    let window = Window {
        file,
        at: 0,
        hidden: hidden.clone(),
    };
    let archive = ZipArchive::new(BufReader::new(window)).map_err(|e| match e {
        ZipError::Io(e) => io_error("read", path, e),
        other => broken(other.to_string()),
    })?;
    hidden.store(0, Ordering::Relaxed);
    Ok(archive)
}

/// The offset of the directory, or what is wrong with it.
fn directory(file: &mut File) -> IoResult<Result<u64, String>> {
    let length = file.metadata()?.len();
    let mut read = |from: u64| -> IoResult<Vec<u8>> {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from))?;
        file.take(MOST_DIRECTORY_BYTES + (1 << 20))
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let from = length.saturating_sub(END_BYTES + MOST_COMMENT_BYTES);
    let tail = read(from)?;
    let Some(end) = tail.windows(END.len()).rposition(|bytes| bytes == END) else {
        return Ok(Err("it has no directory".to_owned()));
    };
    let number = |bytes: &[u8], at: usize, width: usize| -> Option<u64> {
        let bytes = bytes.get(at..at + width)?.iter().rev();
        Some(bytes.fold(0, |n, &byte| n << 8 | u64::from(byte)))
    };
    let entries = number(&tail, end + 10, 2);
    let bytes = number(&tail, end + 12, 4);
    let (Some(mut entries), Some(mut bytes)) = (entries, bytes) else {
        return Ok(Err("its directory is truncated".to_owned()));
    };
    let mut directory_end = from + end as u64;
    let zip64 = end
        .checked_sub(ZIP64_LOCATOR_BYTES + ZIP64_END_BYTES)
        .filter(|&at| tail[at..].starts_with(ZIP64_END));
    if let Some(at) = zip64 {
        entries = number(&tail, at + 32, 8).unwrap_or(u64::MAX);
        bytes = number(&tail, at + 40, 8).unwrap_or(u64::MAX);
        directory_end = from + at as u64;
    }
    if entries > MOST_ENTRIES || bytes > MOST_DIRECTORY_BYTES {
        return Ok(Err(format!(
            "it lists {entries} entries in {bytes} bytes; a wheel has at most {MOST_ENTRIES} in \
             {MOST_DIRECTORY_BYTES}"
        )));
    }
    let Some(start) = directory_end.checked_sub(bytes) else {
        return Ok(Err("its directory is longer than the archive".to_owned()));
    };
    let list = read(start)?;
    let count = |mark: &[u8]| {
        list.windows(mark.len())
            .filter(|bytes| *bytes == mark)
            .count()
    };
    if count(END) != 1 || count(ZIP64_END) != usize::from(zip64.is_some()) {
        return Ok(Err("it has several directories".to_owned()));
    }
    Ok(Ok(start))
}

/// A file whose first bytes read as zeros as long as they are hidden.
pub(crate) struct Window {
    file: File,
    at: u64,
    hidden: Arc<AtomicU64>,
}

impl Read for Window {
    fn read(&mut self, bytes: &mut [u8]) -> IoResult<usize> {
        let hidden = self.hidden.load(Ordering::Relaxed).saturating_sub(self.at);
        let count = match hidden {
            0 => self.file.read(bytes)?,
            _ => {
                let count = hidden.min(bytes.len() as u64) as usize;
                bytes[..count].fill(0);
                self.file.seek(SeekFrom::Current(count as i64))?;
                count
            }
        };
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Window {
    fn seek(&mut self, to: SeekFrom) -> IoResult<u64> {
        self.at = self.file.seek(to)?;
        Ok(self.at)
    }
}
