//! Publishing scores of passages.

use super::error::CorpusError;
use super::layout;
use super::manifest::Change;
use super::prune_mark::{PlaceMark, PruneMark};
use super::scores;
use super::writer::Writer;

impl Writer {
    /// The places of passages of live documents, pruned or not.
    ///
    /// # Errors
    /// [`CorpusError::UnknownPassage`] where one does not exist; [`CorpusError::Damaged`].
    pub fn places(&self, marks: &[PruneMark]) -> Result<Vec<PlaceMark>, CorpusError> {
        let places = marks.iter().map(|mark| {
            let place = self.place_of_passage(&mark.passage_id)?;
            Ok(PlaceMark {
                segment: place.segment,
                ordinal: place.ordinal,
                score: mark.score,
            })
        });
        places.collect()
    }

    /// Keeps scores of passages under a name, in place of all that were kept under it, in one generation. They stay with
    /// their passages through merges and compactions, and filters read them as metadata. What is not finite is not kept.
    ///
    /// # Errors
    /// [`CorpusError::BadScoreName`], before anything is changed; [`CorpusError::Io`]; the generation that was published
    /// before is then still current.
    pub fn score(&mut self, name: &str, scores: &[PlaceMark]) -> Result<u64, CorpusError> {
        if !layout::is_score_name(name) {
            return Err(CorpusError::BadScoreName {
                name: name.to_owned(),
            });
        }
        let opened = self.known.segments();
        let unscored = opened
            .iter()
            .map(|segment| vec![f32::NAN; segment.passage_count()]);
        let mut columns: Vec<Vec<f32>> = unscored.collect();
        for mark in scores {
            let column = columns.get_mut(mark.segment);
            if let Some(score) = column.and_then(|column| column.get_mut(mark.ordinal)) {
                *score = mark.score as f32;
            }
        }
        let number = self.begin()?;
        let mut segments = self.segments.clone();
        for (segment, column) in segments.iter_mut().zip(&columns) {
            segment.scores.remove(name);
            if column.iter().any(|score| score.is_finite()) {
                let file = scores::write(&self.dir, number, &segment.id, name, column)?;
                segment.scores.insert(name.to_owned(), file);
            }
        }
        self.finish(Change::Score, number, segments)
    }
}
