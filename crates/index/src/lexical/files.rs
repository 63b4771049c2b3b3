//! How tantivy reads the files of an index: small ones into memory, large ones mapped.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ken_storage::{Blocks, CheckedFolder, HEAP_BYTES};
use tantivy::HasLen;
use tantivy::directory::error::{DeleteError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    Directory, FileHandle, MmapDirectory, OwnedBytes, WatchCallback, WatchHandle, WritePtr,
};

/// The files of a finished index, which must not be changed while they are open.
///
/// Later changes to a small file do no harm. Blocks of a large one are checked when they are first
/// read; if another program truncates it, reading the lost part ends the process with SIGBUS, as with
/// every mapped file.
#[derive(Clone, Debug)]
pub(super) struct Files {
    segment: CheckedFolder,
    path: PathBuf,
    mapped: MmapDirectory,
}

impl Files {
    /// Opens the folder `path` of an index, which is in that of its segment.
    pub(super) fn open(
        segment: &CheckedFolder,
        path: &Path,
    ) -> Result<Files, tantivy::TantivyError> {
        Ok(Files {
            segment: segment.clone(),
            path: path.to_owned(),
            mapped: directory(path)?,
        })
    }

    /// The checksums of a file, by its path below the segment.
    fn blocks(&self, file: &Path) -> Option<Arc<Blocks>> {
        let folder = self.path.file_name()?.to_str()?;
        self.segment.blocks(&format!("{folder}/{}", file.to_str()?))
    }
}

/// A large file whose blocks are checked.
#[derive(Debug)]
struct CheckedFile {
    bytes: Arc<dyn FileHandle>,
    blocks: Arc<Blocks>,
}

impl HasLen for CheckedFile {
    fn len(&self) -> usize {
        self.bytes.len()
    }
}

impl FileHandle for CheckedFile {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        if let Some(whole) = self.blocks.unchecked(&range) {
            let bytes = self.bytes.read_bytes(whole.clone())?;
            self.blocks.check(whole.start, &bytes);
        }
        self.blocks.sound()?;
        self.bytes.read_bytes(range)
    }
}

/// The folder of an index.
///
/// `MmapDirectory` reports every error as a missing folder, even a transient one of the disk, so this asks the
/// system too.
pub(super) fn directory(path: &Path) -> Result<MmapDirectory, tantivy::TantivyError> {
    let opened = MmapDirectory::open(path);
    if opened.is_err() && std::fs::metadata(path)?.is_dir() {
        return Ok(MmapDirectory::open(path)?);
    }
    Ok(opened?)
}

impl Directory for Files {
    fn get_file_handle(&self, file: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let path = self.path.join(file);
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => OpenReadError::FileDoesNotExist(file.to_owned()),
            _ => OpenReadError::wrap_io_error(error, file.to_owned()),
        };
        if std::fs::symlink_metadata(&path).map_err(failed)?.len() > HEAP_BYTES {
            let bytes = self.mapped.get_file_handle(file)?;
            return Ok(match self.blocks(file) {
                Some(blocks) => Arc::new(CheckedFile { bytes, blocks }),
                None => bytes,
            });
        }
        let bytes = ken_storage::read(&path).map_err(|error| failed(error.source))?;
        Ok(Arc::new(OwnedBytes::new(bytes)))
    }

    fn exists(&self, file: &Path) -> Result<bool, OpenReadError> {
        self.mapped.exists(file)
    }

    fn atomic_read(&self, file: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.mapped.atomic_read(file)
    }

    fn open_write(&self, file: &Path) -> Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::wrap_io_error(finished(), file.to_owned()))
    }

    fn atomic_write(&self, _file: &Path, _contents: &[u8]) -> io::Result<()> {
        Err(finished())
    }

    fn delete(&self, file: &Path) -> Result<(), DeleteError> {
        Err(DeleteError::IoError {
            io_error: Arc::new(finished()),
            filepath: file.to_owned(),
        })
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn watch(&self, _callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}

fn finished() -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        "the index is finished and only read",
    )
}
