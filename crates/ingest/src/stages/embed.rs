//! The third stage: passages into vectors, batch by batch, whatever document a passage belongs
//! to. Documents leave whole.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use ken_model::embedder::{Embedder, EmbedderError};
use ken_model::encoder::Role;

use super::{BATCH_PASSAGES, CutDocument, Handed};
use crate::{IngestError, Progress};

/// A document with the vectors of its passages.
pub(crate) struct Embedded {
    pub(crate) document: CutDocument,
    /// `[passages, dimensions]`, row-major.
    pub(crate) vectors: Vec<f32>,
}

/// Embeds until the end, the first error, a stop or the end of the next stage. `progress` is
/// called after each batch. Returns whether it was stopped.
pub(crate) fn embed(
    cut: Receiver<Result<Vec<CutDocument>, IngestError>>,
    embedder: &dyn Embedder,
    cancel: &AtomicBool,
    out: &SyncSender<Handed>,
    progress: &mut dyn FnMut(Progress),
) -> Result<bool, IngestError> {
    let mut queue = Queue::default();
    let mut passages = 0;
    let mut cut = cut.into_iter();
    loop {
        while queue.unembedded < BATCH_PASSAGES
            && let Some(documents) = cut.next().transpose()?
        {
            queue.push(documents);
        }
        // The last batch need not be full.
        if queue.unembedded > 0 {
            if cancel.load(Ordering::Relaxed) {
                return Ok(true);
            }
            passages += match queue.embed_batch(embedder) {
                // The embedder may be stopped by the same flag.
                Err(_) if cancel.load(Ordering::Relaxed) => return Ok(true),
                embedded => embedded?,
            };
        } else if queue.documents.is_empty() {
            return Ok(false);
        }
        let seen = queue.documents.back().map(|last| last.document.seen);
        let done = queue.take_done();
        if !done.is_empty() && out.send(Handed::Documents(done)).is_err() {
            // The next stage tells why.
            return Ok(false);
        }
        if let Some(seen) = seen {
            progress(Progress {
                read: seen.read,
                documents: seen.documents,
                passages,
            });
        }
    }
}

/// The documents that wait for vectors, the first to leave in front.
#[derive(Default)]
struct Queue {
    documents: VecDeque<Waiting>,
    /// Passages that have no vector yet.
    unembedded: usize,
}

struct Waiting {
    document: CutDocument,
    vectors: Vec<f32>,
    /// How many passages are embedded.
    embedded: usize,
}

impl Waiting {
    fn is_done(&self) -> bool {
        self.embedded == self.document.texts.len()
    }
}

impl Queue {
    fn push(&mut self, documents: Vec<CutDocument>) {
        for document in documents {
            self.unembedded += document.texts.len();
            self.documents.push_back(Waiting {
                document,
                vectors: Vec::new(),
                embedded: 0,
            });
        }
    }

    /// Embeds the next passages and returns how many there were.
    fn embed_batch(&mut self, embedder: &dyn Embedder) -> Result<usize, EmbedderError> {
        let waiting = self.documents.iter().flat_map(|waiting| {
            let texts = &waiting.document.texts[waiting.embedded..];
            texts
                .iter()
                .map(|text| waiting.document.embedded_text(text))
        });
        let texts: Vec<String> = waiting.take(BATCH_PASSAGES).collect();
        let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut vectors = embedder.embed(&borrowed, Role::Passage)?.into_iter();
        self.unembedded -= texts.len();
        for waiting in &mut self.documents {
            let missing = waiting.document.texts.len() - waiting.embedded;
            for vector in vectors.by_ref().take(missing) {
                waiting.vectors.extend(vector);
                waiting.embedded += 1;
            }
        }
        Ok(texts.len())
    }

    /// The documents in front whose passages are all embedded.
    fn take_done(&mut self) -> Vec<Embedded> {
        let done = self
            .documents
            .iter()
            .take_while(|waiting| waiting.is_done());
        let done = done.count();
        self.documents
            .drain(..done)
            .map(|waiting| Embedded {
                document: waiting.document,
                vectors: waiting.vectors,
            })
            .collect()
    }
}
