//! `ken probe`: what the language model knows, and what evidence changes, over a file of questions.

use std::path::Path;
use std::sync::Arc;

use ken_answer::{Pipeline, Retriever, prompt};
use ken_language::{Embedder, LanguageModel};
use ken_probe::{Correctness, Grouping, SampleOptions};
use ken_setup::Settings;
use ken_study::probe::{Conditions, EffectShares};
use ken_study::{Probe, ProbeSummary, probe, summarize_probe, write_parquet};

use crate::arguments::ProbeArguments;
use crate::commands::records::{self, share};
use crate::failure::Result;
use crate::output;
use crate::session::Session;

/// Runs `ken probe`.
pub(crate) fn run(arguments: &ProbeArguments, session: &Session<'_>) -> Result<()> {
    let questions = records::questions(&arguments.questions, arguments.limit, session.settings)?;
    let pipeline = session
        .setup()
        .pipeline_for(session.settings.corpus.is_some(), &[])?;
    let judge = judge(arguments, session)?;
    let judge = judge.as_deref().unwrap_or(pipeline.model());
    let own_embedder = embedder(arguments, &pipeline, session)?;
    let embedder = own_embedder
        .as_deref()
        .or(pipeline.retriever().map(Retriever::embedder));
    let out = records::out(arguments.out.as_ref(), &arguments.questions, "probe.jsonl");
    let run_settings = run_settings(arguments, session.settings, &pipeline, judge, embedder);
    let work = Probe {
        pipeline: &pipeline,
        judge,
        embedder,
        options: SampleOptions {
            samples: arguments.samples.get(),
            temperature: arguments.temperature.0,
            max_tokens: session.settings.max_tokens,
        },
        seed: session.settings.seed,
        correctness: arguments.correct,
        grouping: arguments.group,
        eigenscore: arguments.eigenscore,
    };
    let probed = records::resumed(
        &out,
        run_settings,
        arguments.batch,
        session.stop,
        |file, run| probe(&work, &questions, file, run),
    )?;
    records::report(&probed, &out, session.json, write_parquet, |table| {
        show(&summarize_probe(&probed), &out, table)
    })
}

/// The model that judges, where it is another than the one that is probed and there is something to
/// be judged.
fn judge(
    arguments: &ProbeArguments,
    session: &Session<'_>,
) -> Result<Option<Arc<dyn LanguageModel>>> {
    let judge = arguments.judge.as_ref().filter(|_| asks_judge(arguments));
    let opened = judge.map(|reference| session.setup().other_language_model(reference));
    Ok(opened.transpose()?)
}

fn asks_judge(arguments: &ProbeArguments) -> bool {
    arguments.correct == Correctness::Judge || arguments.group == Grouping::Entailment
}

/// What tells meanings, where that is wanted and no corpus brings its embedder along.
fn embedder(
    arguments: &ProbeArguments,
    pipeline: &Pipeline,
    session: &Session<'_>,
) -> Result<Option<Box<dyn Embedder>>> {
    let wanted = matches!(arguments.group, Grouping::Meaning { .. });
    let opened = (wanted && pipeline.retriever().is_none())
        .then(|| session.setup().embedder(&session.settings.embedder));
    Ok(opened.transpose()?)
}

/// All that the records depend on. A file of records is resumed under the same only.
fn run_settings(
    arguments: &ProbeArguments,
    settings: &Settings,
    pipeline: &Pipeline,
    judge: &dyn LanguageModel,
    embedder: Option<&dyn Embedder>,
) -> ken_study::RunSettings {
    let mut run = settings.identity(pipeline);
    run.remove("policy");
    run.remove("verbalize");
    let mut set = |name: &str, value: String| run.insert(name.to_owned(), value);
    set("samples", arguments.samples.to_string());
    set("temperature", arguments.temperature.0.to_string());
    set("correct", arguments.correct.to_string());
    set("group", arguments.group.to_string());
    set("eigenscore", arguments.eigenscore.to_string());
    set("prompt", prompt::fingerprint());
    if asks_judge(arguments) {
        set("judge", judge.fingerprint().to_owned());
    }
    if let (Grouping::Meaning { .. }, Some(embedder)) = (arguments.group, embedder) {
        set("group_embedder", embedder.fingerprint().to_owned());
    }
    run
}

fn show(summary: &ProbeSummary, out: &Path, table: &Path) -> Result<()> {
    let mut rows = vec![
        ("questions", summary.n.to_string()),
        ("failed", summary.failed.to_string()),
    ];
    if summary.unjudged > 0 {
        rows.push(("without golden answers", summary.unjudged.to_string()));
    }
    if summary.without_logprobs > 0 {
        rows.push((
            "without log probabilities",
            summary.without_logprobs.to_string(),
        ));
    }
    rows.extend([
        ("known rate", share(summary.known_rate)),
        ("confidence", conditions(&summary.confidence)),
        ("certainty", conditions(&summary.certainty)),
        (
            "effect on confidence",
            effects(&summary.effect_on_confidence),
        ),
        ("effect on certainty", effects(&summary.effect_on_certainty)),
        ("correlation", share(summary.correlation)),
        ("mask copied", share(summary.mask_copied)),
        ("per question", out.display().to_string()),
        ("as a table", table.display().to_string()),
    ]);
    output::pairs(rows)
}

fn conditions(means: &Conditions<Option<f64>>) -> String {
    format!(
        "self {}, corpus {}, masked {}",
        share(means.from_self),
        share(means.corpus),
        share(means.masked)
    )
}

fn effects(shares: &EffectShares) -> String {
    format!(
        "beneficial {}, neutral {}, harmful {}",
        share(shares.beneficial),
        share(shares.neutral),
        share(shares.harmful)
    )
}
