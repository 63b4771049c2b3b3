//! The score of each passage: the mastery that a pruner predicts, a random number, or the similarity to a passage
//! that remains.

use std::sync::atomic::AtomicBool;

use ken_answer::{PassageFeatures, chance, passage_features};
use ken_corpus::{Corpus, EmbedderIdentity};
use ken_eval::run::in_memory;
use ken_index::{IndexError, RowBuffer};
use ken_language::LanguageModel;
use ken_policy::Head;
use rayon::prelude::*;
use serde_json::{Map, Value};

use super::error::PruningError;
use super::near_duplicates::by_similarity;
use super::order::{Scored, Work, id_of};
use super::vectors::{READ_TOGETHER, StoredVectors};

/// Fewest passages per parallel task.
const CHUNK: usize = 1024;

/// Passages between checks for cancellation.
const BATCH: usize = 64 * CHUNK;

/// The method of pruning.
#[derive(Clone, Copy)]
pub enum Method<'a> {
    /// The mastery that a pruner predicts.
    Pruner {
        /// The pruner.
        head: &'a Head,
        /// The model that reads passages for it, if it needs one.
        reader: Option<&'a dyn LanguageModel>,
    },
    /// Measured mastery alone; passages without a label come last and are not pruned.
    Measured,
    /// The scores that the corpus keeps under a name; passages without one come last and are not pruned.
    Kept {
        /// The name.
        name: &'a str,
    },
    /// Random, determined by the seed.
    Random {
        /// The seed.
        seed: u64,
    },
    /// All but one of passages that say nearly the same, judged by their embeddings.
    NearDuplicates,
}

impl Method<'_> {
    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pruner { .. } => "pruner",
            Self::Measured => "measured",
            Self::Kept { .. } => "kept",
            Self::Random { .. } => "random",
            Self::NearDuplicates => "near-duplicates",
        }
    }
}

/// Scores every candidate; higher scores are pruned sooner. `progress` receives how many are done, and the total.
/// Returns `None` if `cancel` was set before the last. Holds 16 bytes per passage in memory, and no vectors.
///
/// # Errors
/// A pruner that takes other vectors, a corpus without candidates or one that cannot be read.
pub fn scored(
    method: Method<'_>,
    work: Work<'_>,
    progress: &mut dyn FnMut(usize, usize),
    cancel: &AtomicBool,
) -> Result<Option<Vec<Scored>>, PruningError> {
    let all = work.unscored();
    if all.is_empty() {
        return Err(PruningError::NoPassages);
    }
    match method {
        // A passage without a label has the score NaN, and is pruned last.
        Method::Measured => Ok(Some(with_scores(all, std::iter::repeat(f32::NAN)))),
        Method::Kept { name } => {
            let kept_scores = work.corpus().info().scores;
            match kept_scores.contains(name) {
                true => Ok(Some(kept(name, work.corpus(), all))),
                false => Err(PruningError::UnknownScore {
                    name: name.to_owned(),
                    kept: Vec::from_iter(kept_scores),
                }),
            }
        }
        Method::Pruner { head, reader } => {
            if let Some(view) = PassageFeatures::of(head.input) {
                let model = check_reader(head, reader)?;
                return read(head, (model, view), work.corpus(), all, progress, cancel);
            }
            check_embedder(head, work.corpus().embedder())?;
            let stored = StoredVectors::open(work.corpus())?;
            let score = |passage: &Scored, buffer: &mut RowBuffer| {
                let (segment, ordinal) = (passage.segment as usize, passage.ordinal as usize);
                Ok(applied(head, stored.borrow(segment, ordinal, buffer)?))
            };
            in_batches(all, &score, progress, cancel)
        }
        Method::Random { seed } => {
            let score = |passage: &Scored, _: &mut RowBuffer| {
                Ok(chance(seed, id_of(work.corpus(), passage)?.as_str()) as f32)
            };
            in_batches(all, &score, progress, cancel)
        }
        Method::NearDuplicates => by_similarity(work, all, progress, cancel),
    }
}

/// A passage without a score under the name has the score NaN.
fn kept(name: &str, corpus: &Corpus, mut all: Vec<Scored>) -> Vec<Scored> {
    for passage in &mut all {
        let mut scores = Map::new();
        let segment = &corpus.segments()[passage.segment as usize];
        segment.add_scores(passage.ordinal as usize, &mut scores);
        let score = scores.get(name).and_then(Value::as_f64);
        passage.score = score.map_or(f32::NAN, |score| score as f32);
    }
    all
}

/// Checks that this model read the passages when the pruner was trained.
pub(super) fn check_reader<'a>(
    head: &Head,
    reader: Option<&'a dyn LanguageModel>,
) -> Result<&'a dyn LanguageModel, PruningError> {
    let expected = head.measured_on.reader.as_deref().unwrap_or_default();
    let received = reader.map_or("none", LanguageModel::fingerprint);
    reader
        .filter(|_| expected == received)
        .ok_or_else(|| PruningError::OtherReader {
            expected: expected.to_owned(),
            received: received.to_owned(),
        })
}

/// Scores passages that a model has to read, in batches.
fn read(
    head: &Head,
    (model, view): (&dyn LanguageModel, PassageFeatures),
    corpus: &Corpus,
    all: Vec<Scored>,
    progress: &mut dyn FnMut(usize, usize),
    cancel: &AtomicBool,
) -> Result<Option<Vec<Scored>>, PruningError> {
    let scores = in_memory(&all, READ_TOGETHER, progress, cancel, |batch| {
        let texts = batch.iter().map(|passage| {
            let segment = &corpus.segments()[passage.segment as usize];
            Ok(segment.passage(passage.ordinal as usize)?.text)
        });
        let texts: Vec<String> = texts.collect::<Result<_, PruningError>>()?;
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        applied_to_texts(head, (model, view), &texts)
    })?;
    Ok(scores.map(|scores| with_scores(all, scores)))
}

/// What a pruner predicts of texts that a model reads.
pub(super) fn applied_to_texts(
    head: &Head,
    (model, view): (&dyn LanguageModel, PassageFeatures),
    texts: &[&str],
) -> Result<Vec<f32>, PruningError> {
    let vectors = passage_features(model, view, texts)?;
    Ok(vectors.iter().map(|vector| applied(head, vector)).collect())
}

/// What a pruner predicts of a vector; NaN if it cannot.
#[must_use]
pub fn applied(head: &Head, vector: &[f32]) -> f32 {
    head.apply(vector).map_or(f32::NAN, |number| number as f32)
}

fn with_scores(mut all: Vec<Scored>, scores: impl IntoIterator<Item = f32>) -> Vec<Scored> {
    for (passage, score) in all.iter_mut().zip(scores) {
        passage.score = score;
    }
    all
}

/// Checks that a pruner takes the vectors that a corpus has.
///
/// # Errors
/// [`PruningError::OtherPruner`].
pub fn check_embedder(head: &Head, embedder: &EmbedderIdentity) -> Result<(), PruningError> {
    let expected = head.measured_on.embedder.clone().unwrap_or_default();
    if expected == embedder.fingerprint && head.dimensions() == embedder.dimensions {
        return Ok(());
    }
    Err(PruningError::OtherPruner {
        expected,
        received: embedder.fingerprint.clone(),
    })
}

/// Scores all passages in parallel.
fn in_batches(
    all: Vec<Scored>,
    score: &(dyn Fn(&Scored, &mut RowBuffer) -> Result<f32, IndexError> + Sync),
    progress: &mut dyn FnMut(usize, usize),
    cancel: &AtomicBool,
) -> Result<Option<Vec<Scored>>, PruningError> {
    let scores = in_memory(&all, BATCH, progress, cancel, |batch| {
        let passages = batch.par_iter().with_min_len(CHUNK);
        let scores =
            passages.map_init(RowBuffer::default, |buffer, passage| score(passage, buffer));
        scores.collect::<Result<Vec<f32>, IndexError>>()
    })?;
    Ok(scores.map(|scores| with_scores(all, scores)))
}
