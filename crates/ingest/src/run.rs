//! One run over files: reads, cuts, embeds, and publishes as it goes.

use std::cell::Cell;
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ken_corpus::{
    Document, DocumentState, Documents, EmbedderIdentity, Passage, ReadProgress, Settings,
    StagedSegment, Writer, segment,
};
use ken_model::embedder::{Embedder, EmbedderError};

use crate::queue::{BATCH_PASSAGES, Queue, Queued};
use crate::{Cut, IngestError};

/// Passages published together. A killed run loses at most the work on these.
const PUBLISH_PASSAGES: usize = 4096;

/// What to take in, and how.
pub struct Ingest<'a> {
    /// The documents, of which none was read yet.
    pub documents: Documents,
    /// The corpus folder; made where there is none.
    pub corpus: &'a Path,
    /// How documents are cut.
    pub cut: Cut,
    /// Embeds the passages.
    pub embedder: &'a dyn Embedder,
    /// What the embedder is called, so that it can be found again to embed queries.
    pub embedder_reference: &'a str,
}

/// How far a run is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Bytes of the files.
    pub read: ReadProgress,
    /// Documents looked at.
    pub documents: usize,
    /// Passages embedded.
    pub passages: usize,
}

/// What a run did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// Documents that were not known.
    pub added: usize,
    /// Documents whose passages were replaced.
    pub replaced: usize,
    /// Documents that were there as they are.
    pub unchanged: usize,
    /// Passages written.
    pub passages: usize,
    /// Passages longer than the embedder reads, so that their end does not count in dense search.
    pub longer_than_embedder: usize,
    /// The generation published last; 0 where there is none.
    pub generation: u64,
    /// Whether the run was broken off. Running it again takes in the rest.
    pub interrupted: bool,
}

/// Takes in the documents that are new or changed. `progress` is called after each batch of
/// passages; `cancel` is looked at between documents and between batches.
///
/// # Errors
/// The first document that cannot be read, cut, embedded or written ends the run; what was
/// published before stays.
pub fn ingest(
    mut run: Ingest<'_>,
    progress: &mut dyn FnMut(Progress),
    cancel: &AtomicBool,
) -> Result<Report, IngestError> {
    let mut shelf = Shelf::open(&run)?;
    let mut queue = Queue::new(run.embedder);
    let mut seen = HashSet::new();
    let mut all_read = false;

    loop {
        // The last batch need not be full.
        let batch = queue.unembedded() >= if all_read { 1 } else { BATCH_PASSAGES };
        if all_read && !batch {
            break;
        }
        if cancel.load(Ordering::Relaxed) {
            shelf.report.interrupted = true;
            break;
        }
        if batch {
            queue.embed_batch()?;
            shelf.take(&mut queue)?;
            progress(Progress {
                read: run.documents.progress(),
                documents: seen.len(),
                passages: shelf.passages() + queue.embedded(),
            });
            continue;
        }
        let Some(document) = run.documents.next().transpose()? else {
            all_read = true;
            continue;
        };
        if !seen.insert(document.id.clone()) {
            return Err(IngestError::DuplicateDocument { id: document.id });
        }
        let state = shelf.writer.state_of(&document);
        if state == DocumentState::Unchanged {
            shelf.report.unchanged += 1;
            continue;
        }
        let texts = cut(&document, run.cut, run.embedder)?;
        queue.push(document, texts, state == DocumentState::Changed);
        shelf.take(&mut queue)?;
    }
    shelf.publish()?;
    let report = shelf.report;
    progress(Progress {
        read: run.documents.progress(),
        documents: seen.len(),
        passages: report.passages,
    });
    Ok(report)
}

/// The texts of a document's passages.
fn cut(
    document: &Document,
    cut: Cut,
    embedder: &dyn Embedder,
) -> Result<Vec<String>, EmbedderError> {
    let failure = Cell::new(None);
    let token_spans = |text: &str| -> Vec<Range<usize>> {
        embedder.token_spans(text).unwrap_or_else(|error| {
            failure.set(Some(error));
            Vec::new()
        })
    };
    let texts = segment(&document.text, cut.of(document), &token_spans);
    let texts = texts.into_iter().map(str::to_owned).collect();
    failure.take().map_or(Ok(texts), Err)
}

/// The corpus that is written, with the segment that is being filled.
struct Shelf {
    writer: Writer,
    stage: Option<Stage>,
    dimensions: usize,
    report: Report,
}

/// A staged segment with the passages and vectors that belong into its indexes.
struct Stage {
    segment: StagedSegment,
    passages: Vec<Passage>,
    /// `[passages, dimensions]`, row-major.
    vectors: Vec<f32>,
}

impl Shelf {
    fn open(run: &Ingest<'_>) -> Result<Self, IngestError> {
        let settings = Settings {
            embedder: EmbedderIdentity {
                reference: run.embedder_reference.to_owned(),
                fingerprint: run.embedder.fingerprint().to_owned(),
                dimensions: run.embedder.dimensions(),
            },
            segmentation: run.cut.to_string(),
        };
        let writer = Writer::open(run.corpus, settings)?;
        Ok(Self {
            stage: None,
            dimensions: run.embedder.dimensions(),
            report: Report {
                generation: writer.generation(),
                ..Report::default()
            },
            writer,
        })
    }

    /// Stages the documents in front of the queue that are done, and publishes where enough came
    /// together.
    fn take(&mut self, queue: &mut Queue<'_>) -> Result<(), IngestError> {
        while let Some(done) = queue.pop_done() {
            match done.replaces {
                true => self.report.replaced += 1,
                false => self.report.added += 1,
            }
            self.report.longer_than_embedder += done.longer;
            self.stage(done)?;
            if self.staged() >= PUBLISH_PASSAGES {
                self.publish()?;
            }
        }
        Ok(())
    }

    fn stage(&mut self, done: Queued) -> Result<(), IngestError> {
        let stage = match &mut self.stage {
            Some(stage) => stage,
            none => none.insert(Stage {
                segment: self.writer.stage()?,
                passages: Vec::new(),
                vectors: Vec::new(),
            }),
        };
        let passages = stage.segment.push(&done.document, &done.texts)?;
        stage.passages.extend(passages);
        stage.vectors.extend(done.vectors);
        Ok(())
    }

    /// Passages staged.
    fn staged(&self) -> usize {
        self.stage.as_ref().map_or(0, |stage| stage.passages.len())
    }

    /// Passages published or staged.
    fn passages(&self) -> usize {
        self.report.passages + self.staged()
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
        self.report.passages += stage.passages.len();
        self.report.generation = self.writer.publish(stage.segment)?;
        Ok(())
    }
}
