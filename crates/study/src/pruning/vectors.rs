//! The vectors that a corpus is searched by, read where they stand: passages need not be embedded
//! again.

use ken_corpus::Corpus;
use ken_index::{IndexError, RowBuffer, SegmentVectors};

/// The vectors of all segments of a corpus, live or not.
#[derive(Debug)]
pub struct StoredVectors(Vec<SegmentVectors>);

impl StoredVectors {
    /// Maps them.
    ///
    /// # Errors
    /// Where a file is missing or damaged.
    pub fn open(corpus: &Corpus) -> Result<Self, IndexError> {
        let dimensions = corpus.embedder().dimensions;
        let segments = corpus.segments().iter().map(|segment| {
            SegmentVectors::open(segment.dir(), segment.passage_count(), dimensions)
        });
        segments.collect::<Result<_, _>>().map(Self)
    }

    /// The vector of a passage: `[dimensions]`; empty where there is no such passage.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn row(&self, segment: usize, ordinal: usize) -> Result<Vec<f32>, IndexError> {
        let mut buffer = RowBuffer::default();
        Ok(self.borrow(segment, ordinal, &mut buffer)?.to_vec())
    }

    /// As [`StoredVectors::row`], without a copy where there is none to be made.
    pub(super) fn borrow<'a>(
        &'a self,
        segment: usize,
        ordinal: usize,
        buffer: &'a mut RowBuffer,
    ) -> Result<&'a [f32], IndexError> {
        match self.0.get(segment) {
            Some(vectors) => vectors.row(ordinal, buffer),
            None => Ok(&[]),
        }
    }
}
