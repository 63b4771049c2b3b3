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
use ken_model::encoder::{Encoder, EncoderError, Role};

use crate::{Cut, IngestError};

/// Passages embedded between two reports of progress.
const EMBED_PASSAGES: usize = 256;

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
    pub embedder: &'a Encoder,
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

/// Takes in the documents that are new or changed. `progress` is called about every 256
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
    let identity = EmbedderIdentity {
        reference: run.embedder_reference.to_owned(),
        fingerprint: run.embedder.fingerprint().to_owned(),
        dimensions: run.embedder.dimensions(),
    };
    let settings = Settings {
        embedder: identity,
        segmentation: run.cut.to_string(),
    };
    let mut writer = Writer::open(run.corpus, settings)?;
    let mut report = Report {
        generation: writer.generation(),
        ..Report::default()
    };
    let mut seen = HashSet::new();
    let mut pending = Pending::new(&mut writer)?;
    let mut looked_at = 0;

    while let Some(document) = run.documents.next() {
        if cancel.load(Ordering::Relaxed) {
            report.interrupted = true;
            break;
        }
        let document = document?;
        looked_at += 1;
        if !seen.insert(document.id.clone()) {
            return Err(IngestError::DuplicateDocument { id: document.id });
        }
        match writer.state_of(&document) {
            DocumentState::Unchanged => {
                report.unchanged += 1;
                continue;
            }
            DocumentState::New => report.added += 1,
            DocumentState::Changed => report.replaced += 1,
        }
        let texts = cut(&document, run.cut, run.embedder)?;
        pending
            .passages
            .extend(pending.staged.push(&document, &texts)?);
        while pending.unembedded() >= EMBED_PASSAGES {
            report.longer_than_embedder += pending.embed(run.embedder)?;
            let passages = report.passages + pending.embedded();
            progress(Progress {
                read: run.documents.progress(),
                documents: looked_at,
                passages,
            });
        }
        if pending.passages.len() >= PUBLISH_PASSAGES {
            publish(pending, &mut writer, run.embedder, &mut report)?;
            pending = Pending::new(&mut writer)?;
        }
    }
    publish(pending, &mut writer, run.embedder, &mut report)?;
    progress(Progress {
        read: run.documents.progress(),
        documents: looked_at,
        passages: report.passages,
    });
    Ok(report)
}

/// The text of a passage that is embedded: title and text.
fn embedded_text(passage: &Passage) -> String {
    if passage.title.is_empty() {
        passage.text.clone()
    } else {
        format!("{}\n{}", passage.title, passage.text)
    }
}

/// The texts of a document's passages.
fn cut(document: &Document, cut: Cut, embedder: &Encoder) -> Result<Vec<String>, EncoderError> {
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

/// A staged segment with the passages and vectors that belong into its indexes.
struct Pending {
    staged: StagedSegment,
    passages: Vec<Passage>,
    /// `[embedded, dimensions]`, row-major.
    vectors: Vec<f32>,
    dimensions: usize,
}

impl Pending {
    fn new(writer: &mut Writer) -> Result<Self, IngestError> {
        let staged = writer.stage()?;
        Ok(Self {
            staged,
            passages: Vec::new(),
            vectors: Vec::new(),
            dimensions: 1,
        })
    }

    fn embedded(&self) -> usize {
        self.vectors.len() / self.dimensions
    }

    fn unembedded(&self) -> usize {
        self.passages.len() - self.embedded()
    }

    /// Embeds the next passages; returns how many of them are longer than the embedder reads.
    fn embed(&mut self, embedder: &Encoder) -> Result<usize, IngestError> {
        self.dimensions = embedder.dimensions();
        let from = self.embedded();
        let to = self.passages.len().min(from + EMBED_PASSAGES);
        let texts: Vec<String> = self.passages[from..to].iter().map(embedded_text).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for vector in embedder.embed(&texts, Role::Passage)? {
            self.vectors.extend(vector);
        }
        let mut longer = 0;
        for text in texts {
            // A token has at least one byte, so shorter texts need no counting.
            if text.len() > embedder.max_tokens()
                && embedder.token_count(text)? > embedder.max_tokens()
            {
                longer += 1;
            }
        }
        Ok(longer)
    }
}

fn publish(
    mut pending: Pending,
    writer: &mut Writer,
    embedder: &Encoder,
    report: &mut Report,
) -> Result<(), IngestError> {
    while pending.unembedded() > 0 {
        report.longer_than_embedder += pending.embed(embedder)?;
    }
    ken_index::write_segment(
        pending.staged.dir(),
        &pending.passages,
        &pending.vectors,
        embedder.dimensions(),
    )?;
    report.passages += pending.passages.len();
    report.generation = writer.publish(pending.staged)?;
    Ok(())
}
