//! Measured masteries of passages replace predicted ones.

use std::collections::BTreeMap;

use ken_corpus::{Corpus, CorpusError, PassageId};

use super::order::Scored;

/// Sets the score of each passage with a measured mastery to that. Returns how many there are.
///
/// # Errors
/// A passage that cannot be read.
pub(crate) fn measured_first<'l>(
    corpus: &Corpus,
    labels: impl Iterator<Item = (&'l PassageId, f64)>,
    scored: &mut [Scored],
) -> Result<usize, CorpusError> {
    let mut measured = BTreeMap::new();
    for (id, mastery) in labels {
        if let Some((segment, ordinal)) = place_of(corpus, id)? {
            measured.insert((segment as u32, ordinal as u32), mastery as f32);
        }
    }
    let mut count = 0;
    for passage in scored {
        if let Some(&mastery) = measured.get(&(passage.segment, passage.ordinal)) {
            passage.score = mastery;
            count += 1;
        }
    }
    Ok(count)
}

/// The segment and the ordinal of a passage, pruned or not.
///
/// # Errors
/// A segment that cannot be read.
pub(super) fn place_of(
    corpus: &Corpus,
    id: &PassageId,
) -> Result<Option<(usize, usize)>, CorpusError> {
    for (number, segment) in corpus.segments().iter().enumerate().rev() {
        if let Some(ordinal) = segment.ordinal_of_any(id)? {
            return Ok(Some((number, ordinal)));
        }
    }
    Ok(None)
}
