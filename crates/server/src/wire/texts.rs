//! One text or several.

use schemars::JsonSchema;
use serde::Deserialize;

/// A text or a list of texts.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a text or a list of texts")]
pub(crate) enum Texts {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl From<Texts> for Vec<String> {
    fn from(texts: Texts) -> Self {
        match texts {
            Texts::One(text) => vec![text],
            Texts::Several(texts) => texts,
        }
    }
}
