//! How near the passages of a corpus are to a query by chance, told by a sample of them: what a cosine says depends on
//! the embedder, of which some give any two texts 0.7 and others nothing.

use super::{DenseIndex, RowBuffer};
use crate::IndexError;
use crate::dot::dot_rows;

/// Where the sample is taken: neighbors in a corpus are of one document, and alike.
const PLACES: usize = 32;

/// Neighbors that are taken at each place.
const NEIGHBORS: usize = 8;

/// From this many passages on their spread says something.
const LEAST: usize = 32;

/// A sample of the vectors of a corpus.
#[derive(Debug)]
pub(crate) struct Background {
    /// `[passages, dimensions]`, row-major.
    rows: Vec<f32>,
}

/// Mean and standard deviation of the scores of a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) mean: f32,
    pub(crate) deviation: f32,
}

impl Background {
    /// Reads up to 256 vectors, evenly spread over all segments.
    ///
    /// # Errors
    /// Vectors that are damaged or cannot be read.
    pub(crate) fn read(segments: &[DenseIndex]) -> Result<Self, IndexError> {
        let passages: usize = segments
            .iter()
            .map(|segment| segment.vectors.passages())
            .sum();
        let step = (passages / PLACES).max(NEIGHBORS);
        let mut rows = Vec::new();
        let mut buffer = RowBuffer::default();
        // The first passage of a segment among all, and the next one that is taken.
        let (mut first, mut next) = (0, 0);
        for segment in segments {
            let end = first + segment.vectors.passages();
            while next < end {
                let taken =
                    next - first..(next - first + NEIGHBORS).min(segment.vectors.passages());
                rows.extend_from_slice(segment.vectors.rows(taken, &mut buffer)?);
                next += step;
            }
            first = end;
        }
        Ok(Self { rows })
    }

    /// The scores of the sample for a query; `None` where it is too small or all are alike.
    pub(crate) fn spread(&self, query: &[f32]) -> Option<Spread> {
        let count = self.rows.len() / query.len().max(1);
        if count < LEAST {
            return None;
        }
        let mut scores = Vec::new();
        dot_rows(&self.rows, query, &mut scores);
        let mean = scores.iter().sum::<f32>() / count as f32;
        let variance = scores
            .iter()
            .map(|score| (score - mean).powi(2))
            .sum::<f32>();
        let deviation = (variance / count as f32).sqrt();
        (deviation > f32::EPSILON && deviation.is_finite()).then_some(Spread { mean, deviation })
    }
}
