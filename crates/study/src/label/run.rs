//! The two rounds of labelling: a first text about every question, and then contexts, scores and a
//! label for those that have none yet. Both are kept as they come, so that a run goes on where it was
//! stopped.

use std::sync::atomic::AtomicBool;

use ken_answer::AnswerError;
use ken_probe::{Golden, Obstacle};

use super::contexts::{Labelling, SELF};
use super::demonstrations::Demonstrations;
use super::first::{FirstText, first_texts};
use super::record::SourceRecord;
use crate::dataset::Question;
use crate::in_batches::{Stopped, Work, in_batches, without_record};
use crate::record::Failure;
use crate::results::{ResultsError, ResultsFile};

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelStage {
    /// The model writes a first text about each question.
    FirstTexts,
    /// Contexts are written, found and scored.
    Labels,
}

/// How far labelling is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelProgress {
    /// What is counted.
    pub stage: LabelStage,
    /// Questions with which that is done, those of an earlier run included.
    pub done: usize,
    /// Questions in all.
    pub total: usize,
}

/// Where labelling ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelled {
    /// The records in the order of the questions; fewer than the questions if interrupted.
    pub records: Vec<SourceRecord>,
    /// Whether it was cancelled before the last question.
    pub interrupted: bool,
}

/// Why labelling stopped. All that was done before is in the files.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum LabelError {
    /// Nothing can be labelled any more.
    #[error("cannot label the question {id:?}: {source}")]
    #[diagnostic(forward)]
    Label {
        /// The question at which that was found out.
        id: String,
        /// Why not.
        source: Box<AnswerError>,
    },
    /// The first texts cannot be told apart.
    #[error("cannot compare what the model wrote about the questions: {source}")]
    #[diagnostic(forward)]
    Demonstrate {
        /// Why not.
        source: Box<AnswerError>,
    },
    /// The model does not tell how likely an answer is.
    #[error(
        "sources are told apart by how likely the model holds the golden answer, which this model does not tell"
    )]
    #[diagnostic(
        remedy = "use a model on this machine, or an endpoint that tells the log probabilities of a prompt, as vLLM does"
    )]
    CannotScore,
    /// There is nothing to compare the model with.
    #[error("no corpus is given as a source beside the model itself")]
    #[diagnostic(remedy = "name one by <corpus> DIR")]
    NoCorpus,
    /// Two sources have one name.
    #[error("two sources have the name {name:?}")]
    #[diagnostic(remedy = "name them by <corpus> NAME=DIR, none of them {SELF}")]
    SameName {
        /// The shared name.
        name: String,
    },
    /// A file holds a record of a question of this id with other words, golden answers or choices.
    #[error("the file of records has under the id {id:?} {recorded}")]
    #[diagnostic(remedy = "use the question file of that run, or name a new file by <out>")]
    OtherQuestion {
        /// The shared id.
        id: String,
        /// What the file has.
        recorded: String,
    },
    /// A record could not be kept.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

impl From<Stopped> for LabelError {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Work { id, source } => Self::Label { id, source },
            Stopped::Other { id, recorded } => Self::OtherQuestion { id, recorded },
            Stopped::Results(error) => Self::Results(error),
        }
    }
}

/// Labels every one of `questions` that `results` has no record of yet, `batch` at a time, and keeps
/// each record as soon as there is one; `first` keeps the first texts. A question without a golden
/// answer that says something is kept without a label, and costs nothing; one that itself cannot be
/// labelled, as one that is too long, is kept as failed. `cancel` is looked at before each batch and
/// while texts are written.
///
/// The examples of the second round come from all first texts: records of one file must be of one set
/// of questions.
///
/// # Errors
/// What can be told before anything is paid for: a model that does not score, no corpus, names that
/// do not differ. Then the first failure that other questions would meet as well, or the first record
/// that cannot be kept. Calling it again with the same files goes on from there.
pub fn label_sources(
    labelling: &Labelling<'_>,
    questions: &[Question],
    first: &mut ResultsFile<FirstText>,
    results: &mut ResultsFile<SourceRecord>,
    batch: usize,
    progress: &mut dyn FnMut(LabelProgress),
    cancel: &AtomicBool,
) -> Result<Labelled, LabelError> {
    labelling.check()?;
    let all: Vec<&Question> = questions.iter().collect();
    // Where every question has its record, the first texts have served.
    if !without_record(&all, results)?.is_empty()
        && write_first(labelling, &all, first, batch, progress, cancel)?
    {
        let texts: Vec<&FirstText> = all.iter().filter_map(|q| first.get(&q.id)).collect();
        let demonstrations = Demonstrations::new(
            labelling.model,
            labelling.embedder,
            &texts,
            labelling.contexts,
            labelling.seed,
        )
        .map_err(|source| LabelError::Demonstrate {
            source: Box::new(source),
        })?;
        let work = Work {
            batch: &mut |questions| label(labelling, questions, first, &demonstrations, cancel),
            failed: &|question, error| {
                SourceRecord::failed_with(question, error, labelling.fingerprints())
            },
        };
        let mut done = |done| {
            progress(LabelProgress {
                stage: LabelStage::Labels,
                done,
                total: all.len(),
            });
        };
        in_batches(&all, results, batch, work, &mut done, cancel)?;
    }
    let kept = all.iter().filter_map(|question| results.get(&question.id));
    let records: Vec<SourceRecord> = kept.cloned().collect();
    Ok(Labelled {
        interrupted: records.len() < questions.len(),
        records,
    })
}

impl Labelling<'_> {
    /// Refuses what could only fail after texts were paid for.
    ///
    /// # Errors
    /// A model that does not score, no corpus, names that do not differ.
    pub fn check(&self) -> Result<(), LabelError> {
        if !self.model.capabilities().score {
            return Err(LabelError::CannotScore);
        }
        if self.corpora.is_empty() {
            return Err(LabelError::NoCorpus);
        }
        let mut names = vec![SELF];
        for corpus in self.corpora {
            if names.contains(&corpus.name.as_str()) {
                return Err(LabelError::SameName {
                    name: corpus.name.clone(),
                });
            }
            names.push(&corpus.name);
        }
        Ok(())
    }
}

/// Identifies questions with their golden answers and choices, in their order.
#[must_use]
pub fn fingerprint_of_questions(questions: &[Question]) -> String {
    let mut texts: Vec<&str> = Vec::new();
    for question in questions {
        texts.extend(["question", &question.id, &question.question, "answers"]);
        texts.extend(question.golden_answers.iter().map(String::as_str));
        texts.push("choices");
        texts.extend(question.choices.iter().map(String::as_str));
    }
    ken_model::fingerprint_of_texts(&texts)
}

/// Has a first text written about every question that can be labelled. Returns whether all are there.
fn write_first(
    labelling: &Labelling<'_>,
    questions: &[&Question],
    first: &mut ResultsFile<FirstText>,
    batch: usize,
    progress: &mut dyn FnMut(LabelProgress),
    cancel: &AtomicBool,
) -> Result<bool, LabelError> {
    let questions: Vec<&Question> = questions
        .iter()
        .copied()
        .filter(|question| obstacle(question).is_none())
        .collect();
    let work = Work {
        batch: &mut |questions| first_texts(labelling.model, questions, cancel),
        failed: &FirstText::failed,
    };
    let mut done = |done| {
        progress(LabelProgress {
            stage: LabelStage::FirstTexts,
            done,
            total: questions.len(),
        });
    };
    // One text a question instead of several: as many texts are written at once as later on.
    let batch = batch.saturating_mul(labelling.contexts.max(1));
    Ok(in_batches(
        &questions, first, batch, work, &mut done, cancel,
    )?)
}

/// The records of questions, in their order; only those that can be labelled are worked on.
fn label(
    labelling: &Labelling<'_>,
    questions: &[&Question],
    first: &ResultsFile<FirstText>,
    demonstrations: &Demonstrations<'_>,
    cancel: &AtomicBool,
) -> Result<Vec<Option<SourceRecord>>, AnswerError> {
    let fingerprint = labelling.fingerprints();
    let without: Vec<Option<SourceRecord>> = questions
        .iter()
        .map(|question| {
            let fingerprint = fingerprint.clone();
            if let Some(obstacle) = obstacle(question) {
                return Some(SourceRecord::unlabelled(question, obstacle, fingerprint));
            }
            let error: Failure = first.get(&question.id)?.error.clone()?;
            Some(SourceRecord::failed(question, error, fingerprint))
        })
        .collect();
    let open: Vec<&Question> = questions
        .iter()
        .zip(&without)
        .filter(|(_, without)| without.is_none())
        .map(|(question, _)| *question)
        .collect();
    let mut labelled = match open.as_slice() {
        [] => Vec::new(),
        open => labelling.batch(open, demonstrations, cancel)?,
    }
    .into_iter();
    Ok(without
        .into_iter()
        .map(|without| without.or_else(|| labelled.next().flatten()))
        .collect())
}

fn obstacle(question: &Question) -> Option<Obstacle> {
    let golden = Golden {
        answers: &question.golden_answers,
        choices: &question.choices,
    };
    golden.obstacle()
}
