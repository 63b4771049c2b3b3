//! What tuning found, as one table and a few sentences, or as JSON.

use ken_answer::Policy;
use ken_eval::compare::Arm;
use ken_eval::tune::{
    Confirmed, Findings, Labels, LeftOut, Row, Stakes, Verdict, measured, more_accurate,
    most_accurate, named, promised, why,
};
use ken_policy::Guarantee;
use serde::Serialize;

use super::write::Written;
use crate::commands::training_questions;
use crate::failure::Result;
use crate::output::{self, share};

/// What is printed as JSON.
#[derive(Serialize)]
struct Printed<'a> {
    n: usize,
    left_out_questions: usize,
    style: String,
    labels: Labels,
    max_loss: f64,
    better: Arm,
    stakes: Stakes,
    policies: &'a [Row],
    left_out: &'a [LeftOut],
    chosen: String,
    verdict: Verdict,
    /// The same in words.
    why: String,
    /// A policy that is shown to be more accurate than the better arm.
    more_accurate: Option<String>,
    guarantee: Option<&'a Guarantee>,
    confirmed: Option<&'a Confirmed>,
    written: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    taught: &'a [training_questions::Taught],
}

pub(super) fn json(
    findings: &Findings,
    written: Option<&Written>,
    taught: &[training_questions::Taught],
) -> Result<()> {
    let tuned = &findings.tuned;
    output::json(&Printed {
        n: findings.n,
        left_out_questions: findings.left_out_questions,
        style: findings.style.to_string(),
        labels: findings.labels,
        max_loss: findings.max_loss,
        better: tuned.better,
        stakes: tuned.stakes,
        policies: &tuned.rows,
        left_out: &findings.candidates.left_out,
        chosen: findings.chosen().policy.to_string(),
        verdict: tuned.choice.verdict,
        why: why(findings),
        more_accurate: most_accurate(&tuned.rows).map(|row| row.policy.to_string()),
        guarantee: tuned.guarantee.as_ref(),
        confirmed: findings.confirmed.as_ref(),
        written: written.map(|written| written.settings.display().to_string()),
        taught,
    })
}

pub(super) fn text(
    findings: &Findings,
    written: Option<&Written>,
    taught: &[training_questions::Taught],
) -> Result<()> {
    let Findings { tuned, .. } = findings;
    output::sentence(measured(findings))?;
    let rows = tuned.rows.iter();
    table("policy", tuned.better, rows.map(|row| (named(row), row)))?;
    for LeftOut { policy, why } in &findings.candidates.left_out {
        output::sentence(format!("{policy} is left out: {why}"))?;
    }
    output::line("")?;
    output::sentence(why(findings))?;
    if let Some(row) = most_accurate(&tuned.rows).filter(|row| *row != findings.chosen()) {
        output::sentence(more_accurate(row, findings.chosen()))?;
    }
    if let Some(limits) = limits(findings) {
        output::sentence(limits)?;
    }
    if let Some(Confirmed { n, arm, chosen }) = &findings.confirmed {
        output::line("")?;
        let on = format!(
            "confirmed on {}",
            output::counted(*n as u64, "other question")
        );
        let mut both = vec![(arm.policy.to_string(), arm)];
        both.extend((chosen.policy != arm.policy).then(|| (chosen.policy.to_string(), chosen)));
        table(&on, tuned.better, both)?;
    }
    training_questions::show(taught)?;
    match written {
        Some(written) => show_written(findings, written),
        None => output::line(format!(
            "use it with --policy {}, or tune with --write",
            findings.chosen().policy
        )),
    }
}

/// What the chosen policy promises for other questions; `None` of an arm, in which nothing was chosen.
fn limits(findings: &Findings) -> Option<String> {
    let policy = findings.chosen().policy;
    match promised(findings) {
        Some(promise) => Some(promise),
        None if [Policy::NEVER, Policy::ALWAYS].contains(&policy) => None,
        None if findings.confirmed.is_some() => Some("No guarantee.".to_owned()),
        None => Some(
            "No guarantee: it was chosen on these questions; --confirm FILE tries it on others."
                .to_owned(),
        ),
    }
}

fn table<'a>(
    first: &str,
    better: Arm,
    rows: impl IntoIterator<Item = (String, &'a Row)>,
) -> Result<()> {
    let names = format!("{first}|right|against {better}|searches|tokens|ms");
    let rows = rows.into_iter().map(|(name, row)| {
        let difference = row.vs_better;
        vec![
            name,
            share(row.accuracy),
            match difference.interval == Some([0.0, 0.0]) {
                true => "-".to_owned(),
                false => share(difference.difference) + &output::interval(difference.interval),
            },
            output::number(row.searches, 2),
            output::number(row.tokens, 0),
            output::number(row.ms, 0),
        ]
    });
    output::columns(&names, rows)
}

fn show_written(findings: &Findings, written: &Written) -> Result<()> {
    let settings = written.settings.display();
    let policy = findings.chosen().policy;
    output::line(format!("{settings} says: policy = \"{policy}\""))?;
    if let Some(guarantee) = &written.guarantee {
        output::line(format!(
            "{settings} names the guarantee: {}",
            guarantee.display()
        ))?;
    }
    if !written.flags.is_empty() {
        output::line(format!(
            "It was measured with {}: give `ken ask` and `ken serve` the same, or write it into {settings}.",
            written.flags.join(" ")
        ))?;
    }
    if let Some(outdated) = &written.outdated {
        output::line(format!(
            "{} is the guarantee of another policy: {settings} names it no more",
            outdated.display()
        ))?;
    }
    Ok(())
}
