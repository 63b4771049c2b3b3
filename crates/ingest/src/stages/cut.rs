//! The second stage: documents into the texts of their passages. All counting of tokens is done
//! here, beside the embedding and not between two batches of it.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use ken_corpus::{Document, Known, segment_unless, titled};
use ken_language::Embedder;

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
    /// What of a passage is embedded. Embedders read the beginning of long texts only, but would
    /// make tokens of all of it.
    pub(crate) fn embedded_text(&self, text: &str) -> String {
        let mut text = titled(&self.document.title, text);
        let beginning = parts(&text, TOKENIZED_BYTES).next().map_or(0, str::len);
        text.truncate(beginning);
        text
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

/// A document is cut into tokens in parts of so many bytes, so that a long one can be stopped at,
/// and its tokens need not be in memory all at once.
const TOKENIZED_BYTES: usize = 1 << 20;

/// Cuts what comes, and hands it on as soon as it makes a batch to embed. Returns whether it was
/// stopped.
pub(crate) fn cut(
    found: Receiver<Result<Found, IngestError>>,
    cut: Cut,
    embedder: &dyn Embedder,
    known: &Known,
    cancel: &AtomicBool,
    out: &SyncSender<Result<Vec<CutDocument>, IngestError>>,
) -> bool {
    let mut ready = Vec::new();
    let mut passages = 0;
    let mut vectors = KnownVectors::new(known.clone(), embedder.dimensions());
    let mut failed = None;
    for found in found {
        let cut = found.and_then(|found| cut_document(found, cut, embedder, &mut vectors, cancel));
        match cut {
            Ok(None) => return true,
            // A document without passages takes memory too.
            Ok(Some(document)) => {
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
                return false;
            }
        }
    }
    // Where nobody listens, another error came first.
    let _ = out.send(Ok(ready));
    if let Some(error) = failed {
        let _ = out.send(Err(error));
    }
    false
}

/// The document in passages; `None` where it was stopped at.
fn cut_document(
    found: Found,
    cut: Cut,
    embedder: &dyn Embedder,
    known: &mut KnownVectors,
    cancel: &AtomicBool,
) -> Result<Option<CutDocument>, IngestError> {
    let stop = || cancel.load(Ordering::Relaxed);
    let failure = Cell::new(None);
    let token_spans = |text: &str| -> Vec<Range<usize>> {
        let mut spans = Vec::new();
        let mut start = 0;
        for part in parts(text, TOKENIZED_BYTES) {
            if stop() {
                break;
            }
            match embedder.token_spans(part) {
                Ok(found) => {
                    let shifted = found.into_iter();
                    spans.extend(shifted.map(|span| span.start + start..span.end + start));
                }
                Err(error) => {
                    failure.set(Some(error));
                    break;
                }
            }
            start += part.len();
        }
        spans
    };
    let text = &found.document.text;
    let texts = segment_unless(text, cut.of(&found.document), &token_spans, &stop);
    if let Some(error) = failure.take() {
        return Err(error.into());
    }
    let Some(texts) = texts else {
        return Ok(None);
    };
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
    if document.replaces {
        document.take_known(known)?;
    }
    for text in &document.texts {
        if stop() {
            return Ok(None);
        }
        document.longer += usize::from(embedder.is_cut(&document.embedded_text(text))?);
    }
    Ok(Some(document))
}

/// The parts of a text, each of at most `bytes`, that end before a space where there is any.
fn parts(text: &str, bytes: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut end = bytes.min(rest.len());
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        if end < rest.len()
            && let Some(space) = rest[..end].rfind(char::is_whitespace)
            && space > 0
        {
            end = space;
        }
        let (part, behind) = rest.split_at(end);
        rest = behind;
        (!part.is_empty()).then_some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_before_spaces_and_cover_the_text() {
        let cut = |text, bytes| parts(text, bytes).collect::<Vec<_>>();
        assert_eq!(cut("one two three", 8), ["one two", " three"]);
        assert_eq!(cut("oneword", 3), ["one", "wor", "d"]);
        assert_eq!(cut("€€", 4), ["€", "€"]);
        assert_eq!(cut(" a", 1), [" ", "a"]);
        assert_eq!(cut("", 4), [""; 0]);
    }
}
