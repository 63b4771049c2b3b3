//! The sentences of a sample of a corpus's passages.

use ken_corpus::{Corpus, CorpusError, Passage, sentences};

use crate::random::shuffle;
use crate::run::Item;

/// A sentence of a passage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// Unique in the corpus: the passage's id, `/`, and the sentence's number in the passage from 0.
    pub id: String,
    /// The passage that it stands in.
    pub passage_id: String,
    /// The document's title; may be empty.
    pub title: String,
    /// The sentence.
    pub text: String,
}

impl Item for Sentence {
    fn id(&self) -> &str {
        &self.id
    }
}

/// The sentences of `limit` live passages, drawn without replacement by `seed`, or of all, in the
/// order in which they stand in the corpus. With the same seed a smaller sample is part of every
/// larger one.
///
/// # Errors
/// A passage that cannot be read.
pub fn sample_sentences(
    corpus: &Corpus,
    limit: Option<usize>,
    seed: u64,
) -> Result<Vec<Sentence>, CorpusError> {
    let total = corpus.passage_count();
    let drawn = limit.filter(|&limit| limit < total).map(|limit| {
        let mut positions: Vec<usize> = (0..total).collect();
        let mut state = seed;
        shuffle(&mut positions, limit, &mut state);
        positions.truncate(limit);
        positions.sort_unstable();
        positions
    });
    let passages = corpus
        .segments()
        .iter()
        .flat_map(|segment| segment.live().ones().map(move |ordinal| (segment, ordinal)));
    let mut found = Vec::new();
    for (position, (segment, ordinal)) in passages.enumerate() {
        let wanted = drawn
            .as_ref()
            .is_none_or(|drawn| drawn.binary_search(&position).is_ok());
        if wanted {
            found.extend(sentences_of(&segment.passage(ordinal)?));
        }
    }
    Ok(found)
}

fn sentences_of(passage: &Passage) -> impl Iterator<Item = Sentence> {
    let found = sentences(&passage.text).into_iter().enumerate();
    found.map(|(number, text)| Sentence {
        id: format!("{}/{number}", passage.id),
        passage_id: passage.id.to_string(),
        title: passage.title.clone(),
        text: text.to_owned(),
    })
}
