//! `ken eval` with several policies: both answers to every question and what the policies decide by,
//! each taken once, and what follows from them.

use std::path::Path;

use ken_answer::{Abstention, AnswerError, Policy, RoutingModel};
use ken_study::compare::{
    Breakdown, Comparison, ComparisonWork, Difference, PolicyResult, Yardstick, untimed,
};
use ken_study::{ProbeRecord, Question, RunSettings, check_sampling, read_results, read_settings};
use serde::Serialize;

use crate::arguments::answering::EvalArguments;
use crate::commands::{records, taught};
use crate::failure::{Failure, Result};
use crate::output::{self, share};
use crate::session::Session;

/// The columns of what is answered where answers may be withheld.
const WITHHELD: &str = "answered|wrong among answered|withheld and wrong|";

/// What is printed as JSON.
#[derive(Serialize)]
struct Compared<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
    /// What was taught some of the questions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    taught: Vec<taught::Taught>,
}

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
    if let Some(abstain) = session.settings.abstain {
        abstain.check().map_err(AnswerError::from)?;
    }
    let mut pipeline = session.setup().pipeline_for(None, true, policies)?;
    let probed = match &arguments.records {
        Some(path) => probed(path, &session.settings.identity(&pipeline))?,
        None => Vec::new(),
    };
    // Thresholds that are recorded with a model are those of its policy.
    let policies: Vec<Policy> = policies.iter().map(|one| pipeline.resolved(*one)).collect();
    let policies = &policies[..];
    let held_out = arguments.held_out;
    let taught = taught::taught(questions, held_out, &pipeline, policies, session)?;
    let folder = records::out(arguments.out.as_ref(), &arguments.questions, "policies");
    let name = arguments.questions.file_name().unwrap_or_default();
    let work = ComparisonWork {
        folder: &folder,
        title: &format!("Policies on {}", name.to_string_lossy()),
        questions,
        policies,
        probed: &probed,
        by: arguments.by.as_deref(),
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
    show(&comparison, &folder)?;
    let mut signals = policies.iter().flat_map(|policy| policy.signals());
    let gates = signals.any(|signal| signal.told_by == Some(RoutingModel::Gate));
    if gates && pipeline.routing.gate.is_none() {
        output::line(
            "gate: none is named, so each half of the questions is weighed by one trained on the other half",
        )?;
    }
    taught::show(&taught)
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
    let read = ["k", "mode", "filters", "rerank", "evidence_tokens"];
    if read.iter().any(|&name| then.get(name) != now.get(name)) {
        for record in &mut probed {
            record.fingerprint.corpus = None;
        }
    }
    Ok(probed)
}

/// What is answered under each policy, and what is withheld.
fn show_withheld(abstain: Abstention, comparison: &Comparison) -> Result<()> {
    let mut rows = vec![output::head(&format!(
        "abstaining by {abstain}|{}",
        WITHHELD.trim_end_matches('|')
    ))];
    rows.extend(comparison.policies.iter().map(|policy| {
        let summary = &policy.summary;
        vec![
            summary.policy.clone(),
            share(summary.answered),
            share(summary.answered_wrong) + &output::interval(summary.answered_wrong_interval),
            share(summary.right_abstentions),
        ]
    }));
    output::table(&rows)
}

/// What each policy spares where hardly any accuracy is lost, and where hardly any beneficial retrieval is missed.
fn show_yardsticks(comparison: &Comparison) -> Result<()> {
    type Lost = fn(&Yardstick) -> (Option<f64>, Option<[f64; 2]>);
    type Tried = (&'static str, fn(&PolicyResult) -> &Yardstick, Lost);
    let both: [Tried; 2] = [
        (
            "needless retrievals skipped at a loss of at most 0.01|share|loss|with evidence|results",
            |policy| &policy.yardstick,
            |one| (one.loss, one.loss_interval),
        ),
        (
            "needless retrievals skipped where at most 0.01 of the beneficial are missed|share|missed|with evidence|results",
            |policy| &policy.strict_yardstick,
            |one| (one.beneficial_missed, one.beneficial_missed_interval),
        ),
    ];
    for (head, of, lost) in both {
        let mut rows = vec![output::head(head)];
        rows.extend(comparison.policies.iter().map(|policy| {
            let yardstick = of(policy);
            let (lost, interval) = lost(yardstick);
            vec![
                policy.summary.policy.clone(),
                share(yardstick.needless_skipped)
                    + &output::interval(yardstick.needless_skipped_interval),
                share(lost) + &output::interval(interval),
                share(yardstick.evidence_ratio),
                output::number(yardstick.search_results, 1),
            ]
        }));
        output::table(&rows)?;
    }
    Ok(())
}

fn show_breakdown(breakdown: &Breakdown, withholds: bool) -> Result<()> {
    let field = &breakdown.field;
    let mut rows = vec![output::head(&format!(
        "{field}|questions|never|always|misled|policy|EM|{}retrieves|with evidence|needless skipped",
        if withholds { WITHHELD } else { "" }
    ))];
    for group in &breakdown.groups {
        rows.extend(group.policies.iter().map(|policy| {
            let mut row = vec![
                group.value.clone(),
                group.n.to_string(),
                share(group.never_em),
                share(group.always_em),
                share(group.misled),
                policy.policy.clone(),
                share(policy.em),
            ];
            if withholds {
                row.extend(
                    [
                        policy.answered,
                        policy.answered_wrong,
                        policy.right_abstentions,
                    ]
                    .map(share),
                );
            }
            row.extend(
                [
                    policy.retrieval_ratio,
                    policy.evidence_ratio,
                    policy.needless_skipped,
                ]
                .map(share),
            );
            row
        }));
    }
    output::table(&rows)
}

fn show(comparison: &Comparison, folder: &Path) -> Result<()> {
    let one = |value: Option<f64>| output::number(value, 1);
    let difference = |difference: &Difference| match difference.interval {
        Some([low, high]) => format!("{} [{low:.3}, {high:.3}]", share(difference.em)),
        None => share(difference.em),
    };
    let mut rows = vec![output::head(
        "policy|EM|F1|retrieves|with evidence|results|calls|tokens|p50 ms|AUROC|not harming|trusted, right|doubted, right|by chance|against always|of oracle's lead|against chance",
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
            share(summary.evidence_ratio),
            one(summary.search_results.mean),
            one(summary.model_calls.mean),
            one(tokens.map(|(read, written)| read + written)),
            one(summary.latency_ms.p50),
            share(policy.auroc),
            share(policy.not_harming),
            share(policy.trusted_right),
            share(policy.doubted_right),
            share(policy.random.em),
            difference(&policy.vs_always),
            share(policy.of_oracle_lead),
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
    output::line(format!(
        "of the answers that are right from memory, evidence turns {}{} wrong",
        share(comparison.misled),
        output::interval(comparison.misled_interval)
    ))?;
    for policy in &comparison.policies {
        let summary = &policy.summary;
        if summary.cannot_tell > 0 {
            output::line(format!(
                "`{}` cannot tell of {} questions, and takes the careful side",
                summary.policy, summary.cannot_tell
            ))?;
        }
    }
    show_yardsticks(comparison)?;
    if let Some(abstain) = comparison.abstain {
        show_withheld(abstain, comparison)?;
    }
    if let Some(breakdown) = &comparison.by {
        show_breakdown(breakdown, comparison.abstain.is_some())?;
    }
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
