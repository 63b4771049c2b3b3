//! Vectors outside a corpus, in folders of their own, searched like those of a corpus.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::write_graph;
use super::{
    DenseIndex, DenseSearch, Effort, RowBuffer, SegmentVectors, VectorType, VectorWriter, search,
};
use crate::top_k::Place;
use crate::{IndexError, Recall};

/// Vectors in one or more folders, numbered consecutively.
#[derive(Debug)]
pub struct VectorSet {
    parts: Vec<DenseIndex>,
    /// The number of the first vector of each part, and of all.
    starts: Vec<usize>,
    /// Which vectors can be found. `[vectors]`
    is_live: Vec<bool>,
    /// The number of live vectors in each part.
    live_counts: Vec<usize>,
}

impl VectorSet {
    /// Writes L2-normalized vectors into a folder, which is created if missing, with a graph if
    /// there are many.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn write(dir: &Path, vectors: &[Vec<f32>], dimensions: usize) -> Result<(), IndexError> {
        ken_storage::create_dir_all(dir)?;
        let mut writer = VectorWriter::create(dir, VectorType::F32)?;
        vectors.iter().try_for_each(|vector| writer.push(vector))?;
        writer.finish()?;
        let (search, cancel) = (DenseSearch::Auto, AtomicBool::new(false));
        write_graph(dir, vectors.len(), dimensions, search, &cancel)
    }

    /// The vectors in a folder, `[vectors][dimensions]`.
    ///
    /// # Errors
    /// If a file is missing or damaged.
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

    /// Opens folders, each with the number of its vectors, which must match its files. No vector is
    /// live yet.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn open(folders: &[(PathBuf, usize)], dimensions: usize) -> Result<Self, IndexError> {
        let mut starts = vec![0_usize];
        let mut parts = Vec::with_capacity(folders.len());
        for (dir, vectors) in folders {
            parts.push(DenseIndex::open(dir.as_path(), *vectors, dimensions)?);
            let start = starts.last().copied().unwrap_or_default();
            starts.push(start.saturating_add(*vectors));
        }
        Ok(Self {
            live_counts: vec![0; parts.len()],
            parts,
            starts,
            is_live: Vec::new(),
        })
    }

    /// Makes some vectors live: only these are found.
    ///
    /// # Shapes
    /// `is_live`: `[vectors]`.
    #[must_use]
    pub fn with_live(mut self, is_live: Vec<bool>) -> Self {
        let bounds = self.starts.iter().zip(self.starts.iter().skip(1));
        self.live_counts = bounds
            .map(|(&start, &end)| {
                let flags = is_live.get(start..end).unwrap_or_default();
                flags.iter().filter(|live| **live).count()
            })
            .collect();
        self.is_live = is_live;
        self
    }

    /// The numbers of the `k` live vectors with the largest dot product with the query, and that product,
    /// best first; approximate if there are many.
    ///
    /// # Shapes
    /// `query`: `[dimensions]`.
    ///
    /// # Errors
    /// If vectors cannot be read.
    pub fn nearest(&self, query: &[f32], k: usize) -> Result<Vec<(usize, f32)>, IndexError> {
        let number = |place: Place| {
            let start = self.starts.get(place.segment as usize).copied();
            start
                .unwrap_or_default()
                .saturating_add(place.ordinal as usize)
        };
        let live = |place: Place| self.is_live.get(number(place)).copied().unwrap_or(false);
        let live_count = |part: u32| self.live_counts.get(part as usize).copied().unwrap_or(0);
        let effort = Effort::Recall(Recall::default());
        let nearest = search(&self.parts, query, k, effort, &live, &live_count)?;
        let numbered = nearest
            .into_iter()
            .map(|candidate| (number(candidate.place), candidate.score));
        Ok(numbered.collect())
    }
}
