//! Vectors that belong to no corpus, in folders of their own, searched as those of a corpus are.

use std::path::{Path, PathBuf};

use super::write_graph;
use super::{DenseIndex, DenseSearch, RowBuffer, SegmentVectors, VectorType, VectorWriter, search};
use crate::IndexError;
use crate::top_k::Place;

/// Vectors in one folder or several, numbered through all of them.
#[derive(Debug)]
pub struct VectorSet {
    parts: Vec<DenseIndex>,
    /// Where each part begins, and where the last ends.
    starts: Vec<usize>,
}

/// A vector that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbour {
    /// Its number.
    pub number: usize,
    /// Its dot product with the query.
    pub similarity: f32,
}

impl VectorSet {
    /// Writes L2-normalized vectors into a folder, made where it is missing, with a graph where they
    /// are many.
    ///
    /// # Errors
    /// A folder that cannot be written.
    pub fn write(dir: &Path, vectors: &[Vec<f32>], dimensions: usize) -> Result<(), IndexError> {
        let io = |source| IndexError::Io {
            path: dir.to_path_buf(),
            source,
        };
        std::fs::create_dir_all(dir).map_err(io)?;
        let mut writer = VectorWriter::create(dir, VectorType::F32)?;
        vectors.iter().try_for_each(|vector| writer.push(vector))?;
        writer.finish()?;
        write_graph(dir, vectors.len(), dimensions, DenseSearch::Auto)
    }

    /// The vectors in a folder, `[vectors][dimensions]`.
    ///
    /// # Errors
    /// A file that is missing or damaged.
    pub fn read(
        dir: &Path,
        vectors: usize,
        dimensions: usize,
    ) -> Result<Vec<Vec<f32>>, IndexError> {
        let stored = SegmentVectors::open(dir, vectors, dimensions)?;
        let mut buffer = RowBuffer::default();
        (0..vectors)
            .map(|number| Ok(stored.row(number, &mut buffer)?.to_vec()))
            .collect()
    }

    /// Opens folders, each with the number of its vectors.
    ///
    /// # Errors
    /// A file that is missing or damaged.
    pub fn open(folders: &[(PathBuf, usize)], dimensions: usize) -> Result<Self, IndexError> {
        let mut starts = vec![0];
        let mut parts = Vec::with_capacity(folders.len());
        for (dir, vectors) in folders {
            parts.push(DenseIndex::open(dir, *vectors, dimensions)?);
            starts.push(starts.last().copied().unwrap_or_default() + vectors);
        }
        Ok(Self { parts, starts })
    }

    /// The `k` vectors of those that are live with the largest dot product with the query, best
    /// first; where they are many, nearly those.
    ///
    /// # Shapes
    /// `query`: `[dimensions]`. `is_live`: `[vectors]`.
    ///
    /// # Errors
    /// Vectors that cannot be read.
    pub fn nearest(
        &self,
        query: &[f32],
        k: usize,
        is_live: &[bool],
    ) -> Result<Vec<Neighbour>, IndexError> {
        let number = |place: Place| {
            let start = self.starts.get(place.segment as usize).copied();
            start.unwrap_or_default() + place.ordinal as usize
        };
        let live = |place: Place| is_live.get(number(place)).copied().unwrap_or(false);
        let live_count = |part: u32| {
            let bounds = self
                .starts
                .get(part as usize..)
                .and_then(|at| at.first_chunk());
            let [start, end] = *bounds.unwrap_or(&[0, 0]);
            let flags = is_live.get(start..end).unwrap_or_default();
            flags.iter().filter(|flag| **flag).count()
        };
        let found = search(&self.parts, query, k, &live, &live_count)?;
        let found = found.into_iter().map(|candidate| Neighbour {
            number: number(candidate.place),
            similarity: candidate.score,
        });
        Ok(found.collect())
    }
}
