//! The guarantee of a policy, and whether it still holds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The guarantee of a policy, and how it stands.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct GuaranteeState {
    /// The policy that it is for.
    pub(crate) policy: String,
    /// What withholds answers, where `max_error` is promised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) abstain: Option<String>,
    /// By how much accuracy drops at most, compared with always retrieving, where that is promised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_loss: Option<f64>,
    /// Which share of the answers given is wrong at most, where that is promised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_error: Option<f64>,
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
    /// Whether questions of late differ from those of calibration; null where the guarantee does not tell
    /// their scores. By that alone nothing is lost, and it changes nothing.
    pub(crate) drift: Option<DriftReport>,
}

/// How what the policy measures is distributed, compared with calibration.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DriftReport {
    /// Whether it was found to be distributed otherwise.
    pub(crate) drifted: bool,
    /// After how many questions that was found.
    pub(crate) after: Option<u64>,
    /// Questions so far.
    pub(crate) observed: u64,
    /// It has drifted where this ever reaches `rejects_at`.
    pub(crate) evidence: f64,
    pub(crate) rejects_at: f64,
    /// Of about ten classes of scores, lowest first: their share at calibration, and their share since.
    pub(crate) shares: Vec<[f64; 2]>,
}

/// A test of losses, or of errors.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TestReport {
    /// `agreement`, of losses alone: whether answers without and with retrieval are the same. `correctness`:
    /// which is right, where feedback says so. `judge`: the same by a judge, where the server has one.
    pub(crate) test: &'static str,
    /// The mean loss, or the share of errors, that is allowed.
    pub(crate) limit: f64,
    /// That so far.
    pub(crate) mean: Option<f64>,
    /// Questions so far.
    pub(crate) observed: u64,
    /// Rejects where it reaches `rejects_at`.
    pub(crate) evidence: f64,
    pub(crate) rejects_at: f64,
}
