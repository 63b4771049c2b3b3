//! The policies as names of models: `ken/always`, `ken/router@0.4`; `ken` is the policy of the settings.

use ken_answer::{Abstention, AnswerError, Pipeline, Policy, RoutingModel, Signal};
use ken_policy::Rule;

use crate::wire::refusal::Refusal;

/// The prefix of every name, and the name of the settings' policy.
const KEN: &str = "ken";

/// The embedder's name.
pub(crate) const EMBEDDER: &str = "ken/embedder";

/// The model's name for ranking texts.
pub(crate) const RERANKER: &str = "ken/reranker";

/// The name of a policy.
pub(crate) fn name_of(policy: Policy) -> String {
    format!("{KEN}/{policy}")
}

/// The name by which a client asks for a policy; the settings' policy has none of its own.
pub(crate) fn requested(policy: Option<Policy>) -> String {
    policy.map_or_else(|| KEN.to_owned(), name_of)
}

/// The policy that a model's name means; `None` for the settings' policy.
///
/// # Errors
/// A name that no policy has.
pub(crate) fn named(model: &str) -> Result<Option<Policy>, Refusal> {
    if model == KEN {
        return Ok(None);
    }
    let policy = model
        .strip_prefix(KEN)
        .and_then(|rest| rest.strip_prefix('/'));
    match policy.map(str::parse::<Policy>) {
        Some(Ok(policy)) => Ok(Some(policy)),
        Some(Err(_)) | None => Err(unknown(model)),
    }
}

/// A policy by its own name.
///
/// # Errors
/// A name that no policy has.
pub(crate) fn parsed(name: &str) -> Result<Policy, Refusal> {
    let parsed = name.parse::<Policy>();
    parsed.map_err(|error| Refusal::bad("unknown_policy", error.to_string()).of("policies"))
}

/// The refusal of a name that no model has.
pub(crate) fn unknown(model: &str) -> Refusal {
    absent(&format!(
        "there is no model {model:?}; each policy is one, such as `{KEN}/always`, and `{KEN}` is the \
         policy of the server's settings"
    ))
}

/// The refusal of a name on a route that has one model only.
pub(crate) fn other_than(only: &str, model: &str) -> Refusal {
    absent(&format!(
        "there is no model {model:?} for this; the only one is `{only}`"
    ))
}

fn absent(message: &str) -> Refusal {
    Refusal::not_found("model_not_found", message).of("model")
}

/// Checks that a policy can choose with what is open.
///
/// # Errors
/// A policy without a threshold, one that needs golden answers, or one whose model or file is not open.
pub(crate) fn check(policy: Policy, pipeline: &Pipeline) -> Result<(), AnswerError> {
    policy.check()?;
    check_signal(policy.signal(), pipeline)?;
    pipeline.check_review(policy, None)
}

/// Checks that answers can be withheld with what is open.
///
/// # Errors
/// An abstention without a threshold, or one whose model or file is not open.
pub(crate) fn check_abstention(
    abstain: Option<Abstention>,
    pipeline: &Pipeline,
) -> Result<(), AnswerError> {
    abstain.map_or(Ok(()), Abstention::check)?;
    check_signal(abstain.map(|abstain| abstain.signal), pipeline)?;
    pipeline.check_review(Policy::NEVER, abstain)
}

/// Checks that every signal by which a policy decides can be measured with what is open. It needs no threshold, and
/// no gate: one is trained if none is open.
pub(crate) fn check_measurable(policy: Policy, pipeline: &Pipeline) -> Result<(), AnswerError> {
    let mut signals = policy.signals();
    signals.try_for_each(|signal| match signal.told_by {
        Some(RoutingModel::Gate) => Ok(()),
        _ => check_signal(Some(signal), pipeline),
    })
}

fn check_signal(signal: Option<Signal>, pipeline: &Pipeline) -> Result<(), AnswerError> {
    let open = &pipeline.routing;
    match signal.and_then(|signal| signal.told_by) {
        Some(RoutingModel::Router) if open.router.is_none() => Err(AnswerError::NoRouter),
        Some(RoutingModel::Assessor) if open.assessor.is_none() => Err(AnswerError::NoAssessor),
        Some(RoutingModel::Gate) if open.gate.is_none() => Err(AnswerError::NoGate),
        Some(RoutingModel::Datastore) => Ok(pipeline.model.source_chooser().map(drop)?),
        _ => Ok(()),
    }
}

/// The listed policies: the settings' own, the fixed ones, and those of signals that have a threshold of their own
/// and can be measured. Clients may name others as well.
pub(crate) fn listed(pipeline: &Pipeline, has_corpus: bool) -> Vec<Policy> {
    if !has_corpus {
        return vec![Policy::NEVER];
    }
    let capabilities = pipeline.model.capabilities();
    let can_judge = capabilities.score;
    let signals = Signal::ALL.iter().copied();
    let signals = signals.filter(|signal| *signal != Signal::JUDGMENT || can_judge);
    let mut listed = vec![pipeline.settings.policy];
    let documents = capabilities.logprobs.then_some(Policy::DOCUMENTS);
    let others = [Policy::ALWAYS, Policy::NEVER].into_iter().chain(documents);
    for policy in others.chain(signals.map(Policy::measured)) {
        if !listed.contains(&policy) && check(policy, pipeline).is_ok() {
            listed.push(policy);
        }
    }
    listed
}

/// The label of a policy in metrics: its signal, or its kind. There are few of these, whatever clients ask for.
pub(crate) fn kind(policy: Policy) -> &'static str {
    match (policy.signal(), policy.retrieve) {
        (Some(_), _) if policy == Policy::DOCUMENTS => "documents",
        (Some(signal), _) => signal.name,
        (None, Rule::Never) => "never",
        (None, Rule::Chance(_)) => "random",
        (None, Rule::Oracle) => "oracle",
        (None, _) => "always",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_policies() {
        for policy in [
            "documents",
            "always",
            "never",
            "random:0.5",
            "certainty@0.4",
            "router@0.2",
            "prompt",
            "always:3",
            "certainty:0:1:5@0.2:0.4",
        ] {
            let policy: Policy = policy.parse().unwrap();
            assert_eq!(named(&name_of(policy)).unwrap(), Some(policy));
        }
        assert_eq!(named("ken").unwrap(), None);
        for unknown in [
            "",
            "ken/",
            "kenalways",
            "gpt-5",
            "always",
            "ken/certainty@x",
            "ken//always",
        ] {
            assert_eq!(
                named(unknown).unwrap_err().code(),
                "model_not_found",
                "{unknown}"
            );
        }
    }
}
