//! The first stage: files into the documents that are new or changed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use ken_corpus::{Document, DocumentState, Known};
use ken_documents::{Documents, ReadError, ReadProgress};

use crate::IngestError;
use crate::split::Split;

/// How far the reading is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    /// Bytes of the files.
    pub(crate) read: ReadProgress,
    /// Documents looked at.
    pub(crate) documents: usize,
    /// Those of them that are published as they are.
    pub(crate) unchanged: usize,
    /// Documents that could not be read and were left out.
    pub(crate) broken: usize,
    /// Those that belong into shards that are not taken in.
    pub(crate) other_shards: usize,
    /// Whether the reading was broken off.
    pub(crate) interrupted: bool,
}

/// A document that is to be taken in.
pub(crate) struct Found {
    pub(crate) document: Document,
    /// The shard that it belongs to.
    pub(crate) shard: u32,
    /// Whether the document takes the place of one of the same id.
    pub(crate) replaces: bool,
    /// How far the reading was when it was found.
    pub(crate) seen: Seen,
}

/// Reads until the end, the first error, a stop or the end of the next stage.
pub(crate) fn read(
    mut documents: Documents,
    known: &Known,
    mut split: Split,
    on_broken: Option<&(dyn Fn(&ReadError) + Sync)>,
    cancel: &AtomicBool,
    out: &SyncSender<Result<Found, IngestError>>,
) -> Seen {
    let mut seen = Seen {
        read: documents.progress(),
        documents: 0,
        unchanged: 0,
        broken: 0,
        other_shards: 0,
        interrupted: false,
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
            // The documents may be read under another flag than this run's.
            Some(Err(ReadError::Stopped)) => {
                seen.interrupted = true;
                break;
            }
            Some(Err(error)) => {
                if let Some(tell) = on_broken {
                    tell(&error);
                    seen.broken += 1;
                    continue;
                }
                // Where nobody listens, another error came first.
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
        let found = Found {
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
