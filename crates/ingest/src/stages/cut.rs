//! The second stage: documents into the texts of their passages. All tokens are counted here, while
//! the next stage embeds.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use ken_corpus::{Document, Known, Locator, Piece, Segmentation, halve, segment_unless, titled};
use ken_language::{Embedder, ModelError, Role};

use super::{BATCH_PASSAGES, NewDocument};
use crate::known_vectors::KnownVectors;
use crate::{Cut, IngestError};

/// A document with the pieces that become its passages.
pub(crate) struct CutDocument {
    pub(crate) source: NewDocument,
    pub(crate) pieces: Vec<Piece>,
    /// The vector of each piece, if known.
    pub(crate) vectors: Vec<Option<Vec<f32>>>,
    /// How many vectors were known before embedding.
    pub(crate) reused: usize,
    /// How many passages are longer than the embedder's input.
    pub(crate) longer: usize,
}

impl CutDocument {
    /// A piece's text with its titles.
    fn titled(&self, piece: &Piece) -> String {
        let title = piece.location.titled(&self.source.document.title);
        titled(&title, &piece.text)
    }

    /// The text that is embedded for a piece. Embedders truncate long texts, but would tokenize
    /// all of them.
    pub(crate) fn embedded_text(&self, piece: &Piece) -> String {
        let mut text = self.titled(piece);
        let truncated = parts(&text, TOKENIZED_BYTES).next().map_or(0, str::len);
        text.truncate(truncated);
        text
    }

    /// The positions of the passages without a vector.
    pub(crate) fn missing(&self) -> impl Iterator<Item = usize> + '_ {
        let vectors = self.vectors.iter().enumerate();
        vectors.filter_map(|(position, vector)| vector.is_none().then_some(position))
    }

    /// Reuses the vectors of passages that the published version has too.
    fn take_known(&mut self, known: &mut KnownVectors) -> Result<(), IngestError> {
        let Some(id) = &self.source.known_as else {
            return Ok(());
        };
        let published = known.of_document(id)?;
        for index in 0..self.pieces.len() {
            let text = self.titled(&self.pieces[index]);
            self.vectors[index] = published.get(&text).cloned();
            self.reused += usize::from(self.vectors[index].is_some());
        }
        Ok(())
    }
}

/// Documents are tokenized in parts of this many bytes, so that a long one can be interrupted, and
/// its tokens need not all be in memory.
const TOKENIZED_BYTES: usize = 1 << 20;

/// Cuts documents, and passes them on once they make a batch to embed. Returns whether it was
/// stopped.
pub(crate) fn cut(
    sources: Receiver<Result<NewDocument, IngestError>>,
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
    for source in sources {
        let document =
            source.and_then(|source| cut_document(source, cut, embedder, &mut vectors, cancel));
        match document {
            Ok(None) => return true,
            // A document without passages also takes memory.
            Ok(Some(document)) => {
                passages += document.pieces.len().max(1);
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
    // If the receiver is gone, another error came first.
    let _ = out.send(Ok(ready));
    if let Some(error) = failed {
        let _ = out.send(Err(error));
    }
    false
}

/// Cuts a document into passages; `None` if it was stopped.
fn cut_document(
    source: NewDocument,
    cut: Cut,
    embedder: &dyn Embedder,
    known: &mut KnownVectors,
    cancel: &AtomicBool,
) -> Result<Option<CutDocument>, IngestError> {
    let stop = || cancel.load(Ordering::Relaxed);
    let document = &source.document;
    let mut segmentation = cut.of(document);
    if segmentation == Segmentation::Whole
        && cut.cuts_long()
        && is_long(&document.text, &document.title, embedder)?
    {
        segmentation = Cut::PARTS;
    }
    let failure = Cell::new(None);
    let token_spans = |text: &str| {
        token_spans(text, embedder, &stop).unwrap_or_else(|error| {
            failure.set(Some(error));
            Vec::new()
        })
    };
    let texts = segment_unless(&document.text, segmentation, &token_spans, &stop);
    if let Some(error) = failure.take() {
        return Err(error.into());
    }
    let Some(mut texts) = texts else {
        return Ok(None);
    };
    let slices = Slices::of(document, segmentation);
    if cut.cuts_long() {
        match cut_long(texts, &|slice| slices.is_long(slice, embedder), &stop)? {
            Some(short) => texts = short,
            None => return Ok(None),
        }
    }
    let pieces: Vec<Piece> = texts.into_iter().map(|slice| slices.piece(slice)).collect();
    let mut document = CutDocument {
        vectors: vec![None; pieces.len()],
        pieces,
        reused: 0,
        longer: 0,
        source,
    };
    document.take_known(known)?;
    // Otherwise every passage was cut until it fits.
    if !cut.cuts_long() {
        for piece in &document.pieces {
            if stop() {
                return Ok(None);
            }
            let text = document.embedded_text(piece);
            document.longer += usize::from(embedder.is_cut(&text, Role::Passage)?);
        }
    }
    Ok(Some(document))
}

/// The byte range of each token of a text, or of a prefix if it was stopped.
fn token_spans(
    text: &str,
    embedder: &dyn Embedder,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<Range<usize>>, ModelError> {
    let mut spans = Vec::new();
    let mut start = 0;
    for part in parts(text, TOKENIZED_BYTES).take_while(|_| !stop()) {
        let tokens = embedder.token_spans(part)?.into_iter();
        spans.extend(tokens.map(|span| span.start + start..span.end + start));
        start += part.len();
    }
    Ok(spans)
}

/// Turns slices of a document's text into passages.
struct Slices<'d> {
    document: &'d Document,
    locator: Locator<'d>,
    /// Whether rows repeat the header of their table: if passages are not windows of a given size.
    with_header: bool,
}

impl<'d> Slices<'d> {
    fn of(document: &'d Document, segmentation: Segmentation) -> Self {
        Self {
            document,
            locator: Locator::new(&document.title, &document.text, &document.outline),
            with_header: matches!(segmentation, Segmentation::Sentences { .. }),
        }
    }

    /// The passage for a slice.
    fn piece(&self, slice: &str) -> Piece {
        let start = slice.as_ptr() as usize - self.document.text.as_ptr() as usize;
        let header = self
            .with_header
            .then(|| self.locator.header_over(start))
            .flatten();
        Piece {
            text: match header {
                Some(header) => format!("{header}\n{slice}"),
                None => slice.to_owned(),
            },
            location: self.locator.locate(start..start + slice.len()),
        }
    }

    /// Whether the passage for a slice is too long.
    fn is_long(&self, slice: &str, embedder: &dyn Embedder) -> Result<bool, IngestError> {
        let piece = self.piece(slice);
        let title = piece.location.titled(&self.document.title);
        is_long(&piece.text, &title, embedder)
    }
}

/// Halves texts until none is too long. `None` if it was stopped.
fn cut_long<'t>(
    texts: Vec<&'t str>,
    is_long: &dyn Fn(&str) -> Result<bool, IngestError>,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Vec<&'t str>>, IngestError> {
    let mut cut = Vec::with_capacity(texts.len());
    let mut open: Vec<&str> = Vec::new();
    for text in texts {
        open.push(text);
        while let Some(text) = open.pop() {
            if stop() {
                return Ok(None);
            }
            match if is_long(text)? { halve(text) } else { None } {
                Some((first, second)) => open.extend([second.trim(), first.trim()]),
                None => cut.extend((!text.is_empty()).then_some(text)),
            }
        }
    }
    Ok(Some(cut))
}

/// Whether a passage is too long for this embedder, or, by the length of its words, for any.
fn is_long(text: &str, title: &str, embedder: &dyn Embedder) -> Result<bool, IngestError> {
    /// The most characters of passages in scripts without spaces, and of text that is not language.
    const MOST_CHARACTERS: usize = 2000;
    /// Characters per word; languages with spaces have half as many on average.
    const LONG_WORDS: usize = 12;
    let characters = text.chars().take(TOKENIZED_BYTES).count();
    let words = text.split_whitespace().count();
    if characters > MOST_CHARACTERS && characters > LONG_WORDS * words {
        return Ok(true);
    }
    // A text this long is cut in any case, and need not be tokenized first.
    if text.len() >= TOKENIZED_BYTES {
        return Ok(true);
    }
    // A title that fills the embedder by itself is no reason to cut the text.
    let titled = titled(title, text);
    Ok(embedder.is_cut(&titled, Role::Passage)?
        && (title.is_empty()
            || embedder.is_cut(text, Role::Passage)?
            || !embedder.is_cut(title, Role::Passage)?))
}

/// The parts of a text, each of at most `bytes`, split before spaces if there are any.
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
        let (part, after) = rest.split_at(end);
        rest = after;
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
