//! What tuning found, in sentences.

use ken_answer::{Policy, Style};
use ken_eval::tune::{Labels, Row, Stakes, Verdict};

use super::Findings;
use crate::output::{self, share};

/// What the numbers are of.
pub(super) fn measured(findings: &Findings) -> String {
    let right = match (findings.labels, findings.style) {
        (Labels::Agreement, _) => {
            "right if it is the one with evidence, as no question has golden answers: what evidence gets wrong is not seen"
        }
        (_, Style::Full | Style::AsSent) => "right if it contains a golden answer",
        (_, Style::Short) => "right if it is a golden answer",
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

/// What was chosen and why, in a sentence or two.
pub(super) fn why(findings: &Findings) -> String {
    let Findings {
        tuned, max_loss, ..
    } = findings;
    let (chosen, better) = (findings.chosen(), tuned.better);
    let row_of = |policy: Policy| tuned.rows.iter().find(|row| row.tried == policy);
    let [never, always] = [Policy::NEVER, Policy::ALWAYS].map(row_of);
    let of = |row: Option<&Row>| share(row.and_then(|row| row.accuracy));
    let arms = format!("never {}, always {}", of(never), of(always));
    let Stakes { lead, known } = tuned.stakes;
    let best = format!(
        "The right choice for each question would answer {} more right",
        or_none(lead)
    );
    let known = or_none(known);
    let is_never = chosen.policy == Policy::NEVER;
    match tuned.choice.verdict {
        Verdict::NothingAtStake if is_never => {
            format!("Nothing is at stake: {arms}: never retrieve. {best}.")
        }
        Verdict::NothingAtStake => format!(
            "Nothing is at stake: {arms}: always retrieve. {best}, and memory answers {known} right, so there is hardly a search to spare."
        ),
        Verdict::BetterArm if is_never => {
            format!("Never retrieve: {arms}. Nothing costs less than the better of both. {best}.")
        }
        Verdict::BetterArm => format!(
            "Always retrieve: {arms}. Memory answers {known} right, but no policy that costs less is shown to lose at most {max_loss}; more questions narrow the intervals."
        ),
        Verdict::Pays => {
            let arm = row_of(better.policy());
            format!(
                "{}: the cheapest that is shown to lose at most {max_loss} against {better}, for {} of its tokens.",
                chosen.policy,
                output::number(arm.and_then(|arm| ratio(chosen, arm)), 2)
            )
        }
    }
}

/// A share, or that it is none.
fn or_none(part: f64) -> String {
    match part > 0.0 {
        true => share(Some(part)),
        false => "none".to_owned(),
    }
}

/// The tokens of one policy as a share of another's.
fn ratio(one: &Row, other: &Row) -> Option<f64> {
    Some(one.tokens? / other.tokens?)
}

pub(super) fn more_accurate(row: &Row, chosen: &Row) -> String {
    format!(
        "More accurate than either arm is {}, for {} times the tokens.",
        row.policy,
        output::number(ratio(row, chosen), 1)
    )
}

/// What holds of a policy for other questions; `None` of an arm, in which nothing was chosen.
pub(super) fn limits(findings: &Findings) -> Option<String> {
    let policy = findings.chosen().policy;
    match &findings.tuned.guarantee {
        Some(guarantee) => Some(format!(
            "Guarantee: on new questions like these, at most {} of the accuracy of always retrieving is lost, with confidence {}.",
            findings.max_loss, guarantee.confidence
        )),
        None if [Policy::NEVER, Policy::ALWAYS].contains(&policy) => None,
        None if findings.confirmed.is_some() => Some("No guarantee.".to_owned()),
        None => Some(
            "No guarantee: it was chosen on these questions; --confirm FILE tries it on others."
                .to_owned(),
        ),
    }
}
