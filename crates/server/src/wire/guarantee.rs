//! The guarantee of a policy, and whether it still holds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The guarantee of a policy, and how it stands.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct GuaranteeState {
    /// The policy that it is for.
    pub(crate) policy: String,
    /// By how much accuracy drops at most, compared with always retrieving.
    pub(crate) max_loss: f64,
    /// The confidence of that.
    pub(crate) confidence: f64,
    /// `holds`; `lapsed` where more was lost, so that `always` takes the place of the policy;
    /// `other_corpus` where the corpus has changed since.
    pub(crate) standing: String,
    /// The file of the questions that it was calibrated on.
    pub(crate) records: String,
    /// How many these were.
    pub(crate) questions: usize,
}

/// The guarantee, and what was found of it since.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GuaranteeReport {
    #[serde(flatten)]
    pub(crate) state: GuaranteeState,
    /// The share of questions that are drawn to be looked at.
    pub(crate) share: f64,
    /// The probability that losses are said to exceed it where they do not, ever.
    pub(crate) false_alarm: f64,
    pub(crate) tests: Vec<TestReport>,
}

/// A test of losses.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TestReport {
    /// `agreement`: whether answers without and with retrieval are the same. `correctness`: which is right,
    /// where feedback says so.
    pub(crate) test: &'static str,
    /// The mean loss that is allowed.
    pub(crate) limit: f64,
    /// The mean loss so far.
    pub(crate) mean: Option<f64>,
    /// Questions so far.
    pub(crate) observed: u64,
    /// Rejects where it reaches `rejects_at`.
    pub(crate) evidence: f64,
    pub(crate) rejects_at: f64,
}
