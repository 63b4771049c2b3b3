//! Writing the index of a segment, before the segment is published.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ken_corpus::Passage;

use crate::IndexError;
use crate::dense::{DenseLayout, VectorWriter, check_cancelled, write_graph};
use crate::lexical::LexicalWriter;

/// Writes the vectors and the lexical index of a staged segment, passage by passage.
pub struct SegmentWriter {
    dir: PathBuf,
    vectors: VectorWriter,
    lexical: LexicalWriter,
    passages: usize,
    dimensions: usize,
    layout: DenseLayout,
}

impl SegmentWriter {
    /// Creates the index in `dir`, the folder of a staged segment that has none yet.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn create(dir: &Path, dimensions: usize, layout: DenseLayout) -> Result<Self, IndexError> {
        Ok(Self {
            dir: dir.to_owned(),
            vectors: VectorWriter::create(dir, layout.vectors)?,
            lexical: LexicalWriter::create(dir)?,
            passages: 0,
            dimensions,
            layout,
        })
    }

    /// Adds the next passage of the segment.
    ///
    /// # Shapes
    /// `vector`: `[dimensions]`, L2-normalized.
    ///
    /// # Errors
    /// If the vector is of another length or not finite, or if a file cannot be written.
    pub fn push(&mut self, passage: &Passage, vector: &[f32]) -> Result<(), IndexError> {
        if vector.len() != self.dimensions {
            return Err(IndexError::VectorLength {
                passage_id: passage.id.to_string(),
                received: vector.len(),
                expected: self.dimensions,
            });
        }
        if !vector.iter().all(|number| number.is_finite()) {
            return Err(IndexError::VectorNotFinite {
                passage_id: passage.id.to_string(),
            });
        }
        self.vectors.push(vector)?;
        self.passages += 1;
        self.lexical.push(&passage.full_title(), &passage.text)
    }

    /// Completes the files, and builds a graph of many vectors, which uses all threads and takes
    /// about a minute of one for 100,000. They are synced when the segment is published.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn finish(self) -> Result<(), IndexError> {
        self.finish_unless(&AtomicBool::new(false))
    }

    /// As [`SegmentWriter::finish`], but stops soon after `cancel` has been set.
    ///
    /// # Errors
    /// As there, and [`IndexError::Cancelled`]: the written files are then useless.
    pub fn finish_unless(self, cancel: &AtomicBool) -> Result<(), IndexError> {
        check_cancelled(cancel)?;
        self.vectors.finish()?;
        self.lexical.finish()?;
        let search = self.layout.search;
        write_graph(&self.dir, self.passages, self.dimensions, search, cancel)
    }
}
