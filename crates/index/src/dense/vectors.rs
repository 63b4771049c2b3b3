//! The vectors of a segment, as they are on disk.
//!
//! They are the file `vectors.f32`: `[passages, dimensions]` little-endian f32, row-major, without
//! a header, in the order of the passages. The file is mapped, not read. Searching it is done
//! elsewhere.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use crate::IndexError;

#[cfg(target_endian = "big")]
compile_error!("vectors.f32 is mapped as it is, which needs a little-endian processor");

/// The name of the file in a segment's folder.
const FILE: &str = "vectors.f32";

/// The vectors of one segment.
#[derive(Debug)]
pub struct SegmentVectors {
    /// None for a segment without passages: an empty file cannot be mapped everywhere.
    map: Option<Mmap>,
    passages: usize,
    dimensions: usize,
}

/// Writes the vectors of a segment, row by row.
pub(crate) struct VectorWriter {
    path: PathBuf,
    file: BufWriter<File>,
}

impl VectorWriter {
    /// Begins the file in the segment's folder `dir`.
    pub(crate) fn create(dir: &Path) -> Result<Self, IndexError> {
        let path = dir.join(FILE);
        match File::create(&path) {
            Ok(file) => Ok(Self {
                path,
                file: BufWriter::new(file),
            }),
            Err(source) => Err(IndexError::Io { path, source }),
        }
    }

    /// Adds rows, one behind the other, each L2-normalized.
    pub(crate) fn push(&mut self, vectors: &[f32]) -> Result<(), IndexError> {
        let written = self.file.write_all(bytemuck::cast_slice(vectors));
        written.map_err(|source| self.failed(source))
    }

    pub(crate) fn finish(mut self) -> Result<(), IndexError> {
        let flushed = self.file.flush();
        flushed.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: std::io::Error) -> IndexError {
        IndexError::Io {
            path: self.path.clone(),
            source,
        }
    }
}

impl SegmentVectors {
    /// Maps the vectors of the segment in `dir`.
    ///
    /// # Errors
    /// Where the file is missing, of another length, or cannot be read.
    pub fn open(dir: &Path, passages: usize, dimensions: usize) -> Result<Self, IndexError> {
        let path = dir.join(FILE);
        let map = map_file(path, passages, dimensions)?;
        Ok(Self {
            map,
            passages,
            dimensions,
        })
    }

    /// How many there are.
    #[must_use]
    pub fn passages(&self) -> usize {
        self.passages
    }

    /// Numbers per vector.
    pub(crate) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The vector of a passage: `[dimensions]`; empty where there is no such passage.
    #[must_use]
    pub fn row(&self, passage: usize) -> &[f32] {
        match passage < self.passages {
            true => self.rows(passage..passage + 1),
            false => &[],
        }
    }

    /// The rows of some passages: `[rows.len(), dimensions]`.
    pub(super) fn rows(&self, rows: Range<usize>) -> &[f32] {
        let numbers: &[f32] = self
            .map
            .as_ref()
            .and_then(|map| bytemuck::try_cast_slice(map).ok())
            .unwrap_or_default();
        numbers
            .get(rows.start * self.dimensions..rows.end * self.dimensions)
            .unwrap_or_default()
    }
}

fn map_file(path: PathBuf, passages: usize, dimensions: usize) -> Result<Option<Mmap>, IndexError> {
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
            return Err(IndexError::VectorsMissing { path });
        }
        Err(source) => return Err(IndexError::Io { path, source }),
    };
    let received_bytes = match file.metadata() {
        Ok(metadata) => metadata.len(),
        Err(source) => return Err(IndexError::Io { path, source }),
    };
    let expected_bytes = (passages as u64)
        .saturating_mul(dimensions as u64)
        .saturating_mul(size_of::<f32>() as u64);
    if received_bytes != expected_bytes {
        return Err(IndexError::VectorsSize {
            path,
            received_bytes,
            expected_bytes,
            passages,
            dimensions,
        });
    }
    if expected_bytes == 0 {
        return Ok(None);
    }
    // SAFETY: the files of a published segment are never changed, only removed as a whole, which
    // leaves a mapping valid.
    #[allow(unsafe_code)]
    let map = unsafe { Mmap::map(&file) };
    map.map(Some)
        .map_err(|source| IndexError::Io { path, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(dir: &Path, vectors: &[f32]) {
        let mut writer = VectorWriter::create(dir).unwrap();
        writer.push(vectors).unwrap();
        writer.finish().unwrap();
    }

    #[test]
    fn a_file_of_another_size_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), &[1.0; 12]);
        let error = SegmentVectors::open(dir.path(), 4, 4).unwrap_err();
        assert_eq!(error.kind(), "vectors_size");
        assert!(error.to_string().contains("vectors.f32"), "{error}");
        assert!(error.to_string().contains("48 bytes"), "{error}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let error = SegmentVectors::open(dir.path(), 4, 4).unwrap_err();
        assert_eq!(error.kind(), "vectors_missing");
        assert!(error.to_string().contains("vectors.f32"), "{error}");
    }
}
