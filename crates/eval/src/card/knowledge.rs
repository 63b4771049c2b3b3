//! What a model knows about some questions: how much of each kind, whether it knows that it knows, the effect of
//! evidence, and what a search is worth.

use ken_answer::Policy;
use serde::Serialize;

use crate::bootstrap::{DRAWS, interval};
use crate::compare::{Answered, grouped_by};
use crate::dataset::Question;
use crate::discrimination::{Prediction, auroc};
use crate::measure::Measure;
use crate::paired_interval::paired_interval;
use crate::record::Record;
use crate::statistics::{mean, number};

/// The number of equal parts of the questions, ordered by a signal.
pub(super) const PARTS: usize = 10;

/// What a model knows about some questions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Card {
    /// The number of questions.
    pub n: usize,
    /// All of them.
    pub all: Knowledge,
    /// Groups of questions, by metadata fields.
    pub by: Vec<KnowledgeBy>,
    /// How well each signal predicts what the model knows.
    pub signals: Vec<SelfKnowledge>,
    /// What a search is worth.
    pub search: SearchWorth,
    /// The seed of all random draws.
    pub seed: u64,
}

/// The accuracy on some questions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Knowledge {
    /// The number of questions.
    pub n: usize,
    /// The share right from memory.
    pub memory: Measure,
    /// The share right with evidence.
    pub evidence: Measure,
    /// The share wrong from memory and right with evidence.
    pub helped: Measure,
    /// The share right from memory and wrong with evidence.
    pub harmed: Measure,
    /// Of those right from memory, the share wrong with evidence.
    pub misled: Measure,
}

/// The questions by a field.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KnowledgeBy {
    /// The field.
    pub field: String,
    /// Its values, or bins of numbers, each with the accuracy on its questions.
    pub groups: Vec<(String, Knowledge)>,
}

/// How well a signal predicts what the model knows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SelfKnowledge {
    /// The signal.
    pub signal: &'static str,
    /// Questions with a value of the signal.
    pub n: usize,
    /// The probability that the signal is surer of a question that memory answers right than of one that memory
    /// answers wrong.
    pub auroc: Option<f64>,
    /// Its 95 % bootstrap interval, low and high.
    pub auroc_interval: Option<[f64; 2]>,
    /// The share right from memory in each tenth of the questions, the surest first.
    pub tenths: Vec<Measure>,
}

/// The gain and the cost of searching for every question instead of none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchWorth {
    /// The gain in the share of right answers.
    pub gain: Option<f64>,
    /// Its 95 % paired interval, low and high.
    pub gain_interval: Option<[f64; 2]>,
    /// Additional tokens, read and written, per question.
    pub tokens: Option<f64>,
    /// Additional milliseconds per question; also `None` if a time is unknown.
    pub ms: Option<f64>,
}

impl Knowledge {
    fn of(answered: &[Answered<'_>]) -> Self {
        let rate = |of: fn(bool, bool) -> bool| {
            Measure::share(
                answered
                    .iter()
                    .map(|q| of(q.never.is_right(), q.always.is_right())),
            )
        };
        let known = answered.iter().filter(|question| question.never.is_right());
        Self {
            n: answered.len(),
            memory: rate(|memory, _| memory),
            evidence: rate(|_, evidence| evidence),
            helped: rate(|memory, evidence| !memory && evidence),
            harmed: rate(|memory, evidence| memory && !evidence),
            misled: Measure::share(known.map(|question| !question.always.is_right())),
        }
    }
}

impl SelfKnowledge {
    fn of(policy: Policy, answered: &[Answered<'_>], seed: u64) -> Option<Self> {
        let signal = policy.signal()?.name;
        let scored = answered.iter();
        let scored = scored.filter_map(|q| Some((-q.score(policy)?, q.never.is_right())));
        let mut scored: Vec<Prediction> = scored.collect();
        let auroc_interval = interval(&scored, DRAWS, seed, auroc);
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        let n = scored.len();
        let tenths = (0..PARTS.min(n)).map(|part| {
            let parts = PARTS.min(n);
            let range = part * n / parts..(part + 1) * n / parts;
            Measure::share(scored[range].iter().map(|prediction| prediction.1))
        });
        Some(Self {
            signal,
            n,
            auroc: auroc(&scored),
            auroc_interval,
            tenths: tenths.collect(),
        })
    }
}

impl SearchWorth {
    fn of(answered: &[Answered<'_>], seed: u64) -> Self {
        let difference = |of: &dyn Fn(&Record) -> f64| -> Vec<f64> {
            let differences = answered.iter().map(|q| of(q.always) - of(q.never));
            differences.collect()
        };
        let gains = difference(&|record| number(record.is_right()));
        let ms = |record: &Record| record.timing_ms.get("total").copied().unwrap_or(f64::NAN);
        Self {
            gain: mean(&gains),
            gain_interval: paired_interval(&gains, seed),
            tokens: mean(&difference(&Record::token_count)),
            ms: mean(&difference(&ms)).filter(|ms| ms.is_finite()),
        }
    }
}

/// The card of questions answered without and with evidence, with the signals of these answers.
///
/// # Shapes
/// `questions`, `answered`: `[questions]`, in the same order.
pub fn card(
    questions: &[Question],
    answered: &[Answered<'_>],
    policies: &[Policy],
    fields: &[String],
    seed: u64,
) -> Card {
    let by = fields.iter().map(|field| {
        let groups = grouped_by(field, questions, answered).into_iter();
        KnowledgeBy {
            field: field.clone(),
            groups: groups
                .map(|(value, answered)| (value, Knowledge::of(&answered)))
                .collect(),
        }
    });
    let signals = policies.iter();
    Card {
        n: questions.len(),
        all: Knowledge::of(answered),
        by: by.collect(),
        signals: signals
            .filter_map(|policy| SelfKnowledge::of(*policy, answered, seed))
            .collect(),
        search: SearchWorth::of(answered, seed),
        seed,
    }
}
