//! Answering the questions of one cell: the first ones one at a time, so that their times are those of
//! single questions, and the rest in batches.

use std::path::Path;

use ken_answer::Pipeline;

use crate::dataset::Question;
use crate::evaluate::evaluate_pipeline;
use crate::record::Record;
use crate::results::RunSettings;
use crate::run::{Run, RunError};

/// Has a pipeline answer every one of `questions` that the file of the cell does not hold yet, the first
/// `timed` one at a time. `run` begins a run over so many at once.
///
/// # Errors
/// Those of an evaluation.
pub fn answer_cell<'r>(
    pipeline: &Pipeline,
    questions: &[Question],
    timed: usize,
    file: &Path,
    identity: &RunSettings,
    run: &dyn Fn(Option<usize>) -> Run<'r>,
) -> Result<Vec<Record>, RunError> {
    let alone = questions.get(..timed).unwrap_or(questions);
    evaluate_pipeline(pipeline, alone, file, identity.clone(), run(Some(1)))?;
    Ok(evaluate_pipeline(pipeline, questions, file, identity.clone(), run(None))?.records)
}
