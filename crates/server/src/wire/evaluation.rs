//! Policies that are to be measured on questions.

use schemars::JsonSchema;
use serde::Deserialize;

/// What to measure.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeasureRequest {
    pub(crate) kind: MeasureKind,
    /// The policies to compare, up to 16, such as `certainty` or `certainty@0.4`.
    #[serde(default)]
    pub(crate) policies: Vec<String>,
    /// The corpus; the first where none is named.
    pub(crate) corpus: Option<String>,
    /// JSON Lines as `ken eval` reads them, each with `id`, `question` and `golden_answers`; those that were collected
    /// here where none are given.
    pub(crate) questions: Option<String>,
    /// What the questions are called, in up to 64 letters, digits, `-` and `_`.
    pub(crate) name: Option<String>,
}

/// What is asked of questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MeasureKind {
    /// Which policy is the right one, of a few that cost little.
    Tune,
    /// What each of the `policies` answers, and at which cost.
    Compare,
}
