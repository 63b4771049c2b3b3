//! The results of tuning in sentences.

use ken_answer::Policy;
use ken_report::number;

use super::choice::{Stakes, Verdict};
use super::findings::Findings;
use super::row::Row;
use super::work::Labels;
use crate::correctness::right_if;

/// What the numbers count.
pub fn measured(findings: &Findings) -> String {
    let right = match (findings.labels, findings.style) {
        (Labels::Agreement, _) => {
            "right if it is the one with evidence, as no question has golden answers: what evidence gets wrong is not seen"
        }
        (Labels::GoldenAnswers, style) => right_if(style),
    };
    let left_out = match findings.left_out_questions {
        0 => String::new(),
        n => format!(" ({n} without golden answers are left out)"),
    };
    format!(
        "{}{left_out}, answered in style {}; an answer is {right}",
        counted(findings.n, "question"),
        findings.style
    )
}

/// What was chosen and why, in a sentence or two.
pub fn why(findings: &Findings) -> String {
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
                number(arm.and_then(|arm| ratio(chosen, arm)), 2)
            )
        }
    }
}

/// A share in words.
fn or_none(part: f64) -> String {
    match part > 0.0 {
        true => share(Some(part)),
        false => "none".to_owned(),
    }
}

/// The tokens of one policy as a share of another's.
fn ratio(row: &Row, other: &Row) -> Option<f64> {
    Some(row.tokens? / other.tokens?)
}

/// A sentence about the policy that is more accurate than either arm, with its cost.
pub fn more_accurate(row: &Row, chosen: &Row) -> String {
    format!(
        "More accurate than either arm is {}, for {} times the tokens.",
        row.policy,
        number(ratio(row, chosen), 1)
    )
}

/// The guarantee of the chosen policy in words; `None` without one.
pub fn promised(findings: &Findings) -> Option<String> {
    let guarantee = findings.tuned.guarantee.as_ref()?;
    Some(format!(
        "Guarantee: on new questions like these, at most {} of the accuracy of always retrieving is lost, with confidence {}.",
        findings.max_loss, guarantee.confidence
    ))
}

fn share(value: Option<f64>) -> String {
    number(value, 3)
}

fn counted(count: usize, what: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {what}{ending}")
}
