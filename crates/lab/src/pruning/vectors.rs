//! The vectors of passages that a pruner takes: the corpus's own vectors, read in place, or vectors that a language
//! model computes.

use ken_answer::PassageFeatures;
use ken_corpus::Corpus;
use ken_index::{IndexError, RowBuffer, SegmentVectors};
use ken_language::LanguageModel;
use ken_policy::Input;

/// Passages that a model reads in one batch.
pub(crate) const READ_TOGETHER: usize = 32;

/// The source of passages' vectors.
#[derive(Clone, Copy)]
pub enum PassageVectors<'a> {
    /// The vectors that the corpus is searched by.
    Stored,
    /// A language model reads the passages.
    Read {
        /// The model.
        model: &'a dyn LanguageModel,
        /// Which vector of the model to take.
        view: PassageFeatures,
    },
}

impl PassageVectors<'_> {
    /// The input of a head trained on these vectors.
    #[must_use]
    pub fn input(&self) -> Input {
        match self {
            Self::Stored => Input::PassageEmbedding,
            Self::Read { view, .. } => view.input(),
        }
    }

    /// The fingerprint of the model that reads the passages, if one does.
    #[must_use]
    pub fn reader(&self) -> Option<&str> {
        match self {
            Self::Stored => None,
            Self::Read { model, .. } => Some(model.fingerprint()),
        }
    }
}

/// The vectors of all segments of a corpus, live or not.
#[derive(Debug)]
pub struct StoredVectors(Vec<SegmentVectors>);

impl StoredVectors {
    /// Maps the files of vectors into memory.
    ///
    /// # Errors
    /// A file that is missing or damaged.
    pub fn open(corpus: &Corpus) -> Result<Self, IndexError> {
        let dimensions = corpus.embedder().dimensions;
        let segments = corpus.segments().iter().map(|segment| {
            SegmentVectors::open(segment.dir(), segment.passage_count(), dimensions)
        });
        segments.collect::<Result<_, _>>().map(Self)
    }

    /// The vector of a passage: `[dimensions]`; empty if there is no such passage.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn row(&self, segment: usize, ordinal: usize) -> Result<Vec<f32>, IndexError> {
        let mut buffer = RowBuffer::default();
        Ok(self.borrow(segment, ordinal, &mut buffer)?.to_vec())
    }

    /// As [`StoredVectors::row`], without a copy if possible.
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
