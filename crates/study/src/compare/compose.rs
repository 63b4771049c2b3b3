//! What a policy would have answered at what cost: for each question one of its two answers, with
//! what deciding took. That this is what the pipeline does is tested in `tests/comparison.rs`.

use ken_answer::{Cost, Measurements, Policy, Step, chance};

use super::signals::Signals;
use super::threshold::Thresholds;
use crate::record::Record;

/// A question with both answers and what policies decide by.
#[derive(Debug, Clone, Copy)]
pub struct Answered<'a> {
    /// Answered without retrieval.
    pub never: &'a Record,
    /// Answered with retrieval.
    pub always: &'a Record,
    /// What was measured to decide by; `None` where no policy needs it.
    pub signals: Option<&'a Signals>,
}

impl Answered<'_> {
    /// The signal of a policy without evidence; `None` where it has none or it was not measured.
    pub(super) fn score(&self, policy: Policy) -> Option<f64> {
        policy.signal()?.of(&self.signals?.without)
    }
}

/// What a policy decides for a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// It is answered from memory.
    Spared,
    /// Retrieved, and answered from that.
    Kept,
    /// Retrieved, judged again, and answered from memory.
    Dropped,
}

/// Decides for a question of a half.
pub(super) fn decide(
    policy: Policy,
    thresholds: Option<Thresholds>,
    half: usize,
    seed: u64,
    answered: &Answered<'_>,
) -> Decision {
    let retrieves = |yes| {
        if yes {
            Decision::Kept
        } else {
            Decision::Spared
        }
    };
    match policy {
        Policy::Always => Decision::Kept,
        Policy::Never => Decision::Spared,
        Policy::Random { share } => retrieves(chance(seed, answered.never.question.trim()) < share),
        Policy::Oracle => retrieves(answered.always.em && !answered.never.em),
        Policy::Measured { signal, double, .. } => {
            let score = answered.score(policy);
            let threshold = thresholds.and_then(|thresholds| thresholds.of(half));
            // As in the pipeline: what is no number retrieves.
            let spared = score
                .zip(threshold)
                .is_some_and(|(score, threshold)| score <= threshold);
            if spared {
                return Decision::Spared;
            }
            let with = answered
                .signals
                .and_then(|signals| signal.of(&signals.with));
            match score.zip(with).filter(|_| double) {
                Some((without, with)) if !Policy::keeps(without, with) => Decision::Dropped,
                _ => Decision::Kept,
            }
        }
    }
}

/// The stages of retrieval among the times of a trace.
const RETRIEVAL: [&str; 3] = ["embed", "search", "rerank"];

/// The record that the policy would have left.
pub(super) fn compose(policy: Policy, decision: Decision, answered: &Answered<'_>) -> Record {
    let mut record = match decision {
        Decision::Kept => answered.always.clone(),
        Decision::Spared | Decision::Dropped => answered.never.clone(),
    };
    record.policy = policy.to_string();
    if decision == Decision::Dropped {
        let always = answered.always;
        record.retrieved.clone_from(&always.retrieved);
        record.gold_rank = always.gold_rank;
        record.gold_covered = always.gold_covered.map(|_| false);
        record.calls.retriever += always.calls.retriever;
        for stage in RETRIEVAL {
            if let Some(&ms) = always.timing_ms.get(stage) {
                add(&mut record, stage, ms);
            }
        }
    }
    let (Some(signal), Some(signals)) = (policy.signal(), answered.signals) else {
        return record;
    };
    let twice = policy.judges_twice() && decision != Decision::Spared;
    // What decided may have been the answer itself, which is not written again.
    let answer = match decision {
        Decision::Spared | Decision::Dropped => Some(&signals.without),
        Decision::Kept => twice.then_some(&signals.with),
    };
    // An answer from verbalized knowledge is not the draft.
    let verbalized = record.timing_ms.contains_key("verbalize");
    let drafted = signal.steps.contains(&Step::Draft) && !verbalized;
    if let Some(draft) = answer.filter(|_| drafted) {
        forget_writing(&mut record, draft);
    }
    let measured = [Some(&signals.without), twice.then_some(&signals.with)];
    let mut is_timed = true;
    for step in signal.steps {
        for cost in measured.iter().flatten().filter_map(|t| t.costs.get(step)) {
            is_timed &= cost.ms.is_some();
            pay(&mut record, *step, cost);
        }
    }
    if !is_timed {
        // Less than all of it is no time of the question.
        record.timing_ms.remove("total");
    }
    record
}

/// Takes out of a record what writing its answer cost, which the draft has paid.
fn forget_writing(record: &mut Record, draft: &Measurements) {
    let Some(cost) = draft.costs.get(&Step::Draft) else {
        return;
    };
    record.calls.model = record.calls.model.saturating_sub(1);
    record.tokens.prompt = record.tokens.prompt.saturating_sub(cost.tokens.prompt);
    record.tokens.completion = record
        .tokens
        .completion
        .saturating_sub(cost.tokens.completion);
    for stage in ["read", "write"] {
        if let Some(ms) = record.timing_ms.remove(stage) {
            *record.timing_ms.entry("total".to_owned()).or_default() -= ms;
        }
    }
}

fn pay(record: &mut Record, step: Step, cost: &Cost) {
    record.calls.model += cost.calls.model;
    record.tokens.prompt += cost.tokens.prompt;
    record.tokens.completion += cost.tokens.completion;
    if let Some(ms) = cost.ms {
        add(record, step.name(), ms);
    }
}

/// Adds to a stage and to the whole.
fn add(record: &mut Record, stage: &str, ms: f64) {
    for name in [stage, "total"] {
        *record.timing_ms.entry(name.to_owned()).or_default() += ms;
    }
}
