//! The files of records that measuring leaves: where they go, what they depend on, how they are filled
//! with answers, and how their numbers are shown.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use ken_answer::{Pipeline, Retriever};
use ken_study::{Evaluation, Question, Record, ResultsFile, evaluate};

use crate::config::Settings;
use crate::failure::Refusal;
use crate::progress::{Display, Unit};

/// The endings of files of questions, and of corpora.
const ENDINGS: [&str; 3] = [".jsonl.gz", ".jsonl", ".ken"];

/// Where results go if nobody says: into the working directory, named after the file of questions, or
/// the corpus, without its ending, and what was done with it.
pub(crate) fn beside_here(source: &Path, what: &str) -> PathBuf {
    let name = source.file_name().unwrap_or_default().to_string_lossy();
    let stem = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending));
    let stem = stem.unwrap_or(&name);
    PathBuf::from(format!("{stem}.{what}"))
}

/// Where the table of the records goes: beside them, under a name that nothing else has.
pub(crate) fn table_of(out: &Path) -> PathBuf {
    with_ending(out, "parquet")
}

/// A file beside the records, under their name with an ending.
pub(crate) fn with_ending(out: &Path, ending: &str) -> PathBuf {
    let mut beside = out.as_os_str().to_owned();
    beside.push(".");
    beside.push(ending);
    PathBuf::from(beside)
}

/// Has the questions answered that have no result yet, and shows how far that is.
pub(crate) fn answers(
    pipeline: &Pipeline,
    questions: &[Question],
    results: &mut ResultsFile<Record>,
    batch: usize,
    stop: &AtomicBool,
) -> Result<Evaluation> {
    let policy = pipeline.settings().policy.to_string();
    let mut display = Display::new();
    let mut answer_many =
        |questions: &[&str]| pipeline.answer_many(questions, &mut |_, _| ControlFlow::Continue(()));
    let mut progress = |step: ken_study::Progress| {
        let label = format!("{policy}, {} right", step.exact_matches);
        let (done, total) = (step.done as u64, Some(step.total as u64));
        display.show(&label, Unit::Items, done, total);
    };
    Ok(evaluate(
        &policy,
        questions,
        results,
        batch,
        &mut answer_many,
        &mut progress,
        stop,
    )?)
}

/// All that the results depend on. A results file is resumed under the same only. The corpus
/// counts by what it holds, not by where it lies.
pub(crate) fn run_settings(pipeline: &Pipeline, settings: &Settings) -> ken_study::Settings {
    let answering = pipeline.settings();
    let searched = |retriever: &Retriever| {
        let searched = retriever.back_end();
        format!(
            "generation {} of fingerprint {}",
            searched.generation(),
            searched.fingerprint()
        )
    };
    let corpus = pipeline
        .retriever()
        .map_or_else(|| "none".to_owned(), searched);
    let sources = pipeline.further().iter();
    let sources = sources.map(|(name, retriever)| (format!("source {name}"), searched(retriever)));
    let filters: Vec<String> = settings.filters.iter().map(ToString::to_string).collect();
    let reranking = pipeline
        .retriever()
        .and_then(Retriever::reranking)
        .map(|reranking| ("rerank", reranking.identity()));
    let signal = answering.policy.signal();
    let samples = signal
        .filter(|signal| signal.is_of_samples())
        .map(|_| ("samples", answering.samples.to_string()));
    let decider = signal.and_then(|signal| {
        let model = signal.told_by?;
        let by = pipeline.routing_models().fingerprint(model)?;
        Some((model.setting(), by.to_owned()))
    });
    let pairs = [
        ("policy", answering.policy.to_string()),
        ("model", pipeline.model().fingerprint().to_owned()),
        ("precision", settings.precision.to_string()),
        ("device", settings.device.to_string()),
        ("corpus", corpus),
        ("filters", filters.join(" ")),
        ("mode", answering.mode.to_string()),
        ("k", answering.k.to_string()),
        ("evidence_tokens", answering.evidence_tokens.to_string()),
        ("max_tokens", answering.max_tokens.to_string()),
        ("temperature", settings.temperature.to_string()),
        ("seed", settings.seed.to_string()),
    ];
    pairs
        .into_iter()
        .chain(reranking)
        .chain(answering.verbalize.then(|| ("verbalize", true.to_string())))
        .chain(samples)
        .chain(decider)
        .map(|(name, value)| (name.to_owned(), value))
        .chain(sources)
        .collect()
}

/// A run that was stopped after so many of all questions, or whatever it works on.
pub(crate) fn stopped(done: usize, total: usize, items: &str, out: &Path) -> anyhow::Error {
    let message = format!(
        "stopped after {done} of {total} {items}, whose results are in {}",
        out.display()
    );
    Refusal::new("interrupted", message)
        .hinting("run the same command again to go on")
        .into()
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
