//! Labelling the sentences that have no record yet. The loop itself is in `in_batches`.

use std::sync::atomic::AtomicBool;

use ken_answer::AnswerError;

use super::labelled::MasteryWork;
use super::record::MasteryRecord;
use super::sentences::Sentence;
use crate::in_batches::{Item, Stopped, Work, in_batches};
use crate::results::{ResultsError, ResultsFile};

/// How far labelling is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MasteryProgress {
    /// Sentences with a record, those of an earlier run included.
    pub done: usize,
    /// Sentences in all.
    pub total: usize,
}

/// Where labelling ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Mastered {
    /// The records in the order of the sentences; fewer than the sentences if interrupted.
    pub records: Vec<MasteryRecord>,
    /// Whether it was cancelled before the last sentence.
    pub interrupted: bool,
}

/// Why labelling stopped. All records before it are in the file.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum MasteryError {
    /// Nothing can be labelled any more.
    #[error("cannot label the sentence {id:?}: {source}")]
    #[diagnostic(forward)]
    Label {
        /// The sentence at which that was found out.
        id: String,
        /// Why not.
        source: Box<AnswerError>,
    },
    /// The file holds a record of a sentence of this id with other words.
    #[error("the file of records has another sentence under the id {id:?}: {recorded:?}")]
    #[diagnostic(remedy = "use the corpus of that run, or name a new file by <out>")]
    OtherSentence {
        /// The shared id.
        id: String,
        /// The sentence in the file.
        recorded: String,
    },
    /// A record could not be kept.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

impl From<Stopped> for MasteryError {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Work { id, source } => Self::Label { id, source },
            Stopped::Other { id, recorded } => Self::OtherSentence { id, recorded },
            Stopped::Results(error) => Self::Results(error),
        }
    }
}

/// Labels every one of `sentences` that `results` has no record of yet, `batch` at a time, and keeps
/// each record as soon as there is one. A sentence that itself cannot be worked on, as one that is
/// too long, is kept as failed. `progress` is called once at the start and after each batch; `cancel`
/// is looked at before each, and when one fails: the models may be stopped by the same flag.
///
/// # Errors
/// The first failure that other sentences would meet as well, or the first record that cannot be
/// kept. Calling it again with the same file goes on from there.
pub fn label_mastery(
    work: &MasteryWork<'_>,
    sentences: &[Sentence],
    results: &mut ResultsFile<MasteryRecord>,
    batch: usize,
    progress: &mut dyn FnMut(MasteryProgress),
    cancel: &AtomicBool,
) -> Result<Mastered, MasteryError> {
    let total = sentences.len();
    let all: Vec<&Sentence> = sentences.iter().collect();
    in_batches(
        &all,
        results,
        batch,
        Work {
            batch: &mut |sentences| work.batch(sentences),
            failed: &|sentence, error| MasteryRecord::failed(sentence, error, work.fingerprints()),
        },
        &mut |done| progress(MasteryProgress { done, total }),
        cancel,
    )?;
    let kept = sentences.iter().filter_map(|one| results.get(one.id()));
    let records: Vec<MasteryRecord> = kept.cloned().collect();
    Ok(Mastered {
        interrupted: records.len() < sentences.len(),
        records,
    })
}
