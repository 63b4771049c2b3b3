//! Ranking the passages of a corpus for a query: the mode decides which searches run.
//!
//! It works on the folders of segments and on places; the corpus knows which passages are live, and their texts.

use std::sync::OnceLock;

use ken_storage::CheckedFolder;

use crate::dense::{self, Background, DenseIndex, Effort};
use crate::fuse::{self, by_scores, fused_depth};
use crate::lexical::LexicalIndex;
use crate::top_k::{Candidate, Place};
use crate::{IndexError, Mode, Recall};

/// A search query.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The text. It has no syntax.
    pub text: &'a str,
    /// The embedding of the text by the corpus's embedder, L2-normalized: `[dimensions]`. Lexical
    /// search does not need it.
    pub vector: Option<&'a [f32]>,
}

impl<'a> Query<'a> {
    /// A query by words, by a vector, or by both.
    pub fn new(text: &'a str, vector: Option<&'a [f32]>) -> Self {
        Self { text, vector }
    }

    /// The vector, checked against the dimensions of the corpus.
    ///
    /// # Errors
    /// If it is missing, of another length or not finite.
    pub fn checked_vector(&self, mode: Mode, dimensions: usize) -> Result<&'a [f32], IndexError> {
        let vector = self.vector.ok_or(IndexError::QueryVectorMissing { mode })?;
        if vector.len() != dimensions {
            return Err(IndexError::QueryDimensions {
                received: vector.len(),
                expected: dimensions,
            });
        }
        if !vector.iter().all(|number| number.is_finite()) {
            return Err(IndexError::QueryNotFinite);
        }
        Ok(vector)
    }
}

/// The indexes of all segments of a corpus.
pub(crate) struct Rankings {
    dense: Vec<DenseIndex>,
    lexical: LexicalIndex,
    dimensions: usize,
    pub(crate) recall: Recall,
    /// Read with the first hybrid search.
    background: OnceLock<Background>,
}

impl Rankings {
    /// Opens the indexes of `segments`, each a folder and its number of passages.
    pub(crate) fn open<F: Into<CheckedFolder> + Copy>(
        segments: &[(F, usize)],
        dimensions: usize,
    ) -> Result<Rankings, IndexError> {
        let dense = segments
            .iter()
            .map(|&(folder, passages)| DenseIndex::open(folder, passages, dimensions))
            .collect::<Result<_, IndexError>>()?;
        Ok(Rankings {
            dense,
            lexical: LexicalIndex::open(segments.iter().copied())?,
            dimensions,
            recall: Recall::default(),
            background: OnceLock::new(),
        })
    }

    /// The best `k` live passages, best first; of equal scores the one that comes earlier in the
    /// corpus. With them the cosine of the nearest live passage, whether or not it is among them; `None` after a lexical
    /// search, or without live passages. `live_count` returns how many passages of a segment are live.
    pub(crate) fn rank(
        &self,
        query: &Query<'_>,
        mode: Mode,
        k: usize,
        is_live: &(impl Fn(Place) -> bool + Sync),
        live_count: &(impl Fn(u32) -> usize + Sync),
    ) -> Result<(Vec<Candidate>, Option<f32>), IndexError> {
        let effort = Effort::Recall(self.recall);
        let dense = |vector, k| dense::search(&self.dense, vector, k, effort, is_live, live_count);
        let lexical = |k| self.lexical.search(query.text, k, is_live);
        let nearest = |ranking: &[Candidate]| ranking.first().map(|best| best.score);
        match mode {
            Mode::Dense => {
                let ranking = dense(query.checked_vector(mode, self.dimensions)?, k)?;
                let nearest = nearest(&ranking);
                Ok((ranking, nearest))
            }
            Mode::Lexical => Ok((lexical(k)?, None)),
            Mode::Hybrid => {
                let vector = query.checked_vector(mode, self.dimensions)?;
                let depth = fused_depth(k);
                let (dense, lexical) = rayon::join(|| dense(vector, depth), || lexical(depth));
                let rankings = fuse::Rankings {
                    dense: &dense?,
                    lexical: &lexical?,
                    spread: self.background()?.spread(vector),
                    passages: self.lexical.passages(),
                    most_lexical: self.lexical.most(query.text)?,
                };
                Ok((by_scores(&rankings, k), nearest(rankings.dense)))
            }
        }
    }

    fn background(&self) -> Result<&Background, IndexError> {
        if let Some(background) = self.background.get() {
            return Ok(background);
        }
        let background = Background::read(&self.dense)?;
        Ok(self.background.get_or_init(|| background))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    use crate::dense::{VectorType, VectorWriter};
    use crate::lexical::LexicalWriter;
    use tempfile::TempDir;

    const TEXTS: [&str; 3] = ["red fox", "blue whale", "red whale"];
    const VECTORS: [f32; 6] = [1.0, 0.0, 0.0, 1.0, 0.6, 0.8];

    fn write(dir: &Path, vectors: &[f32], texts: &[&str]) {
        let mut dense = VectorWriter::create(dir, VectorType::F32).unwrap();
        vectors.chunks(2).for_each(|row| dense.push(row).unwrap());
        dense.finish().unwrap();
        let mut lexical = LexicalWriter::create(dir).unwrap();
        for text in texts {
            lexical.push("", text).unwrap();
        }
        lexical.finish().unwrap();
    }

    /// One segment of three passages and one without any.
    fn opened() -> (Rankings, [TempDir; 2]) {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        write(dirs[0].path(), &VECTORS, &TEXTS);
        write(dirs[1].path(), &[], &[]);
        let segments = [(dirs[0].path(), 3), (dirs[1].path(), 0)];
        (Rankings::open(&segments, 2).unwrap(), dirs)
    }

    fn ordinals(query: &Query<'_>, mode: Mode, dead: Option<u32>) -> Vec<u32> {
        let is_live = |place: Place| Some(place.ordinal) != dead;
        let (rankings, _dirs) = opened();
        let (ranking, _) = rankings.rank(query, mode, 10, &is_live, &|_| 3).unwrap();
        ranking.iter().map(|c| c.place.ordinal).collect()
    }

    #[test]
    fn each_mode_has_its_own_ranking() {
        let query = Query::new("whale", Some(&[1.0, 0.0]));
        assert_eq!(ordinals(&query, Mode::Dense, None), [0, 2, 1]);
        assert_eq!(ordinals(&query, Mode::Lexical, None), [1, 2]);
        // By vectors 0 has 1.67, 2 has 1 and 1 nothing; by words 1 and 2 have 0.67.
        assert_eq!(ordinals(&query, Mode::Hybrid, None), [2, 0, 1]);
        assert_eq!(ordinals(&query, Mode::Hybrid, Some(1)), [2, 0]);
    }

    #[test]
    fn without_words_hybrid_is_dense() {
        let query = Query::new("", Some(&[0.0, 1.0]));
        assert_eq!(ordinals(&query, Mode::Hybrid, None), [1, 2, 0]);
        assert_eq!(ordinals(&query, Mode::Lexical, None), [0; 0]);
    }

    #[test]
    fn a_query_that_does_not_fit_is_an_error() {
        let (rankings, _dirs) = opened();
        let fail = |vector: Option<&[f32]>, mode| {
            let text = "fox";
            let ranking = rankings.rank(&Query { text, vector }, mode, 1, &|_| true, &|_| 3);
            ranking.unwrap_err()
        };
        let error = fail(None, Mode::Hybrid).to_string();
        assert_eq!(error, "hybrid search needs the vector of the query");
        let error = fail(Some(&[1.0]), Mode::Dense).to_string();
        let expected = "the query vector has 1 dimensions, but the corpus has 2";
        assert_eq!(error, expected);
        let error = fail(Some(&[f32::NAN, 0.0]), Mode::Dense);
        assert_eq!(error.kind(), "query_not_finite");
    }

    #[test]
    fn no_segments_give_no_passages() {
        let rankings = Rankings::open::<&Path>(&[], 2).unwrap();
        let query = Query::new("fox", Some(&[1.0, 0.0]));
        for mode in [Mode::Dense, Mode::Lexical, Mode::Hybrid] {
            let ranking = rankings.rank(&query, mode, 3, &|_| true, &|_| 3);
            assert_eq!(ranking.unwrap(), (Vec::new(), None));
        }
    }
}
