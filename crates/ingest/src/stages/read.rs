//! The first stage: files into the documents that are new or changed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use ken_corpus::{Document, DocumentState, Known};
use ken_documents::{Documents, ReadError, ReadIds, ReadProgress};

use crate::IngestError;
use crate::split::Split;
use crate::sync::{Moves, other_file};

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
    /// The id of the published document with its passages: its own, or the one that it had before it was moved.
    pub(crate) known_as: Option<String>,
    /// The progress when it was read.
    pub(crate) seen: Seen,
}

/// Reads until the end, the first error, cancellation or the end of the next stage. Returns the ids read as well.
pub(crate) fn read(
    mut documents: Documents,
    known: &Known,
    mut split: Split,
    mut moves: Moves,
    on_broken: Option<&(dyn Fn(&ReadError) + Sync)>,
    cancel: &AtomicBool,
    out: &SyncSender<Result<NewDocument, IngestError>>,
) -> (Seen, ReadIds) {
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
        let read = match next {
            None => break,
            // The documents may have a stop flag other than this run's.
            Some(Err(ReadError::Stopped)) => {
                seen.interrupted = true;
                break;
            }
            Some(read) => read.map_err(IngestError::from),
        };
        let related = read.and_then(|document| Ok((state_of(&document, known, &moves)?, document)));
        let (state, document) = match related {
            Ok(related) => related,
            Err(error) => {
                if let (IngestError::Read(error), Some(report)) = (&error, on_broken) {
                    report(error);
                    seen.broken += 1;
                    continue;
                }
                // If the receiver is gone, another error came first.
                let _ = out.send(Err(error));
                break;
            }
        };
        let new = new_document(document, state, &mut split, &mut moves, &mut seen);
        if let Some(new) = new
            && out.send(Ok(new)).is_err()
        {
            break;
        }
    }
    (seen, documents.into_ids())
}

/// Counts a document, and returns it if it is to be ingested.
fn new_document(
    document: Document,
    state: DocumentState,
    split: &mut Split,
    moves: &mut Moves,
    seen: &mut Seen,
) -> Option<NewDocument> {
    seen.documents += 1;
    let shard = split.shard(&document.id, state);
    if let DocumentState::Unchanged(_) = state {
        seen.unchanged += 1;
        return None;
    }
    let Some(shard) = shard else {
        seen.other_shards += 1;
        return None;
    };
    let replaces = state != DocumentState::New;
    let known_as = match replaces {
        true => Some(document.id.clone()),
        false => moves.take(|| document.digest_text()),
    };
    Some(NewDocument {
        document,
        shard,
        replaces,
        known_as,
        seen: *seen,
    })
}

/// How a document relates to the published ones; one that [was moved](Moves::follow) counts as changed.
///
/// # Errors
/// A record that cannot be read, and [`ReadError::OtherFile`].
fn state_of(
    document: &Document,
    known: &Known,
    moves: &Moves,
) -> Result<DocumentState, IngestError> {
    let published = || known.origin_of(&document.id);
    match known.state_of(document)? {
        DocumentState::Unchanged(shard) if moves.follow(document, published)? => {
            Ok(DocumentState::Changed(shard))
        }
        DocumentState::Changed(shard) => match other_file(document, published()?.as_deref()) {
            Some(error) => Err(error.into()),
            None => Ok(DocumentState::Changed(shard)),
        },
        state => Ok(state),
    }
}
