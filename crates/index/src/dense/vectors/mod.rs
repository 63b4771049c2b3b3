//! The vectors of a segment on disk.
//!
//! They are one file, whose extension is the type of its numbers: `vectors.f32`, `vectors.f16` or
//! `vectors.int8`. Little-endian, row-major, without a header, in the order of the passages; each
//! row of int8 starts with its scale, an f32. A small file is kept in memory; a large one is
//! mapped, or read row by row if it is to stay out of memory.

mod numbers;
mod write;

use std::io;
use std::ops::Range;
use std::path::PathBuf;

use ken_storage::{CheckedFolder, Mapped, ReadAt, StorageError};

pub(super) use self::numbers::quantize;
pub(crate) use self::write::VectorWriter;
use super::VectorType;
use super::prefetch::prefetch;
use crate::IndexError;

#[cfg(target_endian = "big")]
compile_error!("vectors are mapped as they are, which needs a little-endian processor");

/// The name of the file in a segment's folder.
fn file_name(vector_type: VectorType) -> String {
    format!("vectors.{vector_type}")
}

/// The vectors of one segment.
#[derive(Debug)]
pub struct SegmentVectors {
    bytes: Bytes,
    vector_type: VectorType,
    passages: usize,
    dimensions: usize,
}

/// How the file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Mapped: used pages stay in memory while there is space.
    Mapped,
    /// Read on demand, into the caller's buffer; mapped on systems other than Unix.
    Read,
}

#[derive(Debug)]
enum Bytes {
    Mapped(Mapped),
    Read(ReadAt),
}

impl Bytes {
    fn open(access: Access, folder: &CheckedFolder, name: &str) -> Result<Bytes, StorageError> {
        match access {
            Access::Read if cfg!(unix) => folder.read_at(name, None).map(Bytes::Read),
            _ => folder.map(name, None).map(Bytes::Mapped),
        }
    }

    fn length(&self) -> u64 {
        match self {
            Self::Mapped(bytes) => bytes.len() as u64,
            Self::Read(file) => file.length(),
        }
    }
}

/// A reusable buffer to read rows into.
#[derive(Debug, Default)]
pub struct RowBuffer {
    bytes: Vec<u8>,
    numbers: Vec<f32>,
}

impl SegmentVectors {
    /// Opens the vectors of a segment.
    ///
    /// # Errors
    /// If the file is missing, of another length, or cannot be read.
    pub fn open(
        folder: impl Into<CheckedFolder>,
        passages: usize,
        dimensions: usize,
    ) -> Result<Self, IndexError> {
        Self::open_for(Access::Mapped, &folder.into(), passages, dimensions)
    }

    /// As [`SegmentVectors::open`], read by `access`.
    pub(super) fn open_for(
        access: Access,
        folder: &CheckedFolder,
        passages: usize,
        dimensions: usize,
    ) -> Result<Self, IndexError> {
        let (path, bytes, vector_type) = find(access, folder)?;
        let received_bytes = bytes.length();
        let row_bytes = vector_type.row_bytes(dimensions) as u64;
        let expected_bytes = (passages as u64).saturating_mul(row_bytes);
        if received_bytes != expected_bytes {
            return Err(IndexError::VectorsSize {
                path,
                received_bytes,
                expected_bytes,
                passages,
                dimensions,
            });
        }
        Ok(Self {
            bytes,
            vector_type,
            passages,
            dimensions,
        })
    }

    /// The number of vectors.
    pub fn passages(&self) -> usize {
        self.passages
    }

    /// Numbers per vector.
    pub(crate) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The vector of a passage: `[dimensions]`; empty if there is no such passage.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn row<'a>(
        &'a self,
        passage: usize,
        buffer: &'a mut RowBuffer,
    ) -> Result<&'a [f32], IndexError> {
        self.rows(passage..passage.saturating_add(1), buffer)
    }

    /// The rows of some passages: `[rows.len(), dimensions]`; empty if one of them does not exist.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(super) fn rows<'a>(
        &'a self,
        rows: Range<usize>,
        buffer: &'a mut RowBuffer,
    ) -> Result<&'a [f32], IndexError> {
        if rows.end > self.passages || rows.is_empty() {
            return Ok(&[]);
        }
        let row_bytes = self.vector_type.row_bytes(self.dimensions);
        let (start, length) = (rows.start * row_bytes, rows.len() * row_bytes);
        let bytes = match &self.bytes {
            Bytes::Mapped(bytes) => bytes.read(start..start + length)?,
            Bytes::Read(file) => {
                let range = start as u64..(start + length) as u64;
                file.bytes_with(range, &mut buffer.bytes)?
            }
        };
        let bytes = bytes.unwrap_or_default();
        if self.vector_type == VectorType::F32
            && let Ok(numbers) = bytemuck::try_cast_slice(bytes)
        {
            return Ok(numbers);
        }
        buffer.numbers.resize(rows.len() * self.dimensions, 0.0);
        self.vector_type
            .decode(bytes, self.dimensions, &mut buffer.numbers);
        Ok(&buffer.numbers)
    }

    /// Announces which rows are going to be read, so that all are fetched at once.
    pub(super) fn prefetch(&self, passages: impl Iterator<Item = usize>) {
        let row_bytes = self.vector_type.row_bytes(self.dimensions);
        match &self.bytes {
            Bytes::Mapped(bytes) => passages.for_each(|passage| {
                let start = passage.saturating_mul(row_bytes);
                let row = bytes.get(start..start.saturating_add(row_bytes));
                prefetch(row.unwrap_or_default());
            }),
            Bytes::Read(file) => announce(file, passages, row_bytes),
        }
    }
}

/// Has the system fetch the rows of a file.
fn announce(rows: &ReadAt, passages: impl Iterator<Item = usize>, row_bytes: usize) {
    #[cfg(target_os = "linux")]
    if let Some(file) = rows.file() {
        use rustix::fs::{Advice, fadvise};
        for passage in passages {
            // Only advice: a failure does not matter, the rows are read afterwards.
            let start = passage.saturating_mul(row_bytes);
            let read = rows.range_read(start..start.saturating_add(row_bytes));
            let length = std::num::NonZeroU64::new(read.len() as u64);
            let _ = fadvise(file, read.start as u64, length, Advice::WillNeed);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (rows, passages, row_bytes);
}

/// The file of vectors in a segment's folder.
fn find(
    access: Access,
    folder: &CheckedFolder,
) -> Result<(PathBuf, Bytes, VectorType), IndexError> {
    let path = |vector_type| folder.dir().join(file_name(vector_type));
    for vector_type in VectorType::ALL {
        match Bytes::open(access, folder, &file_name(vector_type)) {
            Ok(bytes) => return Ok((path(vector_type), bytes, vector_type)),
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(IndexError::VectorsMissing {
        path: path(VectorType::F32),
    })
}

#[cfg(test)]
mod tests {
    use ken_testing::says;

    use super::*;
    use std::path::Path;

    fn write(dir: &Path, vector_type: VectorType, vectors: &[f32], dimensions: usize) {
        let mut writer = VectorWriter::create(dir, vector_type).unwrap();
        for vector in vectors.chunks(dimensions) {
            writer.push(vector).unwrap();
        }
        writer.finish().unwrap();
    }

    #[test]
    fn a_file_of_another_size_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), VectorType::F32, &[1.0; 12], 4);
        let error = SegmentVectors::open(dir.path(), 4, 4).unwrap_err();
        assert_eq!(error.kind(), "vectors_size");
        says!(error.to_string() => "vectors.f32", "48 bytes");
    }

    #[test]
    fn a_missing_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let error = SegmentVectors::open(dir.path(), 4, 4).unwrap_err();
        assert_eq!(error.kind(), "vectors_missing");
        assert!(error.to_string().contains("vectors.f32"), "{error}");
    }

    #[test]
    fn every_type_and_access_gives_the_same_rows() {
        let vectors = [1.0, -0.5, 0.25, 0.0, 1.0, -1.0];
        for vector_type in VectorType::ALL {
            let dir = tempfile::tempdir().unwrap();
            write(dir.path(), vector_type, &vectors, 3);
            for access in [Access::Mapped, Access::Read] {
                let opened = SegmentVectors::open_for(access, &dir.path().into(), 2, 3).unwrap();
                opened.prefetch(0..2);
                let mut buffer = RowBuffer::default();
                for (passage, expected) in vectors.chunks(3).enumerate() {
                    let row = opened.row(passage, &mut buffer).unwrap();
                    for (read, written) in row.iter().zip(expected) {
                        assert!((read - written).abs() < 0.005, "{vector_type} {row:?}");
                    }
                    assert_eq!(row.len(), 3);
                }
                let all = opened.rows(0..2, &mut buffer).unwrap();
                assert_eq!(all.len(), 6);
                assert!(opened.row(2, &mut buffer).unwrap().is_empty());
            }
        }
    }
}
