//! The second stage: documents into the texts of their passages. All counting of tokens is done
//! here, beside the embedding and not between two batches of it.

use std::cell::Cell;
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender};

use ken_corpus::{Document, segment};
use ken_model::embedder::{Embedder, EmbedderError};

use super::{BATCH_PASSAGES, Found, Seen};
use crate::{Cut, IngestError};

/// A document with the texts of its passages.
pub(crate) struct CutDocument {
    pub(crate) document: Document,
    /// Whether the document takes the place of one of the same id.
    pub(crate) replaces: bool,
    pub(crate) texts: Vec<String>,
    /// How many of them are longer than the embedder reads.
    pub(crate) longer: usize,
    /// How far the reading was when it was found.
    pub(crate) seen: Seen,
}

impl CutDocument {
    /// What of a passage is embedded: the document's title and the passage's text.
    pub(crate) fn embedded_text(&self, text: &str) -> String {
        let title = &self.document.title;
        if title.is_empty() {
            text.to_owned()
        } else {
            format!("{title}\n{text}")
        }
    }
}

/// Cuts what comes, and hands it on as soon as it makes a batch to embed.
pub(crate) fn cut(
    found: Receiver<Result<Found, IngestError>>,
    cut: Cut,
    embedder: &dyn Embedder,
    out: &SyncSender<Result<Vec<CutDocument>, IngestError>>,
) {
    let mut ready = Vec::new();
    let mut passages = 0;
    let mut failed = None;
    for found in found {
        match found.and_then(|found| Ok(cut_document(found, cut, embedder)?)) {
            // A document without passages takes memory too.
            Ok(document) => {
                passages += document.texts.len().max(1);
                ready.push(document);
            }
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
        if passages >= BATCH_PASSAGES {
            passages = 0;
            if out.send(Ok(std::mem::take(&mut ready))).is_err() {
                return;
            }
        }
    }
    // Where nobody listens, another error came first.
    let _ = out.send(Ok(ready));
    if let Some(error) = failed {
        let _ = out.send(Err(error));
    }
}

fn cut_document(
    found: Found,
    cut: Cut,
    embedder: &dyn Embedder,
) -> Result<CutDocument, EmbedderError> {
    let failure = Cell::new(None);
    let token_spans = |text: &str| -> Vec<Range<usize>> {
        embedder.token_spans(text).unwrap_or_else(|error| {
            failure.set(Some(error));
            Vec::new()
        })
    };
    let text = &found.document.text;
    let texts = segment(text, cut.of(&found.document), &token_spans);
    let mut document = CutDocument {
        texts: texts.into_iter().map(str::to_owned).collect(),
        document: found.document,
        replaces: found.replaces,
        longer: 0,
        seen: found.seen,
    };
    if let Some(error) = failure.take() {
        return Err(error);
    }
    for text in &document.texts {
        document.longer += usize::from(embedder.is_cut(&document.embedded_text(text))?);
    }
    Ok(document)
}
