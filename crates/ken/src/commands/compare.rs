//! `ken eval` with several policies: both answers to every question and what the policies decide by,
//! each taken once, and what follows from them.

use std::path::Path;

use ken_answer::{AnswerError, Policy, RoutingModel};
use ken_eval::compare::{Comparison, ComparisonWork, report};
use ken_eval::{ProbeRecord, Question, RunSettings, check_sampling, read_results, read_settings};
use ken_lab::heads::gate::cross_fitted_worth;
use serde::Serialize;

use crate::arguments::answer::EvalArguments;
use crate::commands::{provenance, records, training_questions};
use crate::failure::{Failure, Result};
use crate::output;
use crate::session::Session;

/// What is printed as JSON.
#[derive(Serialize)]
struct Compared<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
    /// What was taught some of the questions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    taught: Vec<training_questions::Taught>,
}

/// Compares policies on questions.
pub(crate) fn run(
    arguments: &EvalArguments,
    policies: &[Policy],
    questions: &[Question],
    session: &Session<'_>,
) -> Result<()> {
    if session.settings.sources.len() > 1 {
        // What `always` answers is always from the first.
        let message = "several policies cannot be compared with several corpora";
        return Err(Failure::refused(
            "sources_compared",
            message,
            "name one --corpus, or one policy",
        ));
    }
    if let Some(abstain) = session.settings.abstain {
        abstain.check().map_err(AnswerError::from)?;
    }
    let mut pipeline = session.opening(|setup| setup.pipeline_for(None, true, policies))?;
    let probed = match &arguments.records {
        Some(path) => probed(path, &session.settings.identity(&pipeline))?,
        None => Vec::new(),
    };
    // Thresholds that are recorded with a model are those of its policy.
    let policies: Vec<Policy> = policies.iter().map(|one| pipeline.resolved(*one)).collect();
    let policies = &policies[..];
    let held_out = arguments.held_out;
    let taught = training_questions::taught(questions, held_out, &pipeline, policies, session)?;
    let folder = records::out(arguments.out.as_ref(), &arguments.questions, "policies");
    let name = arguments.questions.file_name().unwrap_or_default();
    let mut settings = session.settings.identity(&pipeline);
    settings.remove("policy");
    let title = format!("Policies on {}", name.to_string_lossy());
    let work = ComparisonWork {
        folder: &folder,
        title: &title,
        provenance: provenance::of(settings, session.given),
        questions,
        policies,
        probed: &probed,
        by: arguments.by.as_deref(),
        cross_fit: &cross_fitted_worth,
        identity: &|pipeline| session.settings.identity(pipeline),
    };
    let comparison = work.run(&mut pipeline, &|policy| {
        let policy = policy.map(|policy| policy.to_string());
        records::drawn(arguments.batch, policy, session)
    })?;
    if session.json {
        return output::json(&Compared {
            comparison: &comparison,
            taught,
        });
    }
    output::report(&report(&title, &comparison, &probed))?;
    output::line(format!("report: {}", folder.join("report.html").display()))?;
    let mut signals = policies.iter().flat_map(|policy| policy.signals());
    let gates = signals.any(|signal| signal.told_by == Some(RoutingModel::Gate));
    if gates && pipeline.routing.gate.is_none() {
        output::line(
            "gate: none is named, so each half of the questions is weighed by one trained on the other half",
        )?;
    }
    training_questions::show(&taught)
}

/// The records of probing from which a run of these settings need not measure again: where other evidence was read than
/// now, those without evidence.
///
/// # Errors
/// Records that cannot be read, or of answers that would be others now.
fn probed(path: &Path, now: &RunSettings) -> Result<Vec<ProbeRecord>> {
    let mut probed: Vec<ProbeRecord> = read_results(path)?;
    let then = read_settings(path)?;
    // Samples are kept for later policies too, so those of these need not take any.
    check_sampling(&then)?;
    for name in ["max_tokens", "precision"] {
        if let (Some(then), Some(now)) = (then.get(name), now.get(name))
            && then != now
        {
            let flag = name.replace('_', "-");
            return Err(Failure::refused(
                "other_records",
                format!("the records were probed with --{flag} {then}, and this run has {now}"),
                format!("give --{flag} {then}, or leave --records out"),
            ));
        }
    }
    let read = [
        "k",
        "mode",
        "filters",
        "rerank",
        "evidence_tokens",
        "neighbors",
    ];
    if read.iter().any(|&name| then.get(name) != now.get(name)) {
        for record in &mut probed {
            record.fingerprint.corpus = None;
        }
    }
    Ok(probed)
}
