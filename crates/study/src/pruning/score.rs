//! What each passage is judged by: the mastery that a pruner foretells, chance, or how near it is to
//! one that stays.

use std::sync::atomic::{AtomicBool, Ordering};

use ken_answer::{PassageView, chance};
use ken_corpus::{Corpus, Selection};
use ken_index::{Index, IndexError, RowBuffer};
use ken_model::language::LanguageModel;
use ken_model::same_model;
use ken_route::Head;
use rayon::prelude::*;

use super::error::PruningError;
use super::likeness::by_likeness;
use super::order::{Scored, id_of};
use super::vectors::{PassageVectors, READ_TOGETHER, StoredVectors};

/// Passages that one thread scores in one go.
const CHUNK: usize = 1024;

/// Passages between two looks at whether to stop.
const BATCH: usize = 64 * CHUNK;

/// By what passages are pruned.
#[derive(Clone, Copy)]
pub enum Method<'a> {
    /// The mastery that a pruner foretells.
    Pruner {
        /// The pruner.
        head: &'a Head,
        /// The model that reads passages for it, where it needs one.
        reader: Option<&'a dyn LanguageModel>,
    },
    /// Nothing but what was measured: see [`super::measured_first`].
    Measured,
    /// By lot, the same for one seed.
    Random {
        /// The seed.
        seed: u64,
    },
    /// Of passages that say nearly the same, all but one; by their embeddings.
    NearDuplicates,
}

impl Method<'_> {
    /// As it is called on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pruner { .. } => "pruner",
            Self::Measured => "measured",
            Self::Random { .. } => "random",
            Self::NearDuplicates => "near-duplicates",
        }
    }
}

/// What is scored.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// The corpus, all of its shards, with its index.
    pub index: &'a Index,
    /// The passages that may go.
    pub candidates: &'a Selection,
}

impl Work<'_> {
    pub(super) fn corpus(&self) -> &Corpus {
        self.index.corpus()
    }

    /// The candidates in the order in which they stand in the corpus, all with a score of zero.
    pub(super) fn unscored(&self) -> Vec<Scored> {
        let segments = 0..self.corpus().segments().len();
        let places = segments.flat_map(|segment| {
            let ordinals = self.candidates.ordinals(segment);
            ordinals.map(move |ordinal| Scored {
                segment: segment as u32,
                ordinal: ordinal as u32,
                score: 0.0,
            })
        });
        places.collect()
    }
}

/// Scores every candidate: the larger, the sooner it is to go. `progress` is given how many are done;
/// `None` where `cancel` was raised before the last. Twelve bytes a passage are held, and no vectors.
///
/// # Errors
/// A pruner that takes other vectors, a corpus without candidates, or one that cannot be read.
pub fn scored(
    method: Method<'_>,
    work: Work<'_>,
    progress: &mut dyn FnMut(usize),
    cancel: &AtomicBool,
) -> Result<Option<Vec<Scored>>, PruningError> {
    let all = work.unscored();
    if all.is_empty() {
        return Err(PruningError::NoPassages);
    }
    match method {
        Method::Measured => Ok(Some(unmeasured(all))),
        Method::Pruner { head, reader } => {
            if let Some(view) = PassageView::of(head.input) {
                let model = check_reader(head, reader)?;
                let vectors = PassageVectors::Read { model, view };
                return read(head, &vectors, work.corpus(), all, progress, cancel);
            }
            check(head, work.corpus())?;
            let stored = StoredVectors::open(work.corpus())?;
            let score = |one: &Scored, buffer: &mut RowBuffer| {
                let (segment, ordinal) = (one.segment as usize, one.ordinal as usize);
                let vector = stored.borrow(segment, ordinal, buffer)?;
                Ok(head.apply(vector).map_or(f32::NAN, |number| number as f32))
            };
            in_batches(all, &score, progress, cancel)
        }
        Method::Random { seed } => {
            let score = |one: &Scored, _: &mut RowBuffer| {
                Ok(chance(seed, id_of(work.corpus(), one)?.as_str()) as f32)
            };
            in_batches(all, &score, progress, cancel)
        }
        Method::NearDuplicates => by_likeness(work, all, progress, cancel),
    }
}

/// What no label says anything of is no number, and goes last.
fn unmeasured(mut all: Vec<Scored>) -> Vec<Scored> {
    all.iter_mut().for_each(|one| one.score = f32::NAN);
    all
}

/// Makes sure that the model at hand is the one that read the passages when the pruner was learned.
fn check_reader<'a>(
    head: &Head,
    reader: Option<&'a dyn LanguageModel>,
) -> Result<&'a dyn LanguageModel, PruningError> {
    let expected = head.measured_on.reader.as_deref().unwrap_or_default();
    let received = reader.map_or("none", LanguageModel::fingerprint);
    reader
        .filter(|_| same_model(expected, received))
        .ok_or_else(|| PruningError::OtherReader {
            expected: expected.to_owned(),
            received: received.to_owned(),
        })
}

/// Scores passages that a model has to read, some at a time.
fn read(
    head: &Head,
    vectors: &PassageVectors<'_>,
    corpus: &Corpus,
    mut all: Vec<Scored>,
    progress: &mut dyn FnMut(usize),
    cancel: &AtomicBool,
) -> Result<Option<Vec<Scored>>, PruningError> {
    let mut done = 0;
    for batch in all.chunks_mut(READ_TOGETHER) {
        progress(done);
        let places: Vec<(usize, usize)> = batch
            .iter()
            .map(|one| (one.segment as usize, one.ordinal as usize))
            .collect();
        let found = match vectors.of(corpus, &places) {
            // A model that is stopped from outside fails.
            Err(_) if cancel.load(Ordering::Relaxed) => return Ok(None),
            found => found?,
        };
        if cancel.load(Ordering::Relaxed) {
            return Ok(None);
        }
        for (one, vector) in batch.iter_mut().zip(found) {
            one.score = head.apply(&vector).map_or(f32::NAN, |number| number as f32);
        }
        done += batch.len();
    }
    progress(done);
    Ok(Some(all))
}

/// Makes sure that a pruner takes the vectors that the corpus has.
fn check(head: &Head, corpus: &Corpus) -> Result<(), PruningError> {
    let embedder = corpus.embedder();
    let expected = head.measured_on.embedder.clone().unwrap_or_default();
    if same_model(&expected, &embedder.fingerprint) && head.dimensions() == embedder.dimensions {
        return Ok(());
    }
    Err(PruningError::OtherEmbedder {
        expected,
        received: embedder.fingerprint.clone(),
    })
}

/// Gives every passage its score, many at once.
fn in_batches(
    mut all: Vec<Scored>,
    score: &(dyn Fn(&Scored, &mut RowBuffer) -> Result<f32, IndexError> + Sync),
    progress: &mut dyn FnMut(usize),
    cancel: &AtomicBool,
) -> Result<Option<Vec<Scored>>, PruningError> {
    let mut done = 0;
    for batch in all.chunks_mut(BATCH) {
        progress(done);
        if cancel.load(Ordering::Relaxed) {
            return Ok(None);
        }
        batch.par_chunks_mut(CHUNK).try_for_each(|chunk| {
            let mut buffer = RowBuffer::default();
            for one in chunk {
                one.score = score(one, &mut buffer)?;
            }
            Ok::<(), IndexError>(())
        })?;
        done += batch.len();
    }
    progress(done);
    Ok(Some(all))
}
