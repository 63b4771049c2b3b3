//! The measured mastery of a passage takes precedence over a predicted one.

use std::collections::BTreeMap;

use ken_corpus::{Corpus, CorpusError, PassageId};

use super::order::Scored;

/// Scores each passage whose mastery was measured by that. Returns how many there are.
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
    let mut found = 0;
    for one in scored {
        if let Some(&mastery) = measured.get(&(one.segment, one.ordinal)) {
            one.score = mastery;
            found += 1;
        }
    }
    Ok(found)
}

/// Where a passage stands, pruned or not: its segment and its place in it.
///
/// # Errors
/// A segment that cannot be read.
pub(crate) fn place_of(
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
