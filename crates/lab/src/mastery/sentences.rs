//! The sentences of a sample of a corpus's passages.

use ken_answer::{AnswerError, BackEnd};
use ken_corpus::{Corpus, CorpusError, Passage, sentences};
use ken_eval::dataset::sample;
use ken_eval::run::Item;
use ken_index::IndexError;
use serde::{Deserialize, Serialize};

/// A sentence of a passage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sentence {
    /// Unique in the corpus: the passage's id, `/`, and the sentence's number in the passage from 0.
    pub id: String,
    /// Its passage.
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

/// The sentences of `limit` random live passages (of all if `None`), drawn without replacement by `seed`, in the
/// order of the corpus; in Milvus, in that of a hash of their ids. With the same seed a smaller sample is part of every
/// larger one.
///
/// # Errors
/// A passage that cannot be read, a server that fails, a corpus behind a search service.
pub fn sample_sentences(
    corpus: &BackEnd,
    limit: Option<usize>,
    seed: u64,
) -> Result<Vec<Sentence>, AnswerError> {
    let mut all = Vec::new();
    let mut read = |passage: Passage| all.extend(sentences_of(&passage));
    match (corpus, corpus.corpus()) {
        (BackEnd::Milvus(collection), _) => collection.sample(limit, seed, &mut read)?,
        (_, Some(corpus)) => {
            sample_passages(corpus, limit, seed, &mut read).map_err(IndexError::from)?;
        }
        (_, None) => {
            return Err(AnswerError::NotListed {
                path: corpus.place(),
            });
        }
    }
    Ok(all)
}

fn sample_passages(
    corpus: &Corpus,
    limit: Option<usize>,
    seed: u64,
    read: &mut dyn FnMut(Passage),
) -> Result<(), CorpusError> {
    let segments = corpus.segments().iter();
    let passages =
        segments.flat_map(|segment| segment.live().ones().map(move |ordinal| (segment, ordinal)));
    for (segment, ordinal) in sample(passages.collect(), limit.unwrap_or(usize::MAX), seed) {
        read(segment.passage(ordinal)?);
    }
    Ok(())
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
