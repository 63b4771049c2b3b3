//! The third stage: passages into vectors, in batches across documents. Documents are passed on
//! whole.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use ken_language::{Embedder, ModelError, Role};

use super::{BATCH_PASSAGES, CutDocument, Embedded, Progress};
use crate::IngestError;

/// Embeds until the end, the first error, cancellation or the end of the next stage. `progress` is
/// called after each batch. Returns whether it was stopped.
pub(crate) fn embed(
    cut: Receiver<Result<Vec<CutDocument>, IngestError>>,
    embedder: &dyn Embedder,
    cancel: &AtomicBool,
    out: &SyncSender<Embedded>,
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
                // The same flag may have stopped the embedder.
                Err(_) if cancel.load(Ordering::Relaxed) => return Ok(true),
                embedded => embedded?,
            };
        } else if queue.documents.is_empty() {
            return Ok(false);
        }
        let seen = queue.documents.back().map(|last| last.found.seen);
        let done = queue.take_done();
        if !done.is_empty() && out.send(Embedded::Documents(done)).is_err() {
            // The next stage reports why.
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

/// The documents waiting for vectors, in order.
#[derive(Default)]
struct Queue {
    documents: VecDeque<CutDocument>,
    /// Passages without a vector.
    unembedded: usize,
}

impl Queue {
    fn push(&mut self, documents: Vec<CutDocument>) {
        for document in documents {
            self.unembedded += document.missing().count();
            self.documents.push_back(document);
        }
    }

    /// Embeds the next passages and returns how many there were.
    fn embed_batch(&mut self, embedder: &dyn Embedder) -> Result<usize, ModelError> {
        let places = self
            .documents
            .iter()
            .enumerate()
            .flat_map(|(at, document)| document.missing().map(move |passage| (at, passage)));
        let places: Vec<_> = places.take(BATCH_PASSAGES).collect();
        let texts: Vec<String> = places
            .iter()
            .map(|&(at, passage)| {
                let document = &self.documents[at];
                document.embedded_text(&document.pieces[passage])
            })
            .collect();
        let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = embedder.embed_in_background(&borrowed, Role::Passage)?;
        self.unembedded -= texts.len();
        for ((at, passage), vector) in places.into_iter().zip(vectors) {
            self.documents[at].vectors[passage] = Some(vector);
        }
        Ok(texts.len())
    }

    /// Takes the documents at the front whose passages all have vectors.
    fn take_done(&mut self) -> Vec<CutDocument> {
        let done = self
            .documents
            .iter()
            .take_while(|document| document.missing().next().is_none());
        let done = done.count();
        self.documents.drain(..done).collect()
    }
}
