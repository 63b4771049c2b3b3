//! Merging many small segments into few large ones: while documents are ingested, and
//! on demand to compact a corpus.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ken_corpus::{Change, Pruned, Segment, StagedSegment, Writer};
use ken_index::{DenseLayout, IndexError, RowBuffer, SegmentVectors, SegmentWriter};

use crate::IngestError;

/// How many segments of a shard and of similar size are merged into one. A passage is rewritten
/// each time the corpus grows by this factor.
const MERGED: usize = 8;

/// The upper limit, in passages, of the smallest size class of segments.
const SMALLEST: usize = 4096;

/// The progress of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactProgress {
    /// Passages written.
    pub passages: usize,
    /// Passages to write.
    pub passages_total: usize,
}

/// Drops dead and pruned passages from the files of a corpus, shard by shard, each becoming one
/// segment, and earlier generations from the history. Returns the resulting generation and whether
/// it was interrupted; the shards finished until then stay compacted.
///
/// # Errors
/// If a file cannot be read or written; the published generation stays.
pub fn compact(
    writer: &mut Writer,
    progress: &mut dyn FnMut(CompactProgress),
    cancel: &AtomicBool,
) -> Result<(u64, bool), IngestError> {
    let fragmented: Vec<Vec<Arc<Segment>>> = by_shard(writer)
        .into_iter()
        .filter(|segments| segments.len() > 1 || segments.iter().any(|s| !is_whole(s)))
        .collect();
    let all = fragmented.iter().flatten();
    let mut done = CompactProgress {
        passages: 0,
        passages_total: all.map(|segment| segment.live_passage_count()).sum(),
    };
    progress(done);
    // Before the first shard, since publishing it drops the history.
    for segments in &fragmented {
        writer.check_segments(&ids(segments))?;
    }
    for segments in &fragmented {
        let mut on_passage = || {
            done.passages += 1;
            if done.passages.is_multiple_of(1024) {
                progress(done);
            }
        };
        let staged = merged(writer, segments, Pruned::Dropped, &mut on_passage, cancel)?;
        let Some(staged) = staged else {
            return Ok((writer.generation(), true));
        };
        writer.replace(Change::Compact, &ids(segments), vec![staged])?;
    }
    progress(done);
    Ok((writer.forget_history()?, false))
}

/// Merges segments of a shard while there are [`MERGED`] of similar size, or until `cancel` is set;
/// the next run merges the others. Returns the current generation.
pub(crate) fn merge_small_segments(
    writer: &mut Writer,
    cancel: &AtomicBool,
) -> Result<u64, IngestError> {
    while let Some(segments) = due(&by_shard(writer)) {
        writer.check_segments(&ids(&segments))?;
        let Some(staged) = merged(writer, &segments, Pruned::Kept, &mut || (), cancel)? else {
            break;
        };
        writer.replace(Change::Ingest, &ids(&segments), vec![staged])?;
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
        let mut sizes: Vec<u32> = segments.iter().map(|segment| size(segment)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes.into_iter().find_map(|class| {
            let same = segments.iter().filter(|segment| size(segment) == class);
            let same: Vec<_> = same.cloned().collect();
            (same.len() >= MERGED).then_some(same)
        })
    })
}

/// A staged segment with the live documents of some segments of a shard; `None` soon after `cancel`
/// has been set. `on_passage` is called after every passage.
fn merged(
    writer: &mut Writer,
    segments: &[Arc<Segment>],
    pruned: Pruned,
    on_passage: &mut dyn FnMut(),
    cancel: &AtomicBool,
) -> Result<Option<StagedSegment>, IngestError> {
    let shard = segments.first().map_or(0, |segment| segment.shard());
    let dimensions = writer.settings().embedder.dimensions;
    let mut staged = writer.stage(shard)?;
    let mut index = SegmentWriter::create(staged.dir(), dimensions, layout(writer)?)?;
    let mut buffer = RowBuffer::default();
    for segment in segments {
        let vectors = SegmentVectors::open(segment.files(), segment.passage_count(), dimensions)?;
        let copied = staged.copy(segment, pruned, |ordinal, passage| {
            index.push(&passage, vectors.row(ordinal, &mut buffer)?)?;
            on_passage();
            match cancel.load(Ordering::Relaxed) {
                true => Err(Stopped::ByCaller),
                false => Ok(()),
            }
        });
        match copied {
            Ok(()) => {}
            Err(Stopped::ByCaller) => return Ok(None),
            Err(Stopped::ByError(error)) => return Err(*error),
        }
    }
    match index.finish_unless(cancel) {
        Ok(()) => Ok(Some(staged)),
        Err(IndexError::Cancelled) => Ok(None),
        Err(error) => Err(error.into()),
    }
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

/// Whether all documents and passages of a segment are live.
fn is_whole(segment: &Segment) -> bool {
    segment.live_document_count() == segment.document_count()
        && segment.live_passage_count() == segment.passage_count()
}

fn ids(segments: &[Arc<Segment>]) -> Vec<String> {
    let ids = segments.iter().map(|segment| segment.id().to_owned());
    ids.collect()
}

/// How the corpus stores and searches vectors.
pub(crate) fn layout(writer: &Writer) -> Result<DenseLayout, IngestError> {
    Ok(writer.settings().dense.parse()?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use ken_corpus::{Document, EmbedderIdentity, Settings, Sharding};

    use super::*;

    const DIMENSIONS: usize = 64;
    const PASSAGES: usize = 2500;

    /// A corpus with as many segments as are merged, whose merged segment gets a graph.
    fn corpus(dir: &Path) -> Writer {
        let settings = Settings {
            embedder: EmbedderIdentity::new("test", "test", DIMENSIONS),
            segmentation: "whole".to_owned(),
            sharding: Sharding::default(),
            dense: "graph".to_owned(),
        };
        let mut writer = Writer::create(dir, settings).unwrap();
        let layout = "exact".parse().unwrap();
        for segment in 0..MERGED {
            let mut staged = writer.stage(0).unwrap();
            let mut index = SegmentWriter::create(staged.dir(), DIMENSIONS, layout).unwrap();
            for n in 0..PASSAGES {
                let number = segment * PASSAGES + n;
                let document = Document {
                    id: number.to_string(),
                    title: String::new(),
                    text: format!("text {number}"),
                    record: true,
                    ..Document::default()
                };
                let vector: Vec<f32> = (0..DIMENSIONS)
                    .map(|at| ((number * 31 + at * at * 17) as f32).sin())
                    .collect();
                for passage in staged
                    .push(&document, &[document.text.as_str().into()])
                    .unwrap()
                {
                    index.push(&passage, &vector).unwrap();
                }
            }
            index.finish().unwrap();
            writer.publish(vec![staged]).unwrap();
        }
        writer
    }

    /// The length of the vectors in the staged segment.
    fn staged_bytes(dir: &Path) -> Option<u64> {
        let mut folders = std::fs::read_dir(dir.join("staging")).ok()?;
        let file = folders.next()?.ok()?.path().join("vectors.f32");
        Some(std::fs::metadata(file).ok()?.len())
    }

    #[test]
    fn a_merge_that_is_cancelled_leaves_the_generation_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = corpus(dir.path());
        let before = writer.generation();
        let all = (MERGED * PASSAGES * DIMENSIONS * size_of::<f32>()) as u64;
        // While passages are copied, and while the graph is built, which takes seconds.
        for bytes in [1, all] {
            let (cancel, ended) = (AtomicBool::new(false), AtomicBool::new(false));
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !ended.load(Ordering::Relaxed) {
                        let is_due = staged_bytes(dir.path()).is_some_and(|len| len >= bytes);
                        cancel.fetch_or(is_due, Ordering::Relaxed);
                        std::thread::sleep(Duration::from_millis(1));
                    }
                });
                let generation = merge_small_segments(&mut writer, &cancel).unwrap();
                ended.store(true, Ordering::Relaxed);
                assert_eq!(generation, before, "cancelled at {bytes} bytes");
            });
        }
        let cancel = AtomicBool::new(true);
        assert_eq!(merge_small_segments(&mut writer, &cancel).unwrap(), before);
        let done = compact(&mut writer, &mut |_| (), &cancel).unwrap();
        assert_eq!(done, (before, true));
        assert_eq!(writer.known().segments().len(), MERGED);
        cancel.store(false, Ordering::Relaxed);
        assert!(merge_small_segments(&mut writer, &cancel).unwrap() > before);
        assert_eq!(writer.known().segments().len(), 1);
    }
}
