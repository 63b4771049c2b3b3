//! `ken eval`: a policy measured over a file of questions.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use ken_answer::{Pipeline, Retriever};
use ken_study::{ResultsFile, Summary, evaluate, read_questions, sample, summarize};

use crate::arguments::EvalArguments;
use crate::commands::open;
use crate::config::Settings;
use crate::failure::Refusal;
use crate::output;
use crate::progress::{Display, Unit};

/// Runs `ken eval`.
pub(crate) fn run(
    arguments: &EvalArguments,
    settings: &Settings,
    json: bool,
    stop: &AtomicBool,
) -> Result<()> {
    let mut questions = read_questions(&arguments.questions)?;
    if let Some(limit) = arguments.limit {
        questions = sample(questions, limit.get(), settings.seed);
    }
    let pipeline = open::pipeline(settings, stop)?;
    let policy = settings.policy.to_string();
    let out = match &arguments.out {
        Some(path) => path.clone(),
        None => beside_here(&arguments.questions, &policy),
    };
    let mut results = ResultsFile::open(&out, run_settings(&pipeline, settings))?;
    let evaluation = {
        let mut display = Display::new();
        let mut answer_many = |questions: &[&str]| {
            pipeline.answer_many(questions, &mut |_, _| ControlFlow::Continue(()))
        };
        let mut progress = |step: ken_study::Progress| {
            let label = format!("{policy}, {} right", step.exact_matches);
            display.show(
                &label,
                Unit::Items,
                step.done as u64,
                Some(step.total as u64),
            );
        };
        evaluate(
            &policy,
            &questions,
            &mut results,
            arguments.batch.get(),
            &mut answer_many,
            &mut progress,
            stop,
        )?
    };
    if evaluation.interrupted {
        let message = format!(
            "stopped after {} of {} questions, whose results are in {}",
            evaluation.records.len(),
            questions.len(),
            out.display()
        );
        return Err(Refusal::new("interrupted", message)
            .hinting("run the same command again to go on")
            .into());
    }
    let summary = summarize(&policy, &evaluation.records);
    if json {
        output::json(&summary)
    } else {
        show(&summary, &out)
    }
}

/// Where results go if nobody says: into the working directory, named after questions and policy.
fn beside_here(questions: &Path, policy: &str) -> PathBuf {
    let name = questions.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().unwrap_or_default();
    PathBuf::from(format!("{stem}.{policy}.results.jsonl"))
}

/// All that the results depend on. A results file is resumed under the same only. The corpus
/// counts by what it holds, not by where it lies.
pub(crate) fn run_settings(pipeline: &Pipeline, settings: &Settings) -> ken_study::Settings {
    let answering = pipeline.settings();
    let corpus = pipeline.retriever().map_or_else(
        || "none".to_owned(),
        |retriever| {
            let searched = retriever.back_end();
            format!(
                "generation {} of fingerprint {}",
                searched.generation(),
                searched.fingerprint()
            )
        },
    );
    let filters: Vec<String> = settings.filters.iter().map(ToString::to_string).collect();
    let reranking = pipeline
        .retriever()
        .and_then(Retriever::reranking)
        .map(|reranking| ("rerank", reranking.identity()));
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
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn show(summary: &Summary, out: &Path) -> Result<()> {
    let share = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.3}"));
    let ms = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.0} ms"));
    let interval = summary.em_interval.map_or_else(String::new, |[low, high]| {
        format!(" (95%: {low:.3} to {high:.3})")
    });
    let mut rows = vec![
        ("questions", summary.n.to_string()),
        ("failed", summary.failed.to_string()),
        ("policy", summary.policy.clone()),
        ("exact match", share(summary.em) + &interval),
        ("F1", share(summary.f1)),
        ("contains", share(summary.contains)),
        ("retrieval ratio", share(summary.retrieval_ratio)),
        ("gold coverage", share(summary.gold_coverage)),
        ("gold recall", share(summary.gold_recall)),
        ("gold first", share(summary.gold_first)),
        (
            "tokens",
            format!(
                "{} read, {} written",
                summary.tokens.prompt.total, summary.tokens.completion.total
            ),
        ),
        ("latency p50", ms(summary.latency_ms.p50)),
        ("latency p95", ms(summary.latency_ms.p95)),
    ];
    let stages: Vec<String> = summary
        .latency_ms
        .stages
        .iter()
        .map(|(stage, latency)| format!("{stage} {} / {}", ms(latency.p50), ms(latency.p95)))
        .collect();
    rows.push(("by stage", stages.join(", ")));
    rows.push(("per question", out.display().to_string()));
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(name, value)| vec![name.to_owned(), value])
        .collect();
    output::table(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_named_after_questions_and_policy() {
        let name = beside_here(Path::new("sets/nq.questions.jsonl.gz"), "always");
        assert_eq!(name, Path::new("nq.always.results.jsonl"));
    }
}
