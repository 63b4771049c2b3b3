//! What the verbs that leave files of records share: how a run's progress is drawn, and how its numbers are shown.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use ken_answer::Policy;
use ken_eval::run::RunRecord;
use ken_eval::{
    Outcome, Question, ResultsFile, Run, RunError, default_file, read_questions, sample,
    with_ending, write_report,
};
use ken_lab::{Table, write_parquet};
use ken_report::Report;
use ken_setup::Settings;
use serde::Serialize;

use crate::failure::Result;
use crate::output;
use crate::progress::begun;
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
pub(crate) fn sampled<Q>(
    questions: Vec<Q>,
    limit: Option<NonZeroUsize>,
    settings: &Settings,
) -> Vec<Q> {
    let limit = limit.map_or(usize::MAX, NonZeroUsize::get);
    sample(questions, limit, settings.seed)
}

/// Where results go: to the named path, or to the default.
pub(crate) fn out(named: Option<&PathBuf>, source: &Path, what: &str) -> PathBuf {
    named.map_or_else(|| default_file(source, what), Clone::clone)
}

/// Resumes the run of `identity` in the file of records `out`, or begins it in a new one, and shows its progress.
///
/// # Errors
/// Those of the file and of the run, or that it was stopped.
pub(crate) fn resumed<L: RunRecord>(
    out: &Path,
    identity: ken_eval::RunSettings,
    batch: NonZeroUsize,
    session: &Session<'_>,
    work: impl FnOnce(&mut ResultsFile<L>, Run<'_>) -> Result<Outcome<L>, RunError>,
) -> Result<Vec<L>> {
    let mut file = ResultsFile::open(out, identity)?;
    let outcome = work(&mut file, drawn(batch, None, session))?;
    Ok(outcome.complete(out)?.records)
}

/// A run that draws its progress: what is done, or how many answers under a policy are right.
pub(crate) fn drawn<'a>(
    batch: NonZeroUsize,
    policy: Option<String>,
    session: &Session<'a>,
) -> Run<'a> {
    let mut display = begun("questions");
    Run::new(batch.get(), session.stop, move |step| match &policy {
        Some(policy) => {
            let right = format!("{} right", step.right);
            display.show_beside(policy, &right, step.done as u64, step.total as u64);
        }
        None => display.show_items(step.task.done(), step.done, step.total),
    })
}

/// The runs of one work under several policies, each drawn by [`drawn`].
pub(crate) fn runs<'a>(
    batch: NonZeroUsize,
    session: &Session<'a>,
) -> impl Fn(Option<Policy>) -> Run<'a> + use<'a> {
    let session = *session;
    move |policy| drawn(batch, policy.map(|policy| policy.to_string()), &session)
}

/// Writes a report into its folder, and shows it, or `data` as JSON; `name` is what people call it.
pub(crate) fn page(
    report: &Report,
    data: &impl Serialize,
    name: &str,
    folder: &Path,
    json: bool,
) -> Result<()> {
    write_report(report, folder)?;
    if json {
        return output::json(data);
    }
    output::report(report)?;
    tell_page(name, folder)
}

/// Says where the page of a report is.
pub(crate) fn tell_page(name: &str, folder: &Path) -> Result<()> {
    let page = folder.join("report.html");
    output::line(format!("{name}: {}", page.display()))
}

/// Writes the table of records, and prints those as JSON or what `show` makes of them.
pub(crate) fn report<L: Serialize + Table>(
    records: &[L],
    out: &Path,
    json: bool,
    show: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    let table = with_ending(out, "parquet");
    write_parquet(&table, records)?;
    match json {
        true => records.iter().try_for_each(output::json),
        false => show(&table),
    }
}
