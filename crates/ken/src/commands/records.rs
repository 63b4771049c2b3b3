//! What the verbs share that leave files of records: how a run is drawn, and how its numbers are shown.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ken_answer::Pipeline;
use ken_setup::Settings;
use ken_study::run::RunRecord;
use ken_study::{
    ExportError, Outcome, Question, Record, ResultsFile, Run, RunError, default_file, evaluate,
    read_questions, sample, with_ending,
};
use serde::Serialize;

use crate::failure::Result;
use crate::output;
use crate::progress::Display;
use crate::session::Session;

/// The questions of a file, or a sample of N.
pub(crate) fn questions(
    path: &Path,
    limit: Option<NonZeroUsize>,
    settings: &Settings,
) -> Result<Vec<Question>> {
    Ok(sampled(read_questions(path)?, limit, settings))
}

/// N of the questions, drawn by the seed, or all.
pub(crate) fn sampled(
    questions: Vec<Question>,
    limit: Option<NonZeroUsize>,
    settings: &Settings,
) -> Vec<Question> {
    match limit {
        Some(limit) => sample(questions, limit.get(), settings.seed),
        None => questions,
    }
}

/// Where results go: to what was named, or to the default.
pub(crate) fn out(named: Option<&PathBuf>, source: &Path, what: &str) -> PathBuf {
    named.map_or_else(|| default_file(source, what), Clone::clone)
}

/// Has the run of `identity` resumed in the file of records `out`, or begun in a new one, and shows
/// how far it is.
///
/// # Errors
/// Those of the file and of the run, or that it was stopped.
pub(crate) fn resumed<L: RunRecord>(
    out: &Path,
    identity: ken_study::RunSettings,
    batch: NonZeroUsize,
    session: &Session<'_>,
    work: impl FnOnce(&mut ResultsFile<L>, Run<'_>) -> Result<Outcome<L>, RunError>,
) -> Result<Vec<L>> {
    let mut file = ResultsFile::open(out, identity)?;
    let outcome = work(&mut file, drawn(batch, None, session))?;
    Ok(outcome.complete(out)?.records)
}

/// A run that draws how far it is: what is done, or how many answers under a policy are right.
pub(crate) fn drawn<'a>(
    batch: NonZeroUsize,
    policy: Option<String>,
    session: &Session<'a>,
) -> Run<'a> {
    let mut display = Display::new();
    Run::new(batch.get(), session.stop, move |step| {
        let label = match &policy {
            Some(policy) => format!("{policy}, {} right", step.exact_matches),
            None => step.task.done().to_owned(),
        };
        display.show_items(&label, step.done, step.total);
    })
}

/// Has the questions answered that have no result yet, and shows how far that is.
pub(crate) fn answers(
    pipeline: &Pipeline,
    questions: &[Question],
    out: &Path,
    identity: ken_study::RunSettings,
    batch: NonZeroUsize,
    session: &Session<'_>,
) -> Result<Outcome<Record>> {
    let mut results = ResultsFile::open(out, identity)?;
    let policy = pipeline.settings.policy.to_string();
    let mut answer_many =
        |questions: &[&str]| pipeline.answer_many(questions, &mut |_, _| ControlFlow::Continue(()));
    let run = drawn(batch, Some(policy.clone()), session);
    let outcome = evaluate(&policy, questions, &mut results, &mut answer_many, run)?;
    Ok(outcome.complete(out)?)
}

/// Writes the table of records, and prints those as JSON or what `show` makes of them.
pub(crate) fn report<L: Serialize>(
    records: &[L],
    out: &Path,
    json: bool,
    write: impl FnOnce(&Path, &[L]) -> Result<(), ExportError>,
    show: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    let table = with_ending(out, "parquet");
    write(&table, records)?;
    match json {
        true => records.iter().try_for_each(output::json),
        false => show(&table),
    }
}
