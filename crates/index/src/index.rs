//! The index of a corpus: from rankings of places to the passages there.

use std::sync::Arc;

use ken_corpus::{Corpus, Passage, Selection};

use crate::search::{Query, Rankings};
use crate::top_k::Place;
use crate::{IndexError, Mode, Recall};

/// A search result.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The passage.
    pub passage: Passage,
    /// Higher is more relevant. The scale depends on the mode: the cosine in [-1, 1], BM25
    /// from 0 up, or the sum of both, each made comparable.
    pub score: f32,
}

/// A search result that names the place of its passage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedPlace {
    /// The index of its segment in the corpus.
    pub segment: usize,
    /// The ordinal of the passage in the segment.
    pub ordinal: usize,
    /// As in [`Hit`].
    pub score: f32,
}

/// One generation of a corpus, ready to search from any number of threads.
pub struct Index {
    corpus: Arc<Corpus>,
    rankings: Rankings,
}

impl Index {
    /// Opens the indexes of all segments. Files above a MiB are mapped, not read: their sizes are
    /// checked now, and each block of them when a search first reads it.
    ///
    /// # Errors
    /// If a file of a segment is missing or damaged; the error names it.
    pub fn open(corpus: Arc<Corpus>) -> Result<Index, IndexError> {
        let segments: Vec<_> = corpus
            .segments()
            .iter()
            .map(|segment| (segment.files(), segment.passage_count()))
            .collect();
        let rankings = Rankings::open(&segments, corpus.embedder().dimensions)?;
        Ok(Index { corpus, rankings })
    }

    /// Replaces the recall of dense search, [`Recall::default`].
    #[must_use]
    pub fn with_recall(mut self, recall: Recall) -> Self {
        self.rankings.recall = recall;
        self
    }

    /// The corpus that is searched.
    pub fn corpus(&self) -> &Arc<Corpus> {
        &self.corpus
    }

    /// Identifies the corpus, and the recall if that is not the default.
    pub fn fingerprint(&self) -> String {
        let corpus = self.corpus.fingerprint();
        match self.rankings.recall {
            recall if recall == Recall::default() => corpus,
            recall => format!("{corpus} at recall {recall}"),
        }
    }

    /// The `k` best passages, best first, among the selected ones, or else among all live ones; fewer
    /// if fewer match. Of equal scores, the passage that comes earlier in the corpus is first.
    ///
    /// # Errors
    /// If the query's vector is missing, of the wrong size or not finite in a mode that needs
    /// it, or a passage cannot be read.
    pub fn search(
        &self,
        query: &Query<'_>,
        mode: Mode,
        k: usize,
        selection: Option<&Selection>,
    ) -> Result<Vec<Hit>, IndexError> {
        Ok(self.search_with_nearest(query, mode, k, selection)?.0)
    }

    /// As [`Index::search`], with the cosine of the query and the nearest passage, whether or not that is among the best:
    /// dense and hybrid search compute it anyway. `None` after a lexical search, or if there are no passages.
    pub fn search_with_nearest(
        &self,
        query: &Query<'_>,
        mode: Mode,
        k: usize,
        selection: Option<&Selection>,
    ) -> Result<(Vec<Hit>, Option<f32>), IndexError> {
        let segments = self.corpus.segments();
        let (places, nearest) = self.places(query, mode, k, selection)?;
        let hits = places.into_iter().map(|place| {
            let passage = segments[place.segment].passage(place.ordinal)?;
            let score = place.score;
            Ok(Hit { passage, score })
        });
        Ok((hits.collect::<Result<_, IndexError>>()?, nearest))
    }

    /// As [`Index::search_with_nearest`], with the places of the passages in place of them.
    pub fn places(
        &self,
        query: &Query<'_>,
        mode: Mode,
        k: usize,
        selection: Option<&Selection>,
    ) -> Result<(Vec<RankedPlace>, Option<f32>), IndexError> {
        let segments = self.corpus.segments();
        let is_live = |place: Place| {
            let (segment, ordinal) = (place.segment as usize, place.ordinal as usize);
            match selection {
                Some(selection) => selection.contains(segment, ordinal),
                None => segments
                    .get(segment)
                    .is_some_and(|segment| segment.is_live(ordinal)),
            }
        };
        let live_count = |segment: u32| match selection {
            Some(selection) => selection.count(segment as usize),
            None => segments
                .get(segment as usize)
                .map_or(0, |segment| segment.live_passage_count()),
        };
        let (ranking, nearest) = (self.rankings).rank(query, mode, k, &is_live, &live_count)?;
        let places = ranking.into_iter().map(|candidate| RankedPlace {
            segment: candidate.place.segment as usize,
            ordinal: candidate.place.ordinal as usize,
            score: candidate.score,
        });
        Ok((places.collect(), nearest))
    }
}
