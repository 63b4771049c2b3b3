//! The passages of a corpus that match filters.

use fixedbitset::FixedBitSet;
use serde_json::{Map, Value};

use super::Filter;
use crate::store::{Corpus, CorpusError, Segment};

/// A selection of a corpus's passages, such as the live ones that match filters: which and how many of
/// each segment.
#[derive(Debug, Clone)]
pub struct Selection(Vec<(FixedBitSet, usize)>);

impl Selection {
    /// The live passages that match all filters: by the metadata of their documents, and by their own scores.
    ///
    /// # Errors
    /// [`CorpusError::Damaged`] if a document's record cannot be read.
    pub fn new(corpus: &Corpus, filters: &[Filter]) -> Result<Self, CorpusError> {
        let fits =
            |metadata: &Map<String, Value>| filters.iter().all(|filter| filter.matches(metadata));
        let keys: Vec<&str> = filters.iter().flat_map(Filter::keys).collect();
        Self::from_live(corpus, |segment, selected| {
            // What scores alone decide needs no record of a document.
            let needs_records = !segment.has_all_scores(&keys);
            for document in segment.live_documents() {
                let metadata = match needs_records {
                    true => segment.metadata(document)?,
                    false => Map::new(),
                };
                let passages = segment.passages_of(document)?;
                if !segment.has_scores() {
                    if !fits(&metadata) {
                        selected.set_range(passages, false);
                    }
                    continue;
                }
                for ordinal in passages {
                    let mut own = metadata.clone();
                    segment.add_scores(ordinal, &mut own);
                    if !fits(&own) {
                        selected.set(ordinal, false);
                    }
                }
            }
            Ok(())
        })
    }

    /// The passages of documents, given by segment and ordinal, that are `within` another selection, or else live.
    ///
    /// # Errors
    /// [`CorpusError::Damaged`] if the table of the documents is damaged.
    pub fn of_documents(
        corpus: &Corpus,
        documents: &[(usize, usize)],
        within: Option<&Self>,
    ) -> Result<Self, CorpusError> {
        let segments = corpus.segments().iter().enumerate();
        let segments = segments.map(|(number, segment)| {
            let mut selected = FixedBitSet::with_capacity(segment.passage_count());
            for &(_, document) in documents.iter().filter(|(of, _)| *of == number) {
                for ordinal in segment.passages_of(document)? {
                    let is_selected = match within {
                        Some(within) => within.contains(number, ordinal),
                        None => segment.is_live(ordinal),
                    };
                    selected.set(ordinal, is_selected);
                }
            }
            let count = selected.count_ones(..);
            Ok((selected, count))
        });
        segments.collect::<Result<_, _>>().map(Self)
    }

    /// The live passages, and those pruned for a reason with this prefix.
    ///
    /// # Errors
    /// [`CorpusError`] if the marks of a segment cannot be read.
    pub fn with_pruned_for(corpus: &Corpus, reason_start: &str) -> Result<Self, CorpusError> {
        Self::from_live(corpus, |segment, selected| {
            selected.extend(segment.pruned_for(reason_start)?);
            Ok(())
        })
    }

    /// The live passages of each segment, after `change`.
    fn from_live(
        corpus: &Corpus,
        change: impl Fn(&Segment, &mut FixedBitSet) -> Result<(), CorpusError>,
    ) -> Result<Self, CorpusError> {
        let segments = corpus.segments().iter().map(|segment| {
            let mut selected = segment.live().clone();
            change(segment, &mut selected)?;
            let count = selected.count_ones(..);
            Ok((selected, count))
        });
        segments.collect::<Result<_, _>>().map(Self)
    }

    /// Removes a passage.
    pub fn remove(&mut self, segment: usize, ordinal: usize) {
        if let Some((selected, count)) = self.0.get_mut(segment)
            && selected.contains(ordinal)
        {
            selected.set(ordinal, false);
            *count -= 1;
        }
    }

    /// The selected passages of a segment by their ordinals, ascending.
    pub fn ordinals(&self, segment: usize) -> impl Iterator<Item = usize> + '_ {
        let selected = self.0.get(segment);
        selected
            .into_iter()
            .flat_map(|(selected, _)| selected.ones())
    }

    /// How many passages are selected.
    pub fn total(&self) -> usize {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// Whether a passage is selected; false if there is no such passage.
    pub fn contains(&self, segment: usize, ordinal: usize) -> bool {
        self.0
            .get(segment)
            .is_some_and(|(selected, _)| selected.contains(ordinal))
    }

    /// How many passages of a segment are selected.
    pub fn count(&self, segment: usize) -> usize {
        self.0.get(segment).map_or(0, |(_, count)| *count)
    }
}
