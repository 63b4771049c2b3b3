//! A candidate policy with its accuracy, its difference from the better arm, and its cost.

use ken_answer::Policy;
use serde::{Serialize, Serializer};

use crate::compare::{Answered, Arm};
use crate::paired_interval::paired_interval;
use crate::record::Record;
use crate::statistics::{mean, number, share, wilson_interval};

/// One policy on some questions. Values are `None` where there is no question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The policy as it is used: with the thresholds from all questions. Where no threshold spares anything, `always`.
    #[serde(serialize_with = "as_text")]
    pub policy: Policy,
    /// The policy as it was tried: measured on each half of the questions at thresholds from the other.
    #[serde(serialize_with = "as_text")]
    pub tried: Policy,
    /// The share of questions that are answered right.
    pub accuracy: Option<f64>,
    /// Its 95 % Wilson interval, low and high.
    pub accuracy_interval: Option<[f64; 2]>,
    /// Against the better of never and always retrieving.
    pub vs_better: PairedDifference,
    /// Searches of a question.
    pub searches: Option<f64>,
    /// Tokens that the model read and wrote for a question.
    pub tokens: Option<f64>,
    /// Milliseconds of a question; `None` also where one is unknown.
    pub ms: Option<f64>,
}

/// A difference of accuracies on the same questions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct PairedDifference {
    /// The mean over questions.
    pub difference: Option<f64>,
    /// Its 95 % interval, low and high; nothing but 0 of what is the same by its definition.
    pub interval: Option<[f64; 2]>,
}

fn as_text<S: Serializer>(policy: &Policy, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(policy)
}

impl Row {
    /// Sums up the answers under a policy.
    pub(super) fn of(
        [policy, tried]: [Policy; 2],
        records: &[Record],
        answered: &[Answered<'_>],
        better: Arm,
    ) -> Self {
        let right = records.iter().filter(|record| record.is_right()).count();
        let averaged =
            |of: &dyn Fn(&Record) -> f64| mean(&records.iter().map(of).collect::<Vec<f64>>());
        let tokens = |record: &Record| (record.tokens.prompt + record.tokens.completion) as f64;
        // What failed took no time that counts.
        let ms = |record: &Record| {
            let total = record.timing_ms.get("total").copied();
            total
                .or(record.error.as_ref().map(|_| 0.0))
                .unwrap_or(f64::NAN)
        };
        Self {
            policy,
            tried,
            accuracy: share(records.iter().map(Record::is_right)),
            accuracy_interval: wilson_interval(right, records.len()),
            vs_better: match tried == better.policy() {
                true => PairedDifference {
                    difference: Some(0.0),
                    interval: Some([0.0, 0.0]),
                },
                false => PairedDifference::of(records, answered, better),
            },
            searches: averaged(&|record| record.calls.retriever as f64),
            tokens: averaged(&tokens),
            ms: averaged(&ms).filter(|ms| ms.is_finite()),
        }
    }

    /// Whether at most this much is lost against the better arm, at the lower end of the interval.
    pub(super) fn loses_at_most(&self, max_loss: f64) -> bool {
        self.vs_better
            .interval
            .is_some_and(|[low, _]| low >= -max_loss)
    }
}

impl PairedDifference {
    fn of(records: &[Record], answered: &[Answered<'_>], better: Arm) -> Self {
        let pairs = records.iter().zip(answered);
        let differences = pairs
            .map(|(record, one)| number(record.is_right()) - number(better.answer(one).is_right()))
            .collect::<Vec<f64>>();
        Self {
            difference: mean(&differences),
            // Both are right or wrong, so nothing is drawn.
            interval: paired_interval(&differences, 0),
        }
    }
}
