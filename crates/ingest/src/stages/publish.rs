//! The last stage: documents with their vectors into segments, and segments into generations.

use std::sync::mpsc::Receiver;

use ken_corpus::{Passage, StagedSegment, Writer};

use super::{Embedded, PUBLISH_PASSAGES};
use crate::IngestError;

/// What the embedding hands over.
pub(crate) enum Handed {
    /// Documents that are done.
    Documents(Vec<Embedded>),
    /// There are no more. Without it, what is staged is left unpublished.
    End,
}

/// The corpus that is written, with the segment that is being filled.
pub(crate) struct Shelf {
    writer: Writer,
    stage: Option<Stage>,
    dimensions: usize,
    written: Written,
}

/// What was staged and published.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Written {
    pub(crate) added: usize,
    pub(crate) replaced: usize,
    pub(crate) longer: usize,
    /// Passages published.
    pub(crate) passages: usize,
    /// The generation published last; 0 where there is none.
    pub(crate) generation: u64,
}

/// A staged segment with the passages and vectors that belong into its indexes.
struct Stage {
    segment: StagedSegment,
    passages: Vec<Passage>,
    /// `[passages, dimensions]`, row-major.
    vectors: Vec<f32>,
}

impl Shelf {
    pub(crate) fn new(writer: Writer, dimensions: usize) -> Self {
        let written = Written {
            generation: writer.generation(),
            ..Written::default()
        };
        Self {
            writer,
            stage: None,
            dimensions,
            written,
        }
    }

    /// Stages what comes and publishes where enough came together, and at the end.
    pub(crate) fn fill(mut self, handed: Receiver<Handed>) -> Result<Written, IngestError> {
        for handed in handed {
            match handed {
                Handed::Documents(documents) => {
                    for document in documents {
                        self.stage(document)?;
                    }
                }
                Handed::End => self.publish()?,
            }
        }
        Ok(self.written)
    }

    fn stage(&mut self, done: Embedded) -> Result<(), IngestError> {
        let Embedded { document, vectors } = done;
        match document.replaces {
            true => self.written.replaced += 1,
            false => self.written.added += 1,
        }
        self.written.longer += document.longer;
        let stage = match &mut self.stage {
            Some(stage) => stage,
            none => none.insert(Stage {
                segment: self.writer.stage()?,
                passages: Vec::new(),
                vectors: Vec::new(),
            }),
        };
        let passages = stage.segment.push(&document.document, &document.texts)?;
        stage.passages.extend(passages);
        stage.vectors.extend(vectors);
        match stage.passages.len() >= PUBLISH_PASSAGES {
            true => self.publish(),
            false => Ok(()),
        }
    }

    /// Publishes what is staged.
    fn publish(&mut self) -> Result<(), IngestError> {
        let Some(stage) = self.stage.take() else {
            return Ok(());
        };
        ken_index::write_segment(
            stage.segment.dir(),
            &stage.passages,
            &stage.vectors,
            self.dimensions,
        )?;
        self.written.passages += stage.passages.len();
        self.written.generation = self.writer.publish(stage.segment)?;
        Ok(())
    }
}
