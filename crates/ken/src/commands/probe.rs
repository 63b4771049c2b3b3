//! `ken probe`: what the language model knows, and what evidence changes, over a file of questions.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use ken_answer::{Pipeline, Retriever};
use ken_language::{Embedder, LanguageModel};
use ken_probe::{Grouping, SampleOptions};
use ken_study::compare::grouped_by;
use ken_study::probe::{Conditions, EffectShares};
use ken_study::{
    Probe, ProbeSummary, check_field, probe, probe_to_html, summarize_probe, with_ending,
};

use crate::arguments::probing::ProbeArguments;
use crate::commands::records;
use crate::failure::{Failure, Result};
use crate::output::{self, share};
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
    let identity = work.identity(session.settings.identity(&pipeline));
    let batch = arguments.batch;
    let probed = records::resumed(&out, identity, batch, session, |file, run| {
        probe(&work, &questions, file, run)
    })?;
    let groups: Vec<(String, ProbeSummary)> = arguments
        .by
        .iter()
        .flat_map(|field| grouped_by(field, &questions, &probed))
        .map(|(value, records)| (value, summarize_probe(&records)))
        .collect();
    let page = with_ending(&out, "html");
    let title = format!("What the model knows: {}", out.display());
    ken_storage::replace(&page, probe_to_html(&title, &probed, &groups).as_bytes())?;
    records::report(&probed, &out, session.json, |table| {
        show(&summarize_probe(&probed), &out, table)?;
        show_groups(&groups)
    })
}

/// The values of k below that of the settings, which all questions are answered with anyway.
fn at_k(arguments: &ProbeArguments, pipeline: &Pipeline) -> Result<Vec<usize>> {
    let k = pipeline.settings.k;
    let wanted: BTreeSet<usize> = arguments.at_k.iter().map(|one| one.get()).collect();
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
        _ => Ok(wanted.into_iter().filter(|one| *one < k).collect()),
    }
}

/// The model that judges, where it is another than the one that is probed and there is something to
/// be judged.
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

/// The embedder that groups answers by meaning, if they are and no corpus brings one.
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
    if summary.cannot_tell > 0 {
        rows.push(("cannot tell", summary.cannot_tell.to_string()));
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
        ("as a page", with_ending(out, "html").display().to_string()),
    ]);
    output::pairs(rows)
}

fn show_groups(groups: &[(String, ProbeSummary)]) -> Result<()> {
    if groups.is_empty() {
        return Ok(());
    }
    let mut rows = vec![output::head(
        "group|questions|known rate|confidence: self|corpus|masked|certainty: self|corpus|masked|beneficial|harmful|mask copied",
    )];
    rows.extend(groups.iter().map(|(value, summary)| {
        let three = |means: &Conditions<Option<f64>>| {
            [means.from_self, means.corpus, means.masked].map(share)
        };
        let effect = &summary.effect_on_confidence;
        let mut cells = vec![
            value.clone(),
            summary.n.to_string(),
            share(summary.known_rate),
        ];
        cells.extend(three(&summary.confidence));
        cells.extend(three(&summary.certainty));
        cells.extend([effect.beneficial, effect.harmful, summary.mask_copied].map(share));
        cells
    }));
    output::table(&rows)
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
