//! Policies to measure on questions.

use schemars::JsonSchema;
use serde::Deserialize;

/// What to measure.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeasureRequest {
    pub(crate) kind: MeasureKind,
    /// The policies to compare, up to 16, such as `certainty` or `certainty@0.4`.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) policies: Vec<String>,
    /// The corpus; by default the first.
    pub(crate) corpus: Option<String>,
    /// JSON Lines as `ken eval` reads them, each with `id`, `question` and `golden_answers`; by default those
    /// collected here.
    pub(crate) questions: Option<String>,
    /// The name of the questions, up to 64 letters, digits, `-` and `_`.
    pub(crate) name: Option<String>,
}

/// The kind of measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MeasureKind {
    /// Chooses the right policy among a few that cost little.
    Tune,
    /// Compares the answers and the costs of the `policies`.
    Compare,
}
