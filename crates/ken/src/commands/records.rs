//! The files of records that measuring leaves: where they go, what they depend on, how a run is resumed
//! in them and ends, and how their numbers are shown.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ken_answer::Pipeline;
use ken_setup::Settings;
use ken_study::run::RunRecord;
use ken_study::{
    ExportError, Outcome, Question, Record, ResultsFile, Run, RunError, evaluate, read_questions,
    sample,
};
use serde::Serialize;

use crate::failure::{Failure, Refusal, Result};
use crate::output;
use crate::progress::Display;

/// The endings of files of questions, and of corpora.
const ENDINGS: [&str; 3] = [".jsonl.gz", ".jsonl", ".ken"];

/// The questions of a file, or a sample of so many.
pub(crate) fn questions(
    path: &Path,
    limit: Option<NonZeroUsize>,
    settings: &Settings,
) -> Result<Vec<Question>> {
    Ok(sampled(read_questions(path)?, limit, settings))
}

/// So many of the questions, drawn by the seed, or all.
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

/// Where results go: to what was named, or as [`beside_here`] says.
pub(crate) fn out(named: Option<&PathBuf>, source: &Path, what: &str) -> PathBuf {
    named.map_or_else(|| beside_here(source, what), Clone::clone)
}

/// Where results go if nobody says: into the working directory, named after the file of questions, or
/// the corpus, without its ending, and what was done with it.
fn beside_here(source: &Path, what: &str) -> PathBuf {
    let name = source.file_name().unwrap_or_default().to_string_lossy();
    let stem = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending));
    let stem = stem.unwrap_or(&name);
    PathBuf::from(format!("{stem}.{what}"))
}

/// Where the table of the records goes: beside them, under a name that nothing else has.
fn table_of(out: &Path) -> PathBuf {
    with_ending(out, "parquet")
}

/// A file beside the records, under their name with an ending.
pub(crate) fn with_ending(out: &Path, ending: &str) -> PathBuf {
    let mut beside = out.as_os_str().to_owned();
    beside.push(".");
    beside.push(ending);
    PathBuf::from(beside)
}

/// Has the run of `settings` resumed in the file of records `out`, or begun in a new one, and shows
/// how far it is.
///
/// # Errors
/// Those of the file and of the run, or that it was stopped.
pub(crate) fn resumed<L: RunRecord>(
    out: &Path,
    settings: ken_study::RunSettings,
    batch: NonZeroUsize,
    stop: &AtomicBool,
    work: impl FnOnce(&mut ResultsFile<L>, Run<'_>) -> Result<Outcome<L>, RunError>,
) -> Result<Vec<L>> {
    let mut file = ResultsFile::open(out, settings)?;
    Ok(finished(work(&mut file, shown(batch, stop))?, out)?.records)
}

/// A run that shows how far it is.
pub(crate) fn shown(batch: NonZeroUsize, stop: &AtomicBool) -> Run<'_> {
    let mut display = Display::new();
    Run::new(batch.get(), stop, move |step| {
        display.show_items(step.task.done(), step.done, step.total);
    })
}

/// Has the questions answered that have no result yet, and shows how far that is.
pub(crate) fn answers(
    pipeline: &Pipeline,
    questions: &[Question],
    out: &Path,
    settings: ken_study::RunSettings,
    batch: NonZeroUsize,
    stop: &AtomicBool,
) -> Result<Outcome<Record>> {
    let mut results = ResultsFile::open(out, settings)?;
    let policy = pipeline.settings().policy.to_string();
    let mut answer_many =
        |questions: &[&str]| pipeline.answer_many(questions, &mut |_, _| ControlFlow::Continue(()));
    let mut display = Display::new();
    let run = Run::new(batch.get(), stop, |step| {
        let label = format!("{policy}, {} right", step.exact_matches);
        display.show_items(&label, step.done, step.total);
    });
    Ok(evaluate(
        &policy,
        questions,
        &mut results,
        &mut answer_many,
        run,
    )?)
}

/// What came of a run that was not stopped.
pub(crate) fn finished<L: RunRecord>(outcome: Outcome<L>, out: &Path) -> Result<Outcome<L>> {
    if !outcome.interrupted {
        return Ok(outcome);
    }
    Err(stopped(format!(
        "stopped after {} of {} {}, whose results are in {}",
        outcome.records.len(),
        outcome.total,
        L::TASK.items(),
        out.display()
    )))
}

/// A run that was stopped and can be resumed.
pub(crate) fn stopped(message: String) -> Failure {
    Refusal::new("interrupted", message)
        .hinting("run the same command again to resume")
        .into()
}

/// Writes the table of records, and prints those as JSON or what `show` makes of them.
pub(crate) fn report<L: Serialize>(
    records: &[L],
    out: &Path,
    json: bool,
    write: impl FnOnce(&Path, &[L]) -> Result<(), ExportError>,
    show: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    let table = table_of(out);
    write(&table, records)?;
    match json {
        true => records.iter().try_for_each(output::json),
        false => show(&table),
    }
}

/// A share, or a dash where there is none.
pub(crate) fn share(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_named_after_the_questions() {
        let named = |source: &str| beside_here(Path::new(source), "probe.jsonl");
        assert_eq!(named("sets/nq.jsonl.gz"), Path::new("nq.probe.jsonl"));
        assert_eq!(named("a/nq.dev.jsonl"), Path::new("nq.dev.probe.jsonl"));
        assert_eq!(named("b/nq.test.jsonl"), Path::new("nq.test.probe.jsonl"));
        assert_eq!(named("notes.ken"), Path::new("notes.probe.jsonl"));
        assert_eq!(named("questions"), Path::new("questions.probe.jsonl"));
        let table = table_of(Path::new("nq.probe.jsonl"));
        assert_eq!(table, Path::new("nq.probe.jsonl.parquet"));
    }
}
