//! The third stage: passages into vectors, in batches across documents. It passes on whole documents. A remote embedder
//! gets several batches at a time, so that it does not wait for the slowest request of each.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::thread::{Scope, ScopedJoinHandle};

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
    let most = (embedder.at_once() / BATCH_PASSAGES).max(1);
    std::thread::scope(|scope| {
        let mut queue = Queue::default();
        let mut batches = VecDeque::new();
        let mut passages = 0;
        let mut cut = cut.into_iter();
        loop {
            while batches.len() < most {
                while queue.waiting.len() < BATCH_PASSAGES
                    && let Some(documents) = cut.next().transpose()?
                {
                    queue.push(documents);
                }
                // The last batch need not be full.
                if queue.waiting.is_empty() || cancel.load(Ordering::Relaxed) {
                    break;
                }
                batches.push_back(Batch::begin(queue.take(), &queue, embedder, scope));
            }
            match batches.pop_front() {
                Some(batch) => {
                    passages += match queue.keep(batch) {
                        // The same flag may have stopped the embedder.
                        Err(_) if cancel.load(Ordering::Relaxed) => return Ok(true),
                        embedded => embedded?,
                    };
                }
                None if cancel.load(Ordering::Relaxed) && !queue.waiting.is_empty() => {
                    return Ok(true);
                }
                None if queue.documents.is_empty() => return Ok(false),
                None => {}
            }
            let seen = queue.documents.back().map(|last| last.source.seen);
            let done = queue.take_done();
            if !done.is_empty() && out.send(Embedded::Documents(done)).is_err() {
                // The next stage reports the error.
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
    })
}

/// The index of a document, and of a passage in it.
type Place = (usize, usize);

/// A batch of passages that is being embedded.
struct Batch<'scope> {
    places: Vec<Place>,
    vectors: ScopedJoinHandle<'scope, Result<Vec<Vec<f32>>, ModelError>>,
}

impl<'scope> Batch<'scope> {
    fn begin<'env>(
        places: Vec<Place>,
        queue: &Queue,
        embedder: &'env dyn Embedder,
        scope: &'scope Scope<'scope, 'env>,
    ) -> Self {
        let texts: Vec<String> = places.iter().map(|&place| queue.text(place)).collect();
        let vectors = scope.spawn(move || {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            embedder.embed_in_background(&texts, Role::Passage)
        });
        Self { places, vectors }
    }
}

/// The documents waiting for vectors, in order.
#[derive(Default)]
struct Queue {
    documents: VecDeque<CutDocument>,
    /// How many documents were taken from the front.
    taken: usize,
    /// Passages that are not in a batch yet.
    waiting: VecDeque<Place>,
}

impl Queue {
    fn push(&mut self, documents: Vec<CutDocument>) {
        for document in documents {
            let number = self.taken + self.documents.len();
            self.waiting
                .extend(document.missing().map(|passage| (number, passage)));
            self.documents.push_back(document);
        }
    }

    /// Takes the next passages to embed.
    fn take(&mut self) -> Vec<Place> {
        let size = BATCH_PASSAGES.min(self.waiting.len());
        self.waiting.drain(..size).collect()
    }

    fn text(&self, (number, passage): Place) -> String {
        let document = &self.documents[number - self.taken];
        document.embedded_text(&document.pieces[passage])
    }

    /// Waits for the vectors of a batch, and returns their number.
    fn keep(&mut self, batch: Batch<'_>) -> Result<usize, ModelError> {
        let vectors = match batch.vectors.join() {
            Ok(vectors) => vectors?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        let count = vectors.len();
        for ((number, passage), vector) in batch.places.into_iter().zip(vectors) {
            self.documents[number - self.taken].vectors[passage] = Some(vector);
        }
        Ok(count)
    }

    /// Takes the documents at the front whose passages all have vectors.
    fn take_done(&mut self) -> Vec<CutDocument> {
        let done = self
            .documents
            .iter()
            .take_while(|document| document.missing().next().is_none());
        let done = done.count();
        self.taken += done;
        self.documents.drain(..done).collect()
    }
}
