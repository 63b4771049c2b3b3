//! A safetensors file, read tensor by tensor with positioned reads: nothing is memory-mapped, so if another program
//! truncates the file, a read fails and nothing worse happens. Callers know the names of tensors.

use std::borrow::Cow;
use std::path::Path;

use ken_storage::{ReadAt, StorageError};
use safetensors::tensor::{Metadata, TensorInfo};

/// The longest header. Those of the largest models have a few hundred kilobytes.
const MOST_HEADER_BYTES: u64 = 100_000_000;
/// Bytes of the header's length, which precedes it.
const LENGTH_BYTES: u64 = 8;

/// Why a file of tensors cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TensorFileError {
    /// Reading it failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Its contents are invalid, for this reason.
    #[error("{0}")]
    Broken(String),
}

/// An open file whose header has been checked against its length.
#[derive(Debug)]
pub(crate) struct TensorFile {
    file: ReadAt,
    /// The offset of the first tensor.
    start: u64,
    metadata: Metadata,
}

impl TensorFile {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// A file that cannot be read, or whose header is broken or does not fit the file's length.
    pub(crate) fn open(path: &Path) -> Result<Self, TensorFileError> {
        let broken = |reason| Err(TensorFileError::Broken(reason));
        let file = ReadAt::open_linked(path)?;
        let length = file.length();
        let mut header_bytes = [0; LENGTH_BYTES as usize];
        if length < LENGTH_BYTES {
            return broken("it is too short for a header".to_owned());
        }
        file.read_into(0, &mut header_bytes)?;
        let header_bytes = u64::from_le_bytes(header_bytes);
        if header_bytes > MOST_HEADER_BYTES {
            return broken(format!(
                "its header states {header_bytes} bytes for itself, more than {MOST_HEADER_BYTES}"
            ));
        }
        let start = LENGTH_BYTES + header_bytes;
        let Some(header) = file.bytes(LENGTH_BYTES..start)? else {
            return broken(format!(
                "its header has {header_bytes} bytes, and the file {length}"
            ));
        };
        // This checks that the tensors are contiguous and as long as their shapes say.
        let metadata: Metadata = match serde_json::from_slice(&header) {
            Ok(metadata) => metadata,
            Err(error) => return broken(format!("its header cannot be read: {error}")),
        };
        drop(header);
        let expected = start.saturating_add(metadata.data_len() as u64);
        if expected != length {
            return broken(format!(
                "its tensors end at byte {expected}, and the file has {length}"
            ));
        }
        Ok(Self {
            file,
            start,
            metadata,
        })
    }

    /// The file.
    pub(crate) fn file(&self) -> &ReadAt {
        &self.file
    }

    /// The type, shape and offsets of a tensor; `None` if there is no tensor of that name.
    pub(crate) fn info(&self, name: &str) -> Option<&TensorInfo> {
        self.metadata.info(name)
    }

    /// The names of all tensors.
    pub(crate) fn names(&self) -> Vec<String> {
        self.metadata.offset_keys()
    }

    /// The offset of a tensor's first byte in the file.
    pub(crate) fn place(&self, info: &TensorInfo) -> u64 {
        self.start + info.data_offsets.0 as u64
    }

    /// The bytes of a tensor.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(crate) fn bytes(&self, info: &TensorInfo) -> Result<Cow<'_, [u8]>, TensorFileError> {
        let (from, to) = info.data_offsets;
        let range = self.start + from as u64..self.start + to as u64;
        self.file
            .bytes(range)?
            .ok_or_else(|| TensorFileError::Broken("a tensor ends past the file".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(bytes: &[u8]) -> Result<TensorFile, TensorFileError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tensors");
        std::fs::write(&path, bytes).unwrap();
        TensorFile::open(&path)
    }

    fn with_header(header: &str, data: &[u8]) -> Vec<u8> {
        let length = (header.len() as u64).to_le_bytes();
        [&length, header.as_bytes(), data].concat()
    }

    #[test]
    fn tensors_are_read_by_name() {
        let header = r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}"#;
        let file = opened(&with_header(header, b"xyz")).unwrap();
        assert_eq!(file.names(), ["a", "b"]);
        assert_eq!(&*file.bytes(file.info("b").unwrap()).unwrap(), b"z");
        assert!(file.info("c").is_none());
    }

    #[test]
    fn lengths_that_do_not_fit_are_refused() {
        let header = r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}"#;
        let mut endless = with_header(header, b"xy");
        endless[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        let mut beyond = with_header(header, b"xy");
        beyond[..8].copy_from_slice(&1000u64.to_le_bytes());
        for bytes in [
            &b""[..],
            &b"1234567"[..],
            &endless,
            &beyond,
            &with_header(header, b"x"),
            &with_header(header, b"xyz"),
        ] {
            let error = opened(bytes).unwrap_err();
            assert!(matches!(error, TensorFileError::Broken(_)), "{error}");
        }
    }
}
