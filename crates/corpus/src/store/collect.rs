//! Garbage collection: removing what no kept generation needs.

use std::collections::HashSet;
use std::path::Path;

use super::error::CorpusError;
use super::layout;
use super::manifest::{self, Change, Manifest};
use super::pin::remove_unless_pinned;

/// The number of writer runs that can be rolled back.
const KEPT_RUNS: usize = 10;

/// Removes superseded generations without readers, and then the segments, marks and scores that
/// no kept generation names. `current` is the published generation, and must be on the disk.
///
/// It keeps the last generation of each of the last [`KEPT_RUNS`] runs, back to the last compaction: passages that
/// a compaction dropped are gone for good. A manifest that cannot be read may name any segment, so it is kept with all
/// segments until [`super::Writer::repair`] drops it.
pub(super) fn collect(corpus: &Path, current: &Manifest) -> Result<(), CorpusError> {
    let mut kept = vec![current.clone()];
    let mut compacted = current.change == Change::Compact;
    let (mut removed, mut unreadable) = (false, false);
    for number in manifest::numbers(corpus, current.number)?.into_iter().rev() {
        if number == current.number {
            continue;
        }
        let past = match manifest::read(corpus, number) {
            Ok(past) => past,
            Err(_) => {
                unreadable = true;
                continue;
            }
        };
        let base = kept.last().map(|manifest| manifest.base);
        let keep = !compacted && kept.len() < KEPT_RUNS && Some(past.base) != base;
        if keep || !remove_unless_pinned(corpus, number)? {
            compacted |= past.change == Change::Compact;
            kept.push(past);
        } else {
            removed = true;
        }
    }
    if unreadable {
        return Ok(());
    }
    if removed {
        // A crash must not bring back a manifest whose segments are gone.
        ken_storage::sync_dir(&layout::generations(corpus))?;
    }
    let mut needed = HashSet::new();
    for segment in kept.iter().flat_map(|manifest| &manifest.segments) {
        needed.insert(segment.id.clone());
        needed.extend(segment.beside().map(|file| file.name.clone()));
    }
    for folder in [layout::segments(corpus), layout::marks(corpus)] {
        for name in layout::names(&folder)? {
            if !needed.contains(&name) {
                ken_storage::remove(&folder.join(name))?;
            }
        }
    }
    Ok(())
}

/// Removes the files of generations after `published`, which no reader can know.
pub(super) fn remove_unpublished(corpus: &Path, published: u64) -> Result<(), CorpusError> {
    for folder in layout::generational(corpus) {
        let mut removed = false;
        for name in layout::names(&folder)? {
            if layout::generation_of(&name).is_some_and(|number| number > published) {
                ken_storage::remove(&folder.join(name))?;
                removed = true;
            }
        }
        if removed {
            // Manifests are removed first, and for good, so that none reappears and names other
            // segments.
            ken_storage::sync_dir(&folder)?;
        }
    }
    Ok(())
}
