//! The vectors of passages that a pruner takes: the corpus's own vectors, read in place, or vectors that a language
//! model computes.

use ken_answer::{PassageFeatures, passage_features};
use ken_corpus::Corpus;
use ken_index::{IndexError, RowBuffer, SegmentVectors};
use ken_language::LanguageModel;
use ken_policy::Input;

use super::error::PruningError;

/// Passages that a model reads in one batch.
pub(crate) const READ_TOGETHER: usize = 32;

/// The source of passages' vectors.
pub enum PassageVectors<'a> {
    /// The vectors that the corpus is searched by.
    Stored(StoredVectors),
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
            Self::Stored(_) => Input::PassageEmbedding,
            Self::Read { view, .. } => view.input(),
        }
    }

    /// The fingerprint of the model that reads the passages, if one does.
    #[must_use]
    pub fn reader(&self) -> Option<&str> {
        match self {
            Self::Stored(_) => None,
            Self::Read { model, .. } => Some(model.fingerprint()),
        }
    }

    /// The vectors of passages, given by segment and ordinal: `[places][dimensions]`.
    ///
    /// # Errors
    /// A file that cannot be read, a model that fails.
    pub fn of(
        &self,
        corpus: &Corpus,
        places: &[(usize, usize)],
    ) -> Result<Vec<Vec<f32>>, PruningError> {
        match self {
            Self::Stored(stored) => {
                let rows = places
                    .iter()
                    .map(|&(segment, ordinal)| stored.row(segment, ordinal));
                Ok(rows.collect::<Result<_, _>>()?)
            }
            Self::Read { model, view } => {
                let texts = places.iter().map(|&(segment, ordinal)| {
                    Ok(corpus.segments()[segment].passage(ordinal)?.text)
                });
                let texts: Vec<String> = texts.collect::<Result<_, PruningError>>()?;
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                Ok(passage_features(*model, *view, &texts)?)
            }
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
