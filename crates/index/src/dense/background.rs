//! How near the passages of a corpus are to a query by chance, measured on a sample of them. A cosine means little
//! without that: some embedders give any two texts 0.7, others 0.

use super::{DenseIndex, RowBuffer};
use crate::IndexError;
use crate::dot::dot_rows;

/// Places that the sample is taken from: neighbors in a corpus come from one document, and are alike.
const PLACES: usize = 32;

/// Neighbors taken at each place.
const NEIGHBORS: usize = 8;

/// The least passages in a sample whose spread says something.
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
    /// If vectors are damaged or cannot be read.
    pub(crate) fn read(segments: &[DenseIndex]) -> Result<Self, IndexError> {
        let passages: usize = segments
            .iter()
            .map(|segment| segment.vectors.passages())
            .sum();
        let step = (passages / PLACES).max(NEIGHBORS);
        let mut rows = Vec::new();
        let mut buffer = RowBuffer::default();
        // The offset in the segment of the next place.
        let mut next = 0;
        for segment in segments {
            let count = segment.vectors.passages();
            while next < count {
                let neighbors = next..(next + NEIGHBORS).min(count);
                rows.extend_from_slice(segment.vectors.rows(neighbors, &mut buffer)?);
                next += step;
            }
            next -= count;
        }
        Ok(Self { rows })
    }

    /// The spread of the sample's scores for a query; `None` if the sample is too small or all scores are equal.
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
