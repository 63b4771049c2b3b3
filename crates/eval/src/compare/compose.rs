//! The answer and the cost of a policy, composed for each question from one of its two answers and the costs of
//! deciding. `tests/evaluation/comparison.rs` checks that the pipeline does the same.

use std::collections::BTreeSet;

use ken_answer::{
    Abstention, Cost, Measurements, Policy, Signal, Step, chance, signals_of_abstention,
};
use ken_policy::{Decision, Reading, Rule, Source};

use super::signals::Signals;
use crate::record::Record;
use crate::statistics::number;

/// A question with both answers and the signals of policies.
#[derive(Debug, Clone, Copy)]
pub struct Answered<'a> {
    /// The answer without retrieval.
    pub never: &'a Record,
    /// The answer with retrieval.
    pub always: &'a Record,
    /// The answers under other policies: with fewer search results, and under those that have their own answers.
    pub others: &'a [(Policy, Record)],
    /// The measured signals; `None` if no policy needs any.
    pub signals: Option<&'a Signals>,
    /// Its subject. Thresholds are never chosen on questions with the same subject.
    pub subject: &'a str,
}

impl<'a> Answered<'a> {
    /// A question with no answers under other policies.
    pub fn new(
        never: &'a Record,
        always: &'a Record,
        signals: Option<&'a Signals>,
        subject: &'a str,
    ) -> Self {
        Self {
            never,
            always,
            others: &[],
            signals,
            subject,
        }
    }

    /// The answer that follows from a decision.
    pub(super) fn after(&self, decision: Decision) -> &'a Record {
        match decision {
            Decision::Spared | Decision::Dropped => self.never,
            Decision::Kept(None) => self.always,
            // Other values of k answer as `always`.
            Decision::Kept(Some(k)) => self.under(Policy::always_k(k)).unwrap_or(self.always),
        }
    }

    /// The answer under another policy, if there is one.
    fn under(&self, policy: Policy) -> Option<&'a Record> {
        let answer = self.others.iter().find(|(other, _)| *other == policy);
        answer.map(|(_, record)| record)
    }

    /// The answer under a policy that has its own answers.
    fn own(&self, policy: Policy) -> Option<&'a Record> {
        self.under(policy).filter(|_| has_own_answers(policy))
    }

    /// The first signal of a policy; `None` if there is none, it was not measured, or it cannot tell.
    pub(crate) fn score(&self, policy: Policy) -> Option<f64> {
        let (signal, signals) = (policy.signal()?, self.signals?);
        let reading = match policy.searches_by() {
            Some(signal) => signal.of(&signals.without),
            None => signal.weigh(&signals.without, &signals.with),
        };
        reading.number()
    }

    /// The signal that reviews the evidence; `None` in the same cases.
    pub(super) fn review_score(&self, policy: Policy) -> Option<f64> {
        let signals = self.signals?;
        let reviewer = policy.reviews_by()?;
        reviewer.review(&signals.without, &signals.with).number()
    }
}

/// Whether a policy has its own answers instead of those of never or always retrieving: a policy that says when
/// documents do not answer writes full answers from a different prompt, and reads no evidence of questions off topic.
pub fn has_own_answers(policy: Policy) -> bool {
    policy.withhold.is_some()
}

/// The decision for a question by a policy with its thresholds, or the recorded one of a policy with its own answers.
pub(super) fn decide(policy: Policy, seed: u64, answered: &Answered<'_>) -> Decision {
    if let Some(own) = answered.own(policy) {
        return match own.route {
            Some(Source::Corpus) => Decision::Kept(None),
            _ if own.searched() => Decision::Dropped,
            _ => Decision::Spared,
        };
    }
    let score = match policy.retrieve {
        Rule::Chance(_) => Some(chance(seed, answered.never.question.trim())),
        _ => answered.score(policy),
    };
    let helps = answered.always.is_right() && !answered.never.is_right();
    ken_policy::decide(&policy, score, answered.review_score(policy), helps)
}

/// What has to vouch for an answer, besides the policy's own signal.
#[derive(Debug, Clone, Copy)]
struct Doubted {
    abstention: Abstention,
    /// Whether the answer used evidence.
    is_read: bool,
}

impl Doubted {
    /// `None` if the policy's own signal chose an answer from memory, or nothing withholds answers.
    fn of(abstain: Option<Abstention>, policy: Policy, decision: Decision) -> Option<Self> {
        let is_vouched = decision == Decision::Spared && policy.searches_by().is_some();
        Some(Self {
            abstention: abstain.filter(|_| !is_vouched)?,
            is_read: decision.is_kept(),
        })
    }

    /// The reading that vouches for the answer, or not; without evidence, no signal weighs any.
    fn reading(self, signals: &Signals) -> Reading {
        let signal = self.abstention.signal;
        match self.is_read {
            true => signal.review(&signals.without, &signals.with),
            false => signal.of(&signals.without),
        }
    }

    /// The steps that it takes without and with evidence.
    fn steps(self, signals: &Signals) -> [Vec<Step>; 2] {
        let [signal, answer] = signals_of_abstention(self.abstention);
        let of_answer = || answer.steps.iter().copied();
        let own = |signal: Signal| signal.steps.iter().copied();
        match (self.is_read, signal.weighs_evidence()) {
            (true, weighs) => {
                let review = signal.taken_in_review(&signals.with).into_iter();
                let before = own(signal).filter(|_| weighs);
                [before.collect(), review.chain(of_answer()).collect()]
            }
            (false, true) => [of_answer().collect(), Vec::new()],
            (false, false) => [own(signal).chain(of_answer()).collect(), Vec::new()],
        }
    }
}

/// Whether the model reads evidence for a question: to answer from it, or to reject it.
pub(super) fn is_read(policy: Policy, decision: Decision, answered: &Answered<'_>) -> bool {
    match decision {
        Decision::Spared => false,
        Decision::Kept(_) => true,
        Decision::Dropped => {
            let reviewer = policy.reviews_by().zip(answered.signals);
            let taken = reviewer.map(|(signal, signals)| signal.taken_in_review(&signals.with));
            // The search rates passages, and a gate only computes.
            let is_read = |step: &Step| !matches!(step, Step::Rate | Step::Gate);
            taken.is_some_and(|steps| steps.iter().any(is_read))
        }
    }
}

/// The gain in right answers from retrieval for a question: 1, 0 or -1.
pub(super) fn gain(answered: &Answered<'_>) -> f64 {
    number(answered.always.is_right()) - number(answered.never.is_right())
}

/// The stages of retrieval in the times of a trace.
const RETRIEVAL: [&str; 3] = ["embed", "search", "rerank"];

/// The record that the policy would have produced.
pub(super) fn compose(
    policy: Policy,
    abstain: Option<Abstention>,
    decision: Decision,
    answered: &Answered<'_>,
) -> Record {
    if let Some(own) = answered.own(policy) {
        return own.clone();
    }
    let mut record = answered.after(decision).clone();
    record.policy = policy.to_string();
    if decision == Decision::Dropped {
        add_search(&mut record, answered.always);
    }
    let Some(signals) = answered.signals else {
        return record;
    };
    let searched_by = policy
        .searches_by()
        .map(|signal| signal.of(&signals.without));
    record.cannot_tell |= searched_by.is_some_and(Reading::cannot_tell);
    let (mut before, mut of_evidence) = (BTreeSet::new(), BTreeSet::new());
    before.extend(policy.searches_by().iter().flat_map(|signal| signal.steps));
    if let Some(reviewer) = policy.reviews_by().filter(|_| decision != Decision::Spared) {
        record.cannot_tell |= reviewer
            .review(&signals.without, &signals.with)
            .cannot_tell();
        before.extend(reviewer.steps);
        of_evidence.extend(reviewer.taken_in_review(&signals.with));
    }
    // A question that failed has no answer to withhold.
    let answered = record.error.is_none();
    if let Some(doubted) = Doubted::of(abstain, policy, decision).filter(|_| answered) {
        let [without, with] = doubted.steps(signals);
        before.extend(without);
        of_evidence.extend(with);
        let reading = doubted.reading(signals);
        record.cannot_tell |= reading.cannot_tell();
        if !doubted.abstention.vouches(reading.number()) {
            record = record.withheld();
        }
    }
    // If deciding took the answer itself, it is not written again.
    let (drafted, measured) = match decision {
        Decision::Spared | Decision::Dropped => (before.contains(&Step::Greedy), &signals.without),
        Decision::Kept(_) => (of_evidence.contains(&Step::Greedy), &signals.with),
    };
    // An answer from verbalized knowledge is not the draft, nor is a full answer.
    if drafted && !record.full && !record.timing_ms.contains_key("verbalize") {
        forget_writing(&mut record, measured);
    }
    let before = before.iter().map(|step| (*step, &signals.without));
    let of_evidence = of_evidence.iter().map(|step| (*step, &signals.with));
    for (step, measured) in before.chain(of_evidence) {
        if let Some(cost) = measured.costs.get(&step) {
            pay(&mut record, step, cost);
        }
    }
    record
}

/// Adds the search for dropped evidence to a record.
fn add_search(record: &mut Record, always: &Record) {
    record.retrieved.clone_from(&always.retrieved);
    record.gold_rank = always.gold_rank;
    record.gold_covered = always.gold_covered.map(|_| false);
    record.calls.retriever += always.calls.retriever;
    for stage in RETRIEVAL {
        if let Some(&ms) = always.timing_ms.get(stage) {
            add(record, stage, ms);
        }
    }
}

/// Removes the cost of writing the answer from a record, since the draft includes it.
fn forget_writing(record: &mut Record, draft: &Measurements) {
    let Some(cost) = draft.costs.get(&Step::Greedy) else {
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
    record.calls.retriever += cost.calls.retriever;
    record.tokens.prompt += cost.tokens.prompt;
    record.tokens.completion += cost.tokens.completion;
    add(record, &step.name(), cost.ms);
}

/// Adds to a stage and to the total.
fn add(record: &mut Record, stage: &str, ms: f64) {
    for name in [stage, "total"] {
        *record.timing_ms.entry(name.to_owned()).or_default() += ms;
    }
}
