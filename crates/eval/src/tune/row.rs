//! A candidate policy with its accuracy, its difference from the better arm, and its cost.

use ken_answer::Policy;
use serde::{Serialize, Serializer};

use crate::compare::{Answered, Arm};
use crate::paired_interval::paired_interval;
use crate::record::Record;
use crate::statistics::{mean, number, share, wilson_interval};

/// One policy on some questions. Values are `None` without questions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The policy as it would be used, with thresholds from all questions; `always` if no threshold saves a
    /// retrieval.
    #[serde(serialize_with = "as_text")]
    pub policy: Policy,
    /// The policy as it was tested: on each half of the questions with thresholds from the other half.
    #[serde(serialize_with = "as_text")]
    pub tried: Policy,
    /// The share of questions that it answers right.
    pub accuracy: Option<f64>,
    /// Its 95 % Wilson interval, low and high.
    pub accuracy_interval: Option<[f64; 2]>,
    /// Compared with the better of never and always retrieving.
    pub vs_better: PairedDifference,
    /// Searches per question.
    pub searches: Option<f64>,
    /// Tokens that the model reads and writes per question.
    pub tokens: Option<f64>,
    /// Milliseconds per question; also `None` if the time of one is unknown.
    pub ms: Option<f64>,
}

/// A difference of accuracies on the same questions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct PairedDifference {
    /// The mean over questions.
    pub difference: Option<f64>,
    /// Its 95 % interval, low and high; `[0, 0]` if both are the same by definition.
    pub interval: Option<[f64; 2]>,
}

fn as_text<S: Serializer>(policy: &Policy, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(policy)
}

impl Row {
    /// Summarizes the answers under a policy.
    pub(super) fn of(
        [policy, tried]: [Policy; 2],
        records: &[Record],
        answered: &[Answered<'_>],
        better: Arm,
    ) -> Self {
        let right = records.iter().filter(|record| record.is_right()).count();
        let averaged =
            |of: &dyn Fn(&Record) -> f64| mean(&records.iter().map(of).collect::<Vec<f64>>());
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
            tokens: averaged(&Record::token_count),
            ms: averaged(&Record::ms).filter(|ms| ms.is_finite()),
        }
    }

    /// Whether the loss against the better arm, at the lower end of the interval, is at most this.
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
            .map(|(record, q)| number(record.is_right()) - number(better.answer(q).is_right()))
            .collect::<Vec<f64>>();
        Self {
            difference: mean(&differences),
            // Differences are 1, 0 or -1, for which the interval draws nothing.
            interval: paired_interval(&differences, 0),
        }
    }
}
