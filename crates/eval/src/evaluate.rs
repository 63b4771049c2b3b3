//! An evaluation: answers each question and scores the answer. `run` has the loop.

use std::ops::ControlFlow;
use std::path::Path;

use ken_answer::{Answer, AnswerError, Pipeline, QuestionPrompt};

use crate::dataset::Question;
use crate::record::Record;
use crate::results::{ResultsFile, RunSettings};
use crate::run::{Outcome, Run, RunError, Work};

/// Answers a batch of questions: an answer or a failure for each, or one failure for all.
pub type AnswerMany<'a> =
    dyn FnMut(&[QuestionPrompt<'_>]) -> Result<Vec<Result<Answer, AnswerError>>, AnswerError> + 'a;

/// Has a pipeline answer, under its policy, those of `questions` that the file does not hold yet; `identity` names
/// what the answers depend on.
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

/// Answers those of `questions` without a record in `results`, and appends each record as soon as it exists. A
/// question that cannot be answered, such as one that is too long, gets a record of failure.
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
            let asked: Vec<QuestionPrompt<'_>> = questions.iter().map(|q| q.prompt()).collect();
            let answered = questions.iter().zip(answer_many(&asked)?);
            let records = answered.map(|(question, answer)| Ok(Record::new(question, answer?)));
            Ok(records.collect())
        },
        failed: &|question, error| Record::failed(question, policy, error),
        is_complete: &|_| true,
    };
    run.keep(questions, results, work)
}
