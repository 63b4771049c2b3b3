//! `ken probe`: what the language model knows, and what evidence changes, over a file of questions.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use ken_answer::{Pipeline, Retriever};
use ken_eval::compare::grouped_by;
use ken_eval::part::Parts;
use ken_eval::{
    Probe, ProbeRecord, ProbeSummary, Question, check_field, probe, probe_report, summarize_probe,
    with_ending,
};
use ken_language::{Embedder, LanguageModel};
use ken_probe::{Grouping, SampleOptions};
use ken_report::Provenance;

use crate::arguments::probe::ProbeArguments;
use crate::commands::parts::{self, PartedWork};
use crate::commands::{provenance, records};
use crate::failure::{Failure, Result};
use crate::output;
use crate::session::Session;

pub(crate) fn run(arguments: &ProbeArguments, session: &Session<'_>) -> Result<()> {
    let questions = records::questions(&arguments.questions, arguments.limit, session.settings)?;
    if let Some(field) = &arguments.by {
        check_field(&questions, field)?;
    }
    let pipeline = session
        .setup()
        .pipeline_for(None, session.settings.corpus.is_some(), &[])?;
    let at_k = at_k(arguments, &pipeline)?;
    let judge = judge(arguments, session)?;
    let judge = judge.as_deref().unwrap_or(pipeline.model.as_ref());
    let own_embedder = embedder(arguments, &pipeline, session)?;
    let embedder = own_embedder
        .as_deref()
        .or(pipeline.retriever().map(Retriever::embedder));
    let out = records::out(arguments.out.as_ref(), &arguments.questions, "probe.jsonl");
    let work = Probe {
        pipeline: &pipeline,
        judge,
        embedder,
        options: SampleOptions {
            samples: arguments.samples.get(),
            temperature: arguments.temperature,
            max_tokens: session.settings.max_tokens(),
        },
        seed: session.settings.seed,
        correctness: arguments.correct,
        grouping: arguments.group,
        eigenscore: arguments.eigenscore,
        at_k: &at_k,
    };
    let settings = work.identity(session.settings.identity(&pipeline));
    let (part, by) = (arguments.part.part, arguments.by.clone());
    let parted = PartedWork::Probe { by };
    let place = parts::place(part, out, questions, &settings, &parted, session)?;
    let (identity, batch) = (settings.clone(), arguments.batch);
    let probed = records::resumed(&place.file(), identity, batch, session, |file, run| {
        probe(&work, &place.items, file, run)
    })?;
    if place.is_told_as_part::<ProbeRecord>(session)? {
        return Ok(());
    }
    let provenance = provenance::of(settings, session.given);
    let by = arguments.by.as_deref();
    report(&probed, &place.items, by, provenance, &place.out, session)
}

/// Joins the parts of a run.
pub(crate) fn join(
    parts: &Parts,
    by: Option<&str>,
    out: &Path,
    session: &Session<'_>,
) -> Result<()> {
    let questions: Vec<Question> = parts.items()?;
    let probed = parts
        .records::<ProbeRecord>(parts::RECORDS, &questions)?
        .write(&questions, out)?;
    let provenance = provenance::of_parts(parts);
    report(&probed, &questions, by, provenance, out, session)
}

/// Writes the page and the table of records, and shows the report.
fn report(
    probed: &[ProbeRecord],
    questions: &[Question],
    by: Option<&str>,
    provenance: Provenance,
    out: &Path,
    session: &Session<'_>,
) -> Result<()> {
    let groups: Vec<(String, ProbeSummary)> = by
        .iter()
        .flat_map(|field| grouped_by(field, questions, probed))
        .map(|(value, records)| (value, summarize_probe(&records)))
        .collect();
    let page = with_ending(out, "html");
    let title = format!("What the model knows: {}", out.display());
    let report = probe_report(&title, probed, &groups).measured_with(provenance);
    ken_storage::replace(&page, report.html().as_bytes())?;
    records::report(probed, out, session.json, |table| {
        output::report(&report)?;
        output::pairs([
            ("per question", out.display().to_string()),
            ("as a table", table.display().to_string()),
            ("as a page", page.display().to_string()),
        ])
    })
}

/// The values of k below that of the settings, with which all questions are answered anyway.
fn at_k(arguments: &ProbeArguments, pipeline: &Pipeline) -> Result<Vec<usize>> {
    let k = pipeline.settings.k;
    let wanted: BTreeSet<usize> = arguments.at_k.iter().map(|value| value.get()).collect();
    match wanted.last() {
        Some(_) if pipeline.retriever().is_none() => Err(Failure::refused(
            "at_k_without_corpus",
            "search results can be left out only where there are some",
            "name a corpus: --corpus DIR, or leave --at-k out",
        )),
        Some(most) if *most > k => Err(Failure::refused(
            "at_k_above_k",
            format!("{most} search results cannot be the best of {k}"),
            format!("set --k to {most} or more"),
        )),
        _ => Ok(wanted.into_iter().filter(|value| *value < k).collect()),
    }
}

/// The model that judges, if it is not the probed one and there is something to judge.
fn judge(
    arguments: &ProbeArguments,
    session: &Session<'_>,
) -> Result<Option<Arc<dyn LanguageModel>>> {
    let judge = arguments
        .judge
        .as_ref()
        .filter(|_| Probe::asks_judge(arguments.correct, arguments.group));
    let opened = judge.map(|reference| session.setup().other_language_model(reference));
    Ok(opened.transpose()?)
}

/// The embedder that groups answers by meaning, if needed and if no corpus brings one.
fn embedder(
    arguments: &ProbeArguments,
    pipeline: &Pipeline,
    session: &Session<'_>,
) -> Result<Option<Box<dyn Embedder>>> {
    let needed = matches!(arguments.group, Grouping::Meaning { .. });
    let opened = (needed && pipeline.retriever().is_none())
        .then(|| session.setup().embedder(&session.settings.embedder));
    Ok(opened.transpose()?)
}
