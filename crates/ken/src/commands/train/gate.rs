//! `ken train gate`.

use std::path::Path;

use ken_answer::prompt;
use ken_policy::{Head, Input};
use ken_study::learn::gate::{GateReport, gate_labels, learn_gate};
use ken_study::{LearnError, ProbeRecord, read_results};
use serde_json::json;

use super::vectors::looks_at;
use super::{Measure, learning, options, show_spreads, spreads};
use crate::arguments::training::{GateSource, TrainGateArguments};
use crate::failure::Result;
use crate::output::{self, share};
use crate::session::Session;

pub(super) fn run(arguments: &TrainGateArguments, session: &Session<'_>) -> Result<()> {
    let records: Vec<ProbeRecord> = read_results(&arguments.records)?;
    let labels = gate_labels(&records)?;
    if labels.prompt != prompt::fingerprint() {
        return Err(LearnError::OtherPrompts.into());
    }
    let candidates: &[Input] = match arguments.from {
        GateSource::Evidence => &[Input::Evidence],
        GateSource::Answers => &[Input::EvidenceAndAnswer],
    };
    let embedder = session.setup().question_embedder()?;
    let mut learned = Vec::new();
    let seeds = arguments.seeds.from(session.settings.seed);
    for (fold, seed) in seeds.enumerate() {
        let options = options(&arguments.head, seed, fold);
        learned.push(learning(session, |watch| {
            learn_gate(&labels, candidates, embedder.fingerprint(), options, watch)
        })?);
    }
    let (heads, reports): (Vec<Head>, Vec<GateReport>) = learned.into_iter().unzip();
    let spreads = spreads(&reports, MEASURES);
    // There is at least one seed.
    let (Some(head), Some(report)) = (heads.first(), reports.first()) else {
        return Ok(());
    };
    head.write(&arguments.out)?;
    if session.json {
        return output::json(&json!({ "gate": arguments.out, "report": report, "seeds": spreads }));
    }
    show(report, &arguments.out)?;
    show_spreads(&spreads)?;
    output::line(format!(
        "to use it: ken ask --policy evidence:gate --gate {}",
        arguments.out.display()
    ))
}

/// What is told of several seeds.
const MEASURES: &[Measure<GateReport>] = &[
    ("em", |report| report.em),
    ("vs_always", |report| report.vs_always),
    ("evidence_ratio", |report| report.evidence_ratio),
    ("auroc", |report| report.auroc),
];

fn show(report: &GateReport, out: &Path) -> Result<()> {
    let both = [report.never_em, report.always_em].map(share).join(", ");
    let ahead = share(report.vs_always) + &output::interval(report.vs_always_interval);
    output::pairs([
        ("gate", out.display().to_string()),
        ("features", looks_at(report.input)),
        (
            "head",
            format!("{}, weight decay {}", report.head, report.decay),
        ),
        (
            "questions",
            format!(
                "trained on {}, of which evidence helps {} and harms {}; held out {}, left out {}",
                report.learned_from, report.helped, report.harmed, report.held_out, report.left_out
            ),
        ),
        ("exact match, never and always", both),
        ("exact match with the gate", share(report.em)),
        ("above always", ahead),
        ("evidence used", share(report.evidence_ratio)),
        ("AUROC of helps against harms", share(report.auroc)),
    ])
}
