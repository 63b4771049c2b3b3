//! `ken eval` with several policies: measures both answers to every question and the policies' signals, each once,
//! and compares the policies on them.

use std::path::Path;

use ken_answer::{AnswerError, Policy};
use ken_eval::compare::{
    Answers, Comparison, ComparisonWork, has_own_answers, policies_need_gate, report,
};
use ken_eval::part::Parts;
use ken_eval::{
    ProbeRecord, Question, Record, RunSettings, check_sampling, read_results, read_settings,
};
use ken_lab::heads::gate::cross_fitted_worth;
use ken_setup::Settings;
use serde::Serialize;

use crate::arguments::answer::EvalArguments;
use crate::commands::parts::{self, ComparisonOptions, InWords, PartedWork};
use crate::commands::training_questions::{self, Taught};
use crate::commands::{provenance, records};
use crate::failure::{Failure, Result};
use crate::output;
use crate::session::Session;

/// What is printed as JSON.
#[derive(Serialize)]
struct Compared<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
    /// What was trained on some of the questions.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    taught: &'a [Taught],
}

/// Compares policies on questions.
pub(crate) fn run(
    arguments: &EvalArguments,
    policies: &[Policy],
    questions: Vec<Question>,
    session: &Session<'_>,
) -> Result<()> {
    check(session.settings)?;
    let mut pipeline = session.opening(|setup| setup.pipeline_for(None, true, policies))?;
    pipeline.settings.style = session.settings.measured_style();
    let probed = match &arguments.records {
        Some(path) => probed(path, &session.settings.identity(&pipeline))?,
        None => Vec::new(),
    };
    // Thresholds that are recorded with a model belong to its policy.
    let policies: Vec<Policy> = policies
        .iter()
        .map(|policy| pipeline.resolved(*policy))
        .collect();
    let policies = &policies[..];
    let held_out = arguments.held_out;
    let taught = training_questions::taught(&questions, held_out, &pipeline, policies, session)?;
    let folder = records::out(arguments.out.as_ref(), &arguments.questions, "policies");
    let name = arguments.questions.file_name().unwrap_or_default();
    let mut settings = session.settings.identity(&pipeline);
    settings.remove("policy");
    let options = ComparisonOptions {
        title: format!("Policies on {}", name.to_string_lossy()),
        by: arguments.by.clone(),
        policies: policies.iter().copied().map(InWords).collect(),
        own: (policies.iter().copied())
            .filter(|policy| has_own_answers(*policy))
            .map(InWords)
            .collect(),
        abstain: pipeline.settings.abstain.map(InWords),
        k: pipeline.settings.k,
        seed: pipeline.settings.seed,
        cross_fits: policies_need_gate(policies) && pipeline.routing.gate.is_none(),
        taught,
    };
    let (part, parted) = (arguments.part.part, PartedWork::Compare(options.clone()));
    let place = parts::place(part, folder, questions, &settings, &parted, session)?;
    let work = ComparisonWork {
        folder: &place.out,
        title: &options.title,
        provenance: provenance::of(settings, session.given),
        questions: &place.items,
        policies,
        probed: &probed,
        by: arguments.by.as_deref(),
        cross_fit: &cross_fitted_worth,
        identity: &|pipeline| session.settings.identity(pipeline),
    };
    let begin = records::runs(arguments.batch, session);
    let answers = work.answer(&mut pipeline, &begin)?;
    match place.is_told_as_part::<Record>(session)? {
        true => Ok(()),
        false => compared(&work, answers, &options, session),
    }
}

/// Refuses settings under which policies cannot be compared.
fn check(settings: &Settings) -> Result<()> {
    if settings.sources.len() > 1 {
        // `always` answers from the first corpus only.
        let message = "several policies cannot be compared with several corpora";
        return Err(Failure::refused(
            "sources_compared",
            message,
            "name one --corpus, or one policy",
        ));
    }
    if let Some(abstain) = settings.abstain {
        abstain.check().map_err(AnswerError::from)?;
    }
    Ok(())
}

/// Joins the parts of a comparison.
pub(crate) fn join(
    parts: &Parts,
    options: &ComparisonOptions,
    out: &Path,
    session: &Session<'_>,
) -> Result<()> {
    let questions: Vec<Question> = parts.items()?;
    let policies: Vec<Policy> = options.policies.iter().map(|policy| policy.0).collect();
    let work = ComparisonWork {
        folder: out,
        title: &options.title,
        provenance: provenance::of_parts(parts),
        questions: &questions,
        policies: &policies,
        probed: &[],
        by: options.by.as_deref(),
        cross_fit: &cross_fitted_worth,
        identity: &|_| parts.run().settings.clone(),
    };
    let own: Vec<Policy> = options.own.iter().map(|policy| policy.0).collect();
    let answers = work.answers().join(parts, options.k, &own)?;
    compared(&work, answers, options, session)
}

/// Compares the policies on answers, writes the report and shows it.
fn compared(
    work: &ComparisonWork<'_>,
    answers: Answers,
    options: &ComparisonOptions,
    session: &Session<'_>,
) -> Result<()> {
    let abstain = options.abstain.map(|abstain| abstain.0);
    let comparison = work.compare(answers, abstain, options.seed, options.cross_fits)?;
    let taught = &options.taught;
    if session.json {
        return output::json(&Compared {
            comparison: &comparison,
            taught,
        });
    }
    output::report(&report(work.title, &comparison, work.probed))?;
    records::tell_page("report", work.folder)?;
    if options.cross_fits {
        output::line(
            "gate: none is named, so each half of the questions is weighed by one trained on the other half",
        )?;
    }
    training_questions::show(taught)
}

/// The records of probing that save a run of these settings from measuring again; if they were made with other
/// evidence, without the answers from evidence.
///
/// # Errors
/// Records that cannot be read, or whose answers would be different now.
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
    let mut read = "k mode filters rerank evidence_tokens neighbors".split(' ');
    if read.any(|name| then.get(name) != now.get(name)) {
        for record in &mut probed {
            record.fingerprint.corpus = None;
        }
    }
    Ok(probed)
}
