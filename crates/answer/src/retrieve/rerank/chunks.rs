//! Cutting the passages found into chunks, each with its characters in its passage. It ranks nothing.

use std::cell::Cell;
use std::ops::Range;

use ken_corpus::{Passage, Segmentation, segment};
use ken_language::{Embedder, ModelError};

use crate::SearchResult;

/// A part of a passage.
pub(super) struct Chunk<'p> {
    pub(super) passage: &'p Passage,
    pub(super) text: &'p str,
    /// The characters of the passage's text that it spans.
    characters: Range<usize>,
}

impl Chunk<'_> {
    pub(super) fn result(&self, score: f32) -> SearchResult {
        SearchResult {
            passage: self.passage.clone(),
            text: self.text.to_owned(),
            chunk: Some(self.characters.clone()),
            score,
            corpus: None,
        }
    }
}

/// The chunks of passages, in the order of the passages and of their texts. A passage that is no
/// longer than a chunk is one. Tokens are those of the embedder.
///
/// # Errors
/// A segmentation by tokens, and an embedder that does not expose them.
pub(super) fn cut<'p>(
    passages: &'p [SearchResult],
    segmentation: Segmentation,
    embedder: &dyn Embedder,
) -> Result<Vec<Chunk<'p>>, ModelError> {
    let failure = Cell::new(None);
    let token_spans = |text: &str| -> Vec<Range<usize>> {
        embedder.token_spans(text).unwrap_or_else(|error| {
            failure.set(Some(error));
            Vec::new()
        })
    };
    let chunks = passages
        .iter()
        .flat_map(|result| {
            let passage = &result.passage;
            let pieces = segment(&passage.text, segmentation, &token_spans);
            let places = characters(&passage.text, &pieces);
            pieces
                .into_iter()
                .zip(places)
                .map(move |(text, characters)| Chunk {
                    passage,
                    text,
                    characters,
                })
        })
        .collect();
    match failure.take() {
        Some(error) => Err(error),
        None => Ok(chunks),
    }
}

/// The characters of `text` that its slices `pieces` span. They have to start in ascending order.
fn characters(text: &str, pieces: &[&str]) -> Vec<Range<usize>> {
    let (mut byte, mut character) = (0, 0);
    pieces
        .iter()
        .map(|piece| {
            let start = piece.as_ptr() as usize - text.as_ptr() as usize;
            character += text[byte..start].chars().count();
            byte = start;
            character..character + piece.chars().count()
        })
        .collect()
}
