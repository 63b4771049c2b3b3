//! The guarantee of a policy, and whether it still holds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The guarantee of a policy, and how it stands.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct GuaranteeState {
    /// The policy that it is for.
    pub(crate) policy: String,
    /// The abstention, if `max_error` is promised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) abstain: Option<String>,
    /// The most accuracy that is lost compared with always retrieving, if that is promised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_loss: Option<f64>,
    /// The largest share of wrong answers among those given, if that is promised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_error: Option<f64>,
    /// The confidence of the promise.
    pub(crate) confidence: f64,
    /// `holds`; `lapsed` if more was lost, so that `always` replaces the policy; `other_corpus` if the corpus has
    /// changed since.
    pub(crate) standing: String,
    /// The file of the questions that it was calibrated on.
    pub(crate) records: String,
    /// The number of these questions.
    pub(crate) questions: usize,
}

/// The guarantee, and what watching it has shown since.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GuaranteeReport {
    #[serde(flatten)]
    pub(crate) state: GuaranteeState,
    /// The share of questions that are drawn for a check.
    pub(crate) share: f64,
    /// The probability of ever reporting too many losses when there are not.
    pub(crate) false_alarm: f64,
    pub(crate) tests: Vec<TestReport>,
    /// Whether recent questions differ from those of calibration; null if the guarantee does not have their scores.
    /// Drift alone loses nothing, and changes nothing.
    pub(crate) drift: Option<DriftReport>,
}

/// The distribution of the policy's scores, compared with calibration.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DriftReport {
    /// Whether it was found to differ.
    pub(crate) drifted: bool,
    /// After how many questions that was found.
    pub(crate) after: Option<u64>,
    /// Questions so far.
    pub(crate) observed: u64,
    /// Drift is found if this ever reaches `rejects_at`.
    pub(crate) evidence: f64,
    pub(crate) rejects_at: f64,
    /// Of about ten classes of scores, lowest first: their share at calibration, and their share since.
    pub(crate) shares: Vec<[f64; 2]>,
}

/// A test of losses, or of errors.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TestReport {
    /// `agreement`, for losses only: whether answers without and with retrieval are the same. `correctness`: which is
    /// right, by feedback. `judge`: which is right, by the server's judge.
    pub(crate) test: &'static str,
    /// The mean loss, or the share of errors, that is allowed.
    pub(crate) limit: f64,
    /// The mean so far.
    pub(crate) mean: Option<f64>,
    /// Questions so far.
    pub(crate) observed: u64,
    /// The test rejects if this reaches `rejects_at`.
    pub(crate) evidence: f64,
    pub(crate) rejects_at: f64,
}
