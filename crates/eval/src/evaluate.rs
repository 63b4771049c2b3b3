//! An evaluation: each question answered, and the answer scored. The loop is in `run`.

use std::ops::ControlFlow;
use std::path::Path;

use ken_answer::{Answer, AnswerError, Pipeline, QuestionPrompt};

use crate::dataset::Question;
use crate::record::Record;
use crate::results::{ResultsFile, RunSettings};
use crate::run::{Outcome, Run, RunError, Work};

/// Answers questions: for each its answer, or its own failure; or the failure of all.
pub type AnswerMany<'a> =
    dyn FnMut(&[QuestionPrompt<'_>]) -> Result<Vec<Result<Answer, AnswerError>>, AnswerError> + 'a;

/// Has a pipeline answer, under its policy, every one of `questions` that the file of the run of
/// `identity` does not hold yet.
///
/// # Errors
/// A file that cannot be used, those of a [`Run`], and [`RunError::Stopped`].
pub fn evaluate_pipeline(
    pipeline: &Pipeline,
    questions: &[Question],
    file: &Path,
    identity: RunSettings,
    run: Run<'_>,
) -> Result<Outcome<Record>, RunError> {
    let policy = pipeline.settings.policy.to_string();
    let mut results = ResultsFile::open(file, identity)?;
    let mut answer = |questions: &[QuestionPrompt<'_>]| {
        pipeline.answer_many(questions, &mut |_, _| ControlFlow::Continue(()))
    };
    evaluate(&policy, questions, &mut results, &mut answer, run)?.complete(file)
}

/// Answers every one of `questions` that `results` does not hold yet, and keeps each result as soon as
/// there is one. A question that itself cannot be answered, as one that is too long, is kept as failed.
///
/// # Errors
/// Those of a [`Run`].
pub fn evaluate(
    policy: &str,
    questions: &[Question],
    results: &mut ResultsFile<Record>,
    answer_many: &mut AnswerMany<'_>,
    mut run: Run<'_>,
) -> Result<Outcome<Record>, RunError> {
    let work = Work {
        batch: &mut |questions: &[&Question]| {
            let asked: Vec<QuestionPrompt<'_>> = questions.iter().map(|one| one.prompt()).collect();
            let answered = questions.iter().zip(answer_many(&asked)?);
            let records = answered.map(|(question, answer)| Ok(Record::new(question, answer?)));
            Ok(records.collect())
        },
        failed: &|question, error| Record::failed(question, policy, error),
        is_complete: &|_| true,
    };
    run.keep(questions, results, work)
}
