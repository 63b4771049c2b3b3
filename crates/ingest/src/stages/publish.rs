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
use crate::report::Report;

/// The output of the embedding stage.
pub(crate) enum Embedded {
    /// Documents whose passages all have vectors.
    Documents(Vec<CutDocument>),
    /// The end of the documents. Without it, staged documents stay unpublished.
    End,
}

/// The corpus that is being written, with its staged segments.
pub(crate) struct Publisher<'a> {
    writer: Writer,
    /// The staged segments by shard.
    stages: BTreeMap<u32, Stage>,
    /// Passages in all of them.
    staged: usize,
    dimensions: usize,
    layout: DenseLayout,
    /// The report of the run so far.
    report: Report,
    cancel: &'a AtomicBool,
}

/// A staged segment with its indexes.
struct Stage {
    segment: StagedSegment,
    index: SegmentWriter,
}

impl<'a> Publisher<'a> {
    /// Once `cancel` is set, no segments are merged; documents that were passed on are still published.
    pub(crate) fn new(
        writer: Writer,
        dimensions: usize,
        layout: DenseLayout,
        cancel: &'a AtomicBool,
    ) -> Self {
        let report = Report {
            generation: writer.generation(),
            ..Report::default()
        };
        Self {
            writer,
            stages: BTreeMap::new(),
            staged: 0,
            dimensions,
            layout,
            report,
            cancel,
        }
    }

    /// Stages documents, and publishes them whenever there are enough, and at the end.
    pub(crate) fn run(
        mut self,
        embedded: Receiver<Embedded>,
    ) -> Result<(Report, Writer), IngestError> {
        for message in embedded {
            match message {
                Embedded::Documents(documents) => {
                    for document in documents {
                        self.stage(&document)?;
                    }
                }
                Embedded::End => self.publish()?,
            }
        }
        Ok((self.report, self.writer))
    }

    fn stage(&mut self, done: &CutDocument) -> Result<(), IngestError> {
        match (done.source.replaces, &done.source.known_as) {
            (true, _) => self.report.replaced += 1,
            (false, Some(_)) => self.report.moved += 1,
            (false, None) => self.report.added += 1,
        }
        self.report.longer_than_embedder += done.longer;
        self.report.reused += done.reused;
        let stage = match self.stages.entry(done.source.shard) {
            Entry::Occupied(stage) => stage.into_mut(),
            Entry::Vacant(none) => {
                let segment = self.writer.stage(done.source.shard)?;
                let index = SegmentWriter::create(segment.dir(), self.dimensions, self.layout)?;
                none.insert(Stage { segment, index })
            }
        };
        let document = &done.source.document;
        let passages = match &done.source.known_as {
            Some(former) => stage.segment.push_moved(document, &done.pieces, former)?,
            None => stage.segment.push(document, &done.pieces)?,
        };
        for (passage, vector) in passages.iter().zip(done.vectors.iter().flatten()) {
            stage.index.push(passage, vector)?;
        }
        self.staged += passages.len();
        match self.staged >= PUBLISH_PASSAGES {
            true => self.publish(),
            false => Ok(()),
        }
    }

    /// Publishes the staged segments, and merges small ones if there are many.
    fn publish(&mut self) -> Result<(), IngestError> {
        let mut staged = Vec::new();
        for stage in std::mem::take(&mut self.stages).into_values() {
            stage.index.finish()?;
            staged.push(stage.segment);
        }
        if staged.is_empty() {
            return Ok(());
        }
        self.report.passages += std::mem::take(&mut self.staged);
        self.report.generation = self.writer.publish(staged)?;
        self.report.generation = merge_small_segments(&mut self.writer, self.cancel)?;
        Ok(())
    }
}
