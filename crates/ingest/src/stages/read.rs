//! The first stage: files into the documents that are new or changed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use ken_corpus::{Document, DocumentState, Known};
use ken_documents::{Documents, ReadError, ReadProgress};

use crate::IngestError;
use crate::split::Split;

/// The progress of reading.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    /// Bytes of the files.
    pub(crate) read: ReadProgress,
    /// Documents read.
    pub(crate) documents: usize,
    /// Unchanged documents.
    pub(crate) unchanged: usize,
    /// Documents that could not be read and were skipped.
    pub(crate) broken: usize,
    /// Documents of shards that are not ingested.
    pub(crate) other_shards: usize,
    /// Whether reading was interrupted.
    pub(crate) interrupted: bool,
}

/// A document to ingest.
pub(crate) struct NewDocument {
    pub(crate) document: Document,
    /// Its shard.
    pub(crate) shard: u32,
    /// Whether it replaces a document of the same id.
    pub(crate) replaces: bool,
    /// The progress when it was found.
    pub(crate) seen: Seen,
}

/// Reads until the end, the first error, cancellation or the end of the next stage.
pub(crate) fn read(
    mut documents: Documents,
    known: &Known,
    mut split: Split,
    on_broken: Option<&(dyn Fn(&ReadError) + Sync)>,
    cancel: &AtomicBool,
    out: &SyncSender<Result<NewDocument, IngestError>>,
) -> Seen {
    let mut seen = Seen {
        read: documents.progress(),
        ..Seen::default()
    };
    loop {
        if cancel.load(Ordering::Relaxed) {
            seen.interrupted = true;
            break;
        }
        let next = documents.next();
        seen.read = documents.progress();
        let document = match next {
            Some(Ok(document)) => document,
            // The documents may have a stop flag other than this run's.
            Some(Err(ReadError::Stopped)) => {
                seen.interrupted = true;
                break;
            }
            Some(Err(error)) => {
                if let Some(report) = on_broken {
                    report(&error);
                    seen.broken += 1;
                    continue;
                }
                // If the receiver is gone, another error came first.
                let _ = out.send(Err(error.into()));
                break;
            }
            None => break,
        };
        seen.documents += 1;
        let state = match known.state_of(&document) {
            Ok(state) => state,
            Err(error) => {
                let _ = out.send(Err(error.into()));
                break;
            }
        };
        let shard = split.shard(&document.id, state);
        if let DocumentState::Unchanged(_) = state {
            seen.unchanged += 1;
            continue;
        }
        let Some(shard) = shard else {
            seen.other_shards += 1;
            continue;
        };
        let found = NewDocument {
            document,
            shard,
            replaces: state != DocumentState::New,
            seen,
        };
        if out.send(Ok(found)).is_err() {
            break;
        }
    }
    seen
}
