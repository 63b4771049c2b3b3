//! What a policy that tuning chose promises, in a sentence.

use ken_answer::Policy;
use ken_eval::tune::{Findings, promised};

/// What holds of it for other questions; `None` of an arm, in which nothing was chosen.
pub(super) fn limits(findings: &Findings) -> Option<String> {
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
