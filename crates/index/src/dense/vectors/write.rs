//! Writing the vectors of a segment, row by row.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use ken_storage::StorageError;

use super::file_name;
use crate::IndexError;
use crate::dense::VectorType;

/// Writes the vectors of a segment.
pub(crate) struct VectorWriter {
    path: PathBuf,
    file: BufWriter<File>,
    vector_type: VectorType,
    /// A buffer for one row.
    bytes: Vec<u8>,
}

impl VectorWriter {
    /// Creates the file in the segment's folder `dir`.
    pub(crate) fn create(dir: &Path, vector_type: VectorType) -> Result<Self, IndexError> {
        let path = dir.join(file_name(vector_type));
        let file = ken_storage::create(&path)?;
        Ok(Self {
            path,
            file: BufWriter::new(file),
            vector_type,
            bytes: Vec::new(),
        })
    }

    /// Adds a vector, L2-normalized.
    pub(crate) fn push(&mut self, vector: &[f32]) -> Result<(), IndexError> {
        self.bytes.clear();
        self.vector_type.encode(vector, &mut self.bytes);
        let written = self.file.write_all(&self.bytes);
        Ok(written.map_err(StorageError::new("write", &self.path))?)
    }

    pub(crate) fn finish(mut self) -> Result<(), IndexError> {
        let flushed = self.file.flush();
        Ok(flushed.map_err(StorageError::new("write", &self.path))?)
    }
}
