//! `ken train gate`: which evidence is worth using.

use ken_answer::prompt;
use ken_eval::{ProbeRecord, read_results};
use ken_lab::LearnError;
use ken_lab::heads::gate::{GateMeasures, GateReport, gate_labels, learn_gate};
use ken_policy::Input;

use super::head::{Kind, Row, learning, options, trained};
use crate::arguments::train::{GateSource, TrainGateArguments};
use crate::failure::Result;
use crate::output::{self, share};
use crate::session::Session;

pub(super) fn run(arguments: &TrainGateArguments, session: &Session<'_>) -> Result<()> {
    let records: Vec<ProbeRecord> = read_results(&arguments.records)?;
    let labels = gate_labels(&records)?;
    if labels.prompt != prompt::fingerprint() {
        return Err(LearnError::OtherPrompts.into());
    }
    let candidates: &[Input] = match arguments.features {
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
    let out = arguments.out.display();
    let usage = format!("ken ask --policy evidence:gate --gate {out}");
    GATE.finish(&learned, &arguments.out, None, Some(usage), session)
}

const GATE: Kind<GateMeasures> = Kind {
    name: "gate",
    measures: &[
        ("em", |of| of.em),
        ("vs_better", |of| of.vs_better),
        ("vs_always", |of| of.vs_always),
        ("evidence_ratio", |of| of.evidence_ratio),
        ("auroc", |of| of.auroc),
    ],
    rows,
};

fn rows(report: &GateReport) -> Vec<Row> {
    let of = &report.measured;
    let questions = format!(
        "trained on {}, of which evidence helps {} and harms {}; held out {}, left out {}",
        report.learned_from, of.helped, of.harmed, report.held_out, report.left_out
    );
    let arms = [of.never_em, of.always_em].map(share).join(", ");
    let above_better = share(of.vs_better) + &output::interval(of.vs_better_interval);
    let above_always = share(of.vs_always) + &output::interval(of.vs_always_interval);
    vec![
        trained(report),
        ("questions", questions),
        ("exact match, never and always", arms),
        ("exact match with the gate", share(of.em)),
        ("above the better of these", above_better),
        ("above always", above_always),
        ("evidence used", share(of.evidence_ratio)),
        ("AUROC of helps against harms", share(of.auroc)),
    ]
}
