//! `ken eval` with several policies: both answers to every question and what the policies decide by,
//! each taken once, and what follows from them.

use std::path::Path;

use ken_answer::Policy;
use ken_study::compare::{Comparison, ComparisonWork, Difference, untimed};
use ken_study::{ProbeRecord, Question, check_sampling, read_results, read_settings};

use crate::arguments::answering::EvalArguments;
use crate::commands::records;
use crate::failure::{Failure, Result};
use crate::output::{self, share};
use crate::session::Session;

/// Compares policies on questions.
pub(crate) fn run(
    arguments: &EvalArguments,
    policies: &[Policy],
    questions: &[Question],
    session: &Session<'_>,
) -> Result<()> {
    if session.settings.verbalize {
        // Answers that policies have written already could not be put together with such.
        let message = "several policies cannot be compared with `verbalize`";
        return Err(Failure::refused(
            "verbalize_compared",
            message,
            "add --verbalize=false, or name one policy",
        ));
    }
    if session.settings.sources.len() > 1 {
        // What `always` answers is always from the first.
        let message = "several policies cannot be compared with several corpora";
        return Err(Failure::refused(
            "sources_compared",
            message,
            "name one --corpus, or one policy",
        ));
    }
    let probed: Vec<ProbeRecord> = match &arguments.records {
        Some(path) => {
            let probed = read_results(path)?;
            // Samples are kept for later policies too, so those of these need not take any.
            check_sampling(&read_settings(path)?)?;
            probed
        }
        None => Vec::new(),
    };
    let mut pipeline = session.setup().pipeline_for(None, true, policies)?;
    let folder = records::out(arguments.out.as_ref(), &arguments.questions, "policies");
    let name = arguments.questions.file_name().unwrap_or_default();
    let work = ComparisonWork {
        folder: &folder,
        title: &format!("Policies on {}", name.to_string_lossy()),
        questions,
        policies,
        probed: &probed,
        identity: &|pipeline| session.settings.identity(pipeline),
    };
    let comparison = work.run(&mut pipeline, &|policy| {
        let policy = policy.map(|policy| policy.to_string());
        records::drawn(arguments.batch, policy, session)
    })?;
    if session.json {
        return output::json(&comparison);
    }
    show(&comparison, &folder)?;
    let knows = |question: &&Question| {
        let router = pipeline.router();
        router.is_some_and(|(router, _)| router.knows(&question.question))
    };
    match questions.iter().filter(knows).count() {
        0 => Ok(()),
        known => output::line(format!(
            "router: it was trained on {known} of these questions, on which it looks better than it is"
        )),
    }
}

fn show(comparison: &Comparison, folder: &Path) -> Result<()> {
    let one = |value: Option<f64>| output::number(value, 1);
    let difference = |difference: &Difference| match difference.interval {
        Some([low, high]) => format!("{} [{low:.3}, {high:.3}]", share(difference.em)),
        None => share(difference.em),
    };
    let mut rows = vec![output::head(
        "policy|EM|F1|retrieves|calls|tokens|p50 ms|AUROC|not harming|by chance|against always|against chance",
    )];
    for policy in &comparison.policies {
        let summary = &policy.summary;
        let tokens = summary
            .tokens
            .prompt
            .mean
            .zip(summary.tokens.completion.mean);
        rows.push(vec![
            summary.policy.clone(),
            share(summary.em),
            share(summary.f1),
            share(summary.retrieval_ratio),
            one(summary.model_calls.mean),
            one(tokens.map(|(read, written)| read + written)),
            one(summary.latency_ms.p50),
            share(policy.auroc),
            share(policy.not_harming),
            share(policy.random.em),
            difference(&policy.vs_always),
            difference(&policy.vs_random),
        ]);
    }
    output::table(&rows)?;
    output::line(format!(
        "{} questions; retrieval turns {} of them from wrong to right, {} from right to wrong",
        comparison.n,
        share(comparison.beneficial),
        share(comparison.harmful)
    ))?;
    for policy in comparison.policies.iter().filter(|one| one.unscored > 0) {
        output::line(format!(
            "{}: {} questions have no score, since the model does not tell what it takes; they retrieve",
            policy.summary.policy, policy.unscored
        ))?;
    }
    if let Some(untimed) = untimed(comparison) {
        output::line(untimed)?;
    }
    output::line(format!("report: {}", folder.join("report.html").display()))
}
