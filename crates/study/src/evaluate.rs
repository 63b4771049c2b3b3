//! The loop of an evaluation: answer each question, score it, keep the result, go on after a stop.
//!
//! How a question is answered is the caller's; nothing is drawn here.

use std::sync::atomic::{AtomicBool, Ordering};

use ken_answer::{Answer, AnswerError};

use crate::dataset::Question;
use crate::record::Record;
use crate::results::{ResultsError, ResultsFile};

/// How far an evaluation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Questions with a result, those of an earlier run included.
    pub done: usize,
    /// Questions in all.
    pub total: usize,
    /// Of `done`, the results that an earlier run had left in the file.
    pub resumed: usize,
    /// Of `done`, the exact matches.
    pub exact_matches: usize,
}

/// Where an evaluation ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The results in the order of the questions; fewer than the questions if interrupted.
    pub records: Vec<Record>,
    /// How many of them an earlier run had left in the file.
    pub resumed: usize,
    /// Whether it was cancelled before the last question.
    pub interrupted: bool,
}

/// Why an evaluation stopped. All results before it are in the file.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum EvaluationError {
    /// Nothing can be answered any more.
    #[error("cannot answer the question {id:?}: {source}")]
    #[diagnostic(forward)]
    Answer {
        /// The question at which that was found out.
        id: String,
        /// Why not.
        source: Box<AnswerError>,
    },
    /// The results file holds an answer to a question of this id with other words or gold answers.
    #[error("the results file has under the id {id:?} {recorded}")]
    #[diagnostic(remedy = "use the question file of that run, or name a new file by <out>")]
    OtherQuestion {
        /// The shared id.
        id: String,
        /// What the results file has.
        recorded: String,
    },
    /// A result could not be kept.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

/// Answers questions: for each its answer, or its own failure; or the failure of all.
pub type AnswerMany<'a> =
    dyn FnMut(&[&str]) -> Result<Vec<Result<Answer, AnswerError>>, AnswerError> + 'a;

/// Answers every one of `questions` that `results` does not hold yet, and keeps
/// each result as soon as there is one: `batch` questions at a time are handed to `answer_many`. A
/// question that itself cannot be answered, as one that is too long, is kept as failed. `progress`
/// is called once at the start and after each batch; `cancel` is looked at before each, and when
/// one fails: what answers may be stopped by the same flag.
///
/// # Errors
/// The first failure that other questions would meet as well, or the first result that cannot be
/// kept, ends the evaluation; calling it again with the same file goes on from there.
pub fn evaluate(
    policy: &str,
    questions: &[Question],
    results: &mut ResultsFile<Record>,
    batch: usize,
    answer_many: &mut AnswerMany<'_>,
    progress: &mut dyn FnMut(Progress),
    cancel: &AtomicBool,
) -> Result<Evaluation, EvaluationError> {
    let mut state = Progress {
        done: 0,
        total: questions.len(),
        resumed: 0,
        exact_matches: 0,
    };
    for record in questions
        .iter()
        .filter_map(|q| results.get(&q.id).map(|r| (q, r)))
    {
        let (question, record) = record;
        if record.question != question.question || record.golden_answers != question.golden_answers
        {
            return Err(EvaluationError::OtherQuestion {
                id: question.id.clone(),
                recorded: question.other_than(&record.question),
            });
        }
        state.done += 1;
        state.resumed += 1;
        state.exact_matches += usize::from(record.em);
    }
    progress(state);

    let mut interrupted = false;
    let open: Vec<&Question> = questions
        .iter()
        .filter(|question| results.get(&question.id).is_none())
        .collect();
    for questions in open.chunks(batch.max(1)) {
        if cancel.load(Ordering::Relaxed) {
            interrupted = true;
            break;
        }
        let texts: Vec<&str> = questions.iter().map(|q| q.question.as_str()).collect();
        let (answers, mut failure) = match answer_many(&texts) {
            Ok(answers) => (answers, None),
            Err(error) => (Vec::new(), Some((questions[0], error))),
        };
        for (question, answer) in questions.iter().zip(answers) {
            let record = match answer {
                Ok(answer) => Record::new(question, answer),
                Err(error) if error.concerns_question() => Record::failed(question, policy, &error),
                Err(error) => {
                    failure.get_or_insert((question, error));
                    continue;
                }
            };
            state.done += 1;
            state.exact_matches += usize::from(record.em);
            results.append(record)?;
        }
        results.sync()?;
        progress(state);
        match failure {
            None => {}
            Some(_) if cancel.load(Ordering::Relaxed) => {
                interrupted = true;
                break;
            }
            Some((question, error)) => {
                return Err(EvaluationError::Answer {
                    id: question.id.clone(),
                    source: Box::new(error),
                });
            }
        }
    }
    let answered = questions.iter().filter_map(|q| results.get(&q.id));
    Ok(Evaluation {
        records: answered.cloned().collect(),
        resumed: state.resumed,
        interrupted,
    })
}
