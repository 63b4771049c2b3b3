//! The policies that tuning tests: cheap ones that need no training. Each was the best of its kind in ken's own
//! measurements.

use ken_answer::{Memory, Policy, Signal};
use ken_language::Capabilities;
use serde::Serialize;

/// The policies to test.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidates {
    /// The arms first; of equally cheap policies, tuning chooses the first.
    pub policies: Vec<Policy>,
    /// Those that this model or these settings exclude.
    pub left_out: Vec<LeftOut>,
}

/// An excluded policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its name.
    pub policy: &'static str,
    /// The reason.
    pub why: &'static str,
}

/// The candidates for a model; `memory` says what happens to answers from memory in place of evidence. Their
/// thresholds are open, except those of the policy `documents`, which is tested with its defaults.
pub fn candidates(model: Capabilities, memory: Memory) -> Candidates {
    const SILENT: &str = "the model reports no log probabilities of its answers";
    const NO_SCORES: &str = "the model does not score given words";
    const REFUSED: &str = "answers from memory in place of evidence are refused";
    let is_refused = memory == Memory::Refuse;
    let signals = [
        (Signal::JUDGMENT, (!model.score).then_some(NO_SCORES)),
        (
            Signal::SEQUENCE_PROBABILITY,
            (!model.logprobs).then_some(SILENT),
        ),
        (
            Signal::EVIDENCE_DOUBT,
            match model.logprobs {
                true => is_refused.then_some(REFUSED),
                false => Some(SILENT),
            },
        ),
    ];
    let mut policies = vec![Policy::NEVER, Policy::ALWAYS];
    policies.extend(model.assures.then_some(Policy::DOCUMENTS));
    let mut left_out = Vec::new();
    for (signal, obstacle) in signals {
        match obstacle {
            None => policies.push(Policy::above(signal, None)),
            Some(why) => left_out.push(LeftOut {
                policy: signal.name,
                why,
            }),
        }
    }
    Candidates { policies, left_out }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(candidates: &Candidates) -> Vec<String> {
        let policies = candidates.policies.iter();
        policies.map(ToString::to_string).collect()
    }

    #[test]
    fn a_model_gets_the_policies_that_it_can_have() {
        let all = Capabilities {
            score: true,
            logprobs: true,
            hidden_layers: None,
            converses: true,
            assures: true,
            examples: true,
        };
        let found = candidates(all, Memory::Mark);
        let expected = [
            "never",
            "always",
            "documents",
            "prompt",
            "uncertainty:sequence-probability",
            "evidence:doubt",
        ];
        let parsed = expected.map(|name| name.parse::<Policy>().unwrap().open());
        let open: Vec<Policy> = found.policies.iter().map(|one| one.open()).collect();
        assert_eq!((open, found.left_out), (parsed.to_vec(), Vec::new()));
        let silent = Capabilities {
            score: false,
            logprobs: false,
            assures: false,
            ..all
        };
        let found = candidates(silent, Memory::Mark);
        assert_eq!(named(&found), ["never", "always"]);
        assert_eq!(found.left_out.len(), 3);
        let found = candidates(all, Memory::Refuse);
        assert_eq!(found.left_out[0].policy, "evidence:doubt");
    }
}
