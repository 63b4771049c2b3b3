//! Removing what no generation needs any more.

use std::collections::HashSet;
use std::path::Path;

use super::durable;
use super::error::CorpusError;
use super::layout;
use super::manifest::{self, Change, Manifest};
use super::pin::remove_unless_pinned;

/// Runs of writers that can be undone.
const KEPT_RUNS: usize = 10;

/// Removes generations that were superseded, unless somebody reads them, and then the segments and
/// marks that no kept generation names. `current` is the published one.
///
/// Kept are the last generations of the last runs, back to the last compaction: what that dropped
/// is gone for good.
pub(super) fn collect(corpus: &Path, current: &Manifest) -> Result<(), CorpusError> {
    let mut kept = vec![current.clone()];
    let mut compacted = current.change == Change::Compact;
    for number in manifest::numbers(corpus, current.number)?.into_iter().rev() {
        if number == current.number {
            continue;
        }
        // What cannot be read cannot be returned to.
        let past = manifest::read(corpus, number).ok();
        let base = kept.last().map(|manifest| manifest.base);
        let wanted = past
            .as_ref()
            .is_some_and(|past| !compacted && kept.len() < KEPT_RUNS && Some(past.base) != base);
        if wanted || !remove_unless_pinned(corpus, number)? {
            compacted |= past
                .as_ref()
                .is_some_and(|past| past.change == Change::Compact);
            kept.extend(past);
        }
    }
    let mut needed = HashSet::new();
    for segment in kept.iter().flat_map(|manifest| &manifest.segments) {
        needed.insert(segment.id.clone());
        needed.extend(segment.marks.iter().map(|marks| marks.name.clone()));
    }
    for folder in [layout::segments(corpus), layout::marks(corpus)] {
        for name in durable::names(&folder)? {
            if !needed.contains(&name) {
                durable::remove(&folder.join(name))?;
            }
        }
    }
    Ok(())
}

/// Removes what belongs to generations after `published`: no reader can know them.
pub(super) fn remove_unpublished(corpus: &Path, published: u64) -> Result<(), CorpusError> {
    for folder in layout::generational(corpus) {
        for name in durable::names(&folder)? {
            if layout::generation_of(&name).is_some_and(|number| number > published) {
                durable::remove(&folder.join(name))?;
            }
        }
    }
    Ok(())
}
