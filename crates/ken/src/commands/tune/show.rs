//! What tuning found, as one table and a few sentences, or as JSON.

use ken_answer::Policy;
use ken_eval::compare::Arm;
use ken_eval::tune::{Confirmed, Labels, LeftOut, Row, Stakes, Verdict, most_accurate};
use ken_policy::Guarantee;
use serde::Serialize;

use super::Findings;
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

pub(super) fn json(findings: &Findings, written: Option<&Written>) -> Result<()> {
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
        taught: &findings.taught,
    })
}

pub(super) fn text(findings: &Findings, written: Option<&Written>) -> Result<()> {
    let Findings { tuned, .. } = findings;
    output::line(measured(findings))?;
    let rows = tuned.rows.iter();
    table("policy", tuned.better, rows.map(|row| (named(row), row)))?;
    for LeftOut { policy, why } in &findings.candidates.left_out {
        output::line(format!("{policy} is left out: {why}"))?;
    }
    output::line("")?;
    output::line(why(findings))?;
    if let Some(row) = most_accurate(&tuned.rows).filter(|row| *row != findings.chosen()) {
        output::line(more_accurate(row, findings.chosen()))?;
    }
    if let Some(limits) = limits(findings) {
        output::line(limits)?;
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
    training_questions::show(&findings.taught)?;
    match written {
        Some(written) => show_written(findings, written),
        None => output::line(format!(
            "use it with --policy {}, or tune with --write",
            findings.chosen().policy
        )),
    }
}

/// What the numbers are of.
fn measured(findings: &Findings) -> String {
    let right = match (findings.labels, findings.style) {
        (Labels::Agreement, _) => {
            "right if it is the one with evidence, as no question has golden answers: what evidence gets wrong is not seen"
        }
        (_, ken_answer::Style::Full) => "right if it contains a golden answer",
        (_, ken_answer::Style::Short) => "right if it is a golden answer",
    };
    let left_out = match findings.left_out_questions {
        0 => String::new(),
        n => format!(" ({n} without golden answers are left out)"),
    };
    format!(
        "{}{left_out}, answered in style {}; an answer is {right}",
        output::counted(findings.n as u64, "question"),
        findings.style
    )
}

/// The policy of a row as it would be used.
fn named(row: &Row) -> String {
    match row.policy == Policy::ALWAYS && row.tried != Policy::ALWAYS {
        true => format!("{} (spares nothing)", row.tried),
        false => row.policy.to_string(),
    }
}

fn table<'a>(
    first: &str,
    better: Arm,
    rows: impl IntoIterator<Item = (String, &'a Row)>,
) -> Result<()> {
    let mut head = output::head("|right|against|searches|tokens|ms");
    head[0] = first.to_owned();
    head[2] = format!("against {better}");
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
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    output::table(&rows)
}

/// What was chosen and why, in a sentence or two.
fn why(findings: &Findings) -> String {
    let Findings {
        tuned, max_loss, ..
    } = findings;
    let chosen = findings.chosen();
    let of = |policy: Policy| {
        let row = tuned.rows.iter().find(|row| row.tried == policy);
        share(row.and_then(|row| row.accuracy))
    };
    let arms = format!("never {}, always {}", of(Policy::NEVER), of(Policy::ALWAYS));
    let Stakes { lead, known } = tuned.stakes;
    let (lead, known) = (share(Some(lead)), share(Some(known)));
    let is_never = chosen.policy == Policy::NEVER;
    match tuned.choice.verdict {
        Verdict::NothingAtStake if is_never => format!(
            "Nothing is at stake: {arms}: never retrieve. The right choice for each question would answer only {lead} more right."
        ),
        Verdict::NothingAtStake => format!(
            "Nothing is at stake: {arms}: always retrieve. The right choice for each question would answer only {lead} more right, and memory answers only {known} right, so there is hardly a search to spare."
        ),
        Verdict::BetterArm if is_never => format!(
            "Never retrieve: {arms}. Nothing costs less than the better of both; the right choice for each question would answer {lead} more right."
        ),
        Verdict::BetterArm => format!(
            "Always retrieve: {arms}. Memory answers {known} right, but no policy that costs less is shown to lose at most {max_loss}; more questions narrow the intervals."
        ),
        Verdict::Pays => format!(
            "{}: the cheapest that is shown to lose at most {max_loss} against {}.",
            chosen.policy, tuned.better
        ),
    }
}

fn more_accurate(row: &Row, chosen: &Row) -> String {
    let dearer = row
        .tokens
        .zip(chosen.tokens)
        .map(|(own, other)| own / other);
    format!(
        "More accurate than either arm is {}, for {} times the tokens.",
        row.policy,
        output::number(dearer, 1)
    )
}

/// What holds of a policy for other questions; `None` of an arm, in which nothing was chosen.
fn limits(findings: &Findings) -> Option<String> {
    let tried = findings.confirmed.is_some();
    let policy = findings.chosen().policy;
    match &findings.tuned.guarantee {
        Some(guarantee) => Some(format!(
            "Guarantee: on new questions like these, at most {} of the accuracy of always retrieving is lost, with confidence {}.",
            findings.max_loss, guarantee.confidence
        )),
        None if [Policy::NEVER, Policy::ALWAYS].contains(&policy) => None,
        None if tried => Some("No guarantee.".to_owned()),
        None => Some(
            "No guarantee: it was chosen on these questions; --confirm FILE tries it on others."
                .to_owned(),
        ),
    }
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
            "{} is the guarantee of another policy, which `ken serve` refuses: take `calibration` out of the settings",
            outdated.display()
        ))?;
    }
    Ok(())
}
