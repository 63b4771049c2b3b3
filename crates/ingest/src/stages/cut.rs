//! The second stage: documents into the texts of their passages. All counting of tokens is done
//! here, beside the embedding and not between two batches of it.

use std::cell::Cell;
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender};

use ken_corpus::{Document, Known, segment, titled};
use ken_model::embedder::Embedder;

use super::{BATCH_PASSAGES, Found, Seen};
use crate::known_vectors::KnownVectors;
use crate::{Cut, IngestError};

/// A document with the texts of its passages.
pub(crate) struct CutDocument {
    pub(crate) document: Document,
    /// The shard that it belongs to.
    pub(crate) shard: u32,
    /// Whether the document takes the place of one of the same id.
    pub(crate) replaces: bool,
    pub(crate) texts: Vec<String>,
    /// The vector of each text, as far as it is known.
    pub(crate) vectors: Vec<Option<Vec<f32>>>,
    /// How many of them were known before anything was embedded.
    pub(crate) reused: usize,
    /// How many of them are longer than the embedder reads.
    pub(crate) longer: usize,
    /// How far the reading was when it was found.
    pub(crate) seen: Seen,
}

impl CutDocument {
    /// What of a passage is embedded.
    pub(crate) fn embedded_text(&self, text: &str) -> String {
        titled(&self.document.title, text)
    }

    /// The passages that have no vector yet, by position.
    pub(crate) fn missing(&self) -> impl Iterator<Item = usize> + '_ {
        let vectors = self.vectors.iter().enumerate();
        vectors.filter_map(|(position, vector)| vector.is_none().then_some(position))
    }

    /// Takes the vectors of the passages that the published version has too.
    fn take_known(&mut self, known: &mut KnownVectors) -> Result<(), IngestError> {
        let published = known.of_document(&self.document.id)?;
        for (text, vector) in self.texts.iter().zip(&mut self.vectors) {
            let text = titled(&self.document.title, text);
            *vector = published.get(&text).cloned();
            self.reused += usize::from(vector.is_some());
        }
        Ok(())
    }
}

/// Cuts what comes, and hands it on as soon as it makes a batch to embed.
pub(crate) fn cut(
    found: Receiver<Result<Found, IngestError>>,
    cut: Cut,
    embedder: &dyn Embedder,
    known: &Known,
    out: &SyncSender<Result<Vec<CutDocument>, IngestError>>,
) {
    let mut ready = Vec::new();
    let mut passages = 0;
    let mut vectors = KnownVectors::new(known.clone(), embedder.dimensions());
    let mut failed = None;
    for found in found {
        let cut = found.and_then(|found| cut_document(found, cut, embedder, &mut vectors));
        match cut {
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
    known: &mut KnownVectors,
) -> Result<CutDocument, IngestError> {
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
        vectors: vec![None; texts.len()],
        texts: texts.into_iter().map(str::to_owned).collect(),
        document: found.document,
        shard: found.shard,
        replaces: found.replaces,
        reused: 0,
        longer: 0,
        seen: found.seen,
    };
    if let Some(error) = failure.take() {
        return Err(error.into());
    }
    if document.replaces {
        document.take_known(known)?;
    }
    for text in &document.texts {
        document.longer += usize::from(embedder.is_cut(&document.embedded_text(text))?);
    }
    Ok(document)
}
