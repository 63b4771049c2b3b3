//! The last stage: documents with their vectors into segments, and segments into generations.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;

use ken_corpus::{StagedSegment, Writer};
use ken_index::{DenseLayout, SegmentWriter};

use super::{CutDocument, PUBLISH_PASSAGES};
use crate::IngestError;
use crate::merge::merge_small_segments;

/// What the embedding hands over.
pub(crate) enum Handed {
    /// Documents whose passages all have vectors.
    Documents(Vec<CutDocument>),
    /// There are no more. Without it, what is staged is left unpublished.
    End,
}

/// The corpus that is written, with the segments that are being filled.
pub(crate) struct Shelf<'a> {
    writer: Writer,
    /// By shard.
    stages: BTreeMap<u32, Stage>,
    /// Passages in all of them.
    staged: usize,
    dimensions: usize,
    layout: DenseLayout,
    written: Written,
    cancel: &'a AtomicBool,
}

/// What was staged and published.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Written {
    pub(crate) added: usize,
    pub(crate) replaced: usize,
    pub(crate) longer: usize,
    /// Passages published.
    pub(crate) passages: usize,
    /// Those of them that had a vector already.
    pub(crate) reused: usize,
    /// The generation published last; 0 where there is none.
    pub(crate) generation: u64,
}

/// A staged segment with its indexes.
struct Stage {
    segment: StagedSegment,
    index: SegmentWriter,
}

impl<'a> Shelf<'a> {
    /// Once `cancel` is set no segments are merged; what was handed over is still published.
    pub(crate) fn new(
        writer: Writer,
        dimensions: usize,
        layout: DenseLayout,
        cancel: &'a AtomicBool,
    ) -> Self {
        let written = Written {
            generation: writer.generation(),
            ..Written::default()
        };
        Self {
            writer,
            stages: BTreeMap::new(),
            staged: 0,
            dimensions,
            layout,
            written,
            cancel,
        }
    }

    /// Stages what comes and publishes where enough came together, and at the end.
    pub(crate) fn fill(mut self, handed: Receiver<Handed>) -> Result<Written, IngestError> {
        for handed in handed {
            match handed {
                Handed::Documents(documents) => {
                    for document in documents {
                        self.stage(&document)?;
                    }
                }
                Handed::End => self.publish()?,
            }
        }
        Ok(self.written)
    }

    fn stage(&mut self, done: &CutDocument) -> Result<(), IngestError> {
        match done.replaces {
            true => self.written.replaced += 1,
            false => self.written.added += 1,
        }
        self.written.longer += done.longer;
        self.written.reused += done.reused;
        let stage = match self.stages.entry(done.shard) {
            Entry::Occupied(stage) => stage.into_mut(),
            Entry::Vacant(none) => {
                let segment = self.writer.stage(done.shard)?;
                let index = SegmentWriter::create(segment.dir(), self.dimensions, self.layout)?;
                none.insert(Stage { segment, index })
            }
        };
        let passages = stage.segment.push(&done.document, &done.texts)?;
        for (passage, vector) in passages.iter().zip(done.vectors.iter().flatten()) {
            stage.index.push(passage, vector)?;
        }
        self.staged += passages.len();
        match self.staged >= PUBLISH_PASSAGES {
            true => self.publish(),
            false => Ok(()),
        }
    }

    /// Publishes what is staged, and merges what has become many small segments.
    fn publish(&mut self) -> Result<(), IngestError> {
        let mut staged = Vec::new();
        for stage in std::mem::take(&mut self.stages).into_values() {
            stage.index.finish()?;
            staged.push(stage.segment);
        }
        if staged.is_empty() {
            return Ok(());
        }
        self.written.passages += std::mem::take(&mut self.staged);
        self.written.generation = self.writer.publish(staged)?;
        self.written.generation = merge_small_segments(&mut self.writer, self.cancel)?;
        Ok(())
    }
}
