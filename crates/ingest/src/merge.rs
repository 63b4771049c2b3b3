//! Making few large segments out of many small ones: by the way, while documents are taken in, and
//! on demand, when what is gone is to leave the files too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ken_corpus::{Change, Pruned, Segment, StagedSegment, Writer};
use ken_index::{RowBuffer, SegmentVectors, SegmentWriter};

use crate::IngestError;
use crate::run::layout;

/// Segments of a shard and of a size that are merged into one. A passage is written again as often
/// as the corpus grows by this factor.
const MERGED: usize = 8;

/// Passages of the smallest size of segments.
const SMALLEST: usize = 4096;

/// How far a compaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactProgress {
    /// Passages written.
    pub passages: usize,
    /// Passages that are to be written.
    pub passages_total: usize,
}

/// Drops dead and pruned passages from the files of a corpus, shard by shard, each becoming one
/// segment, and the generations before from the history. Returns the generation that came of it
/// and whether it was broken off; the shards done until then stay done.
///
/// # Errors
/// Where a file cannot be read or written; what is published stays.
pub fn compact(
    writer: &mut Writer,
    progress: &mut dyn FnMut(CompactProgress),
    cancel: &AtomicBool,
) -> Result<(u64, bool), IngestError> {
    let untidy: Vec<Vec<Arc<Segment>>> = by_shard(writer)
        .into_iter()
        .filter(|segments| segments.len() > 1 || segments.iter().any(|s| !is_whole(s)))
        .collect();
    let all = untidy.iter().flatten();
    let mut done = CompactProgress {
        passages: 0,
        passages_total: all.map(|segment| segment.live_passage_count()).sum(),
    };
    progress(done);
    // Before the first shard is done, since with that the history is gone.
    for segments in &untidy {
        writer.check_segments(&ids(segments))?;
    }
    for segments in &untidy {
        let mut each = || {
            done.passages += 1;
            if done.passages.is_multiple_of(1024) {
                progress(done);
            }
            !cancel.load(Ordering::Relaxed)
        };
        let Some(staged) = merged(writer, segments, Pruned::Dropped, &mut each)? else {
            return Ok((writer.generation(), true));
        };
        writer.replace(Change::Compact, &ids(segments), vec![staged])?;
    }
    progress(done);
    Ok((writer.forget_history()?, false))
}

/// Merges segments of a shard as long as there are [`MERGED`] of about one size. Returns the
/// current generation.
pub(crate) fn merge_small_segments(writer: &mut Writer) -> Result<u64, IngestError> {
    while let Some(segments) = due(&by_shard(writer)) {
        writer.check_segments(&ids(&segments))?;
        if let Some(staged) = merged(writer, &segments, Pruned::Kept, &mut || true)? {
            writer.replace(Change::Ingest, &ids(&segments), vec![staged])?;
        }
    }
    Ok(writer.generation())
}

/// The segments to merge next.
fn due(shards: &[Vec<Arc<Segment>>]) -> Option<Vec<Arc<Segment>>> {
    let size = |segment: &Segment| {
        (segment.live_passage_count() / SMALLEST)
            .checked_ilog(MERGED)
            .unwrap_or_default()
    };
    shards.iter().find_map(|segments| {
        let sizes = segments.iter().map(|segment| size(segment));
        let mut sizes: Vec<u32> = sizes.collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes.into_iter().find_map(|wanted| {
            let same = segments.iter().filter(|segment| size(segment) == wanted);
            let same: Vec<_> = same.cloned().collect();
            (same.len() >= MERGED).then_some(same)
        })
    })
}

/// A staged segment with what lives in some segments of a shard; `None` where `each`, which is
/// called after every passage, says so.
fn merged(
    writer: &mut Writer,
    segments: &[Arc<Segment>],
    pruned: Pruned,
    each: &mut dyn FnMut() -> bool,
) -> Result<Option<StagedSegment>, IngestError> {
    let shard = segments.first().map_or(0, |segment| segment.shard());
    let dimensions = writer.settings().embedder.dimensions;
    let mut staged = writer.stage(shard)?;
    let mut index = SegmentWriter::create(staged.dir(), dimensions, layout(writer)?)?;
    let mut buffer = RowBuffer::default();
    let mut goes_on = true;
    for segment in segments {
        let vectors = SegmentVectors::open(segment.dir(), segment.passage_count(), dimensions)?;
        let copied = staged.copy(segment, pruned, |ordinal, passage| {
            index.push(&passage, vectors.row(ordinal, &mut buffer)?)?;
            goes_on = each();
            match goes_on {
                true => Ok(()),
                false => Err(Stopped::ByCaller),
            }
        });
        match copied {
            Ok(()) => {}
            Err(Stopped::ByCaller) => return Ok(None),
            Err(Stopped::ByError(error)) => return Err(*error),
        }
    }
    index.finish()?;
    Ok(Some(staged))
}

/// Why copying ended early.
enum Stopped {
    ByCaller,
    ByError(Box<IngestError>),
}

impl<E: Into<IngestError>> From<E> for Stopped {
    fn from(error: E) -> Self {
        Self::ByError(Box::new(error.into()))
    }
}

/// The segments of each shard that has any, oldest first.
fn by_shard(writer: &Writer) -> Vec<Vec<Arc<Segment>>> {
    let mut shards = vec![Vec::new(); writer.settings().sharding.count as usize];
    for segment in writer.known().segments() {
        if let Some(shard) = shards.get_mut(segment.shard() as usize) {
            shard.push(segment);
        }
    }
    shards.retain(|segments| !segments.is_empty());
    shards
}

/// Whether all that a segment holds lives.
fn is_whole(segment: &Segment) -> bool {
    segment.live_document_count() == segment.document_count()
        && segment.live_passage_count() == segment.passage_count()
}

fn ids(segments: &[Arc<Segment>]) -> Vec<String> {
    let ids = segments.iter().map(|segment| segment.id().to_owned());
    ids.collect()
}
