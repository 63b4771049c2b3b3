//! The counts of a corpus, from its manifests alone.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::CorpusError;
use super::manifest::{self, Change, Manifest};
use super::pin::{pin, pin_current};
use super::settings::Settings;

/// The counts of a generation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorpusInfo {
    /// Its number, from 1.
    pub generation: u64,
    /// Live documents.
    pub documents: u64,
    /// Live passages.
    pub passages: u64,
    /// Passages of live documents that are pruned.
    pub pruned: u64,
    /// The counts of each shard, from 0.
    pub shards: Vec<ShardInfo>,
    /// The length of all files of the generation.
    pub bytes: u64,
    /// The reference of the embedder.
    pub embedder: String,
    /// The length of a vector.
    pub dimensions: usize,
    /// How documents were cut.
    pub segmentation: String,
    /// How vectors are stored and searched.
    pub dense: String,
    /// The names under which scores of passages are kept.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub scores: BTreeSet<String>,
}

/// The counts of a shard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardInfo {
    /// Counted from 0.
    pub id: u32,
    /// Live documents.
    pub documents: u64,
    /// Live passages.
    pub passages: u64,
    /// The length of its files.
    pub bytes: u64,
}

/// A kept generation, one line of the history.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PastGeneration {
    /// Its number.
    pub generation: u64,
    /// When it was published, in seconds since 1970 (UTC).
    pub created_unix_s: u64,
    /// What made it.
    pub change: Change,
    /// Live documents.
    pub documents: u64,
    /// Live passages.
    pub passages: u64,
    /// Pruned passages.
    pub pruned: u64,
    /// Whether it is the current one.
    pub current: bool,
}

impl CorpusInfo {
    /// The current generation of the corpus at `dir`.
    ///
    /// # Errors
    /// [`CorpusError::NotACorpus`] and what reading a manifest may return.
    pub fn read(dir: &Path) -> Result<Self, CorpusError> {
        Ok(Self::of(&pin_current(dir)?.0))
    }

    pub(super) fn of(manifest: &Manifest) -> Self {
        let Settings {
            embedder,
            segmentation,
            sharding,
            dense,
        } = &manifest.settings;
        let mut shards = vec![ShardInfo::default(); sharding.count as usize];
        for (id, shard) in (0..).zip(&mut shards) {
            shard.id = id;
        }
        for segment in &manifest.segments {
            if let Some(shard) = shards.get_mut(segment.shard as usize) {
                shard.documents += u64::from(segment.live_documents);
                shard.passages += segment.live_passages;
                shard.bytes += segment.bytes();
            }
        }
        Self {
            generation: manifest.number,
            documents: shards.iter().map(|shard| shard.documents).sum(),
            passages: shards.iter().map(|shard| shard.passages).sum(),
            pruned: manifest.segments.iter().map(|s| s.pruned_passages).sum(),
            bytes: shards.iter().map(|shard| shard.bytes).sum(),
            shards,
            embedder: embedder.reference.clone(),
            dimensions: embedder.dimensions,
            segmentation: segmentation.clone(),
            dense: dense.clone(),
            scores: (manifest.segments.iter())
                .flat_map(|segment| segment.scores.keys().cloned())
                .collect(),
        }
    }
}

/// The generations of the corpus at `dir` that a rollback can restore, oldest first; the last is
/// the current one. One whose manifest is damaged is left out.
///
/// # Errors
/// As [`CorpusInfo::read`].
pub fn history(dir: &Path) -> Result<Vec<PastGeneration>, CorpusError> {
    let (current, _pin) = pin_current(dir)?;
    let mut kept = Vec::new();
    for number in manifest::numbers(dir, current.number)? {
        // Collected meanwhile, or damaged.
        let Some(_pin) = pin(dir, number)? else {
            continue;
        };
        let manifest = match manifest::read(dir, number) {
            Ok(manifest) => manifest,
            Err(CorpusError::Damaged { .. }) if number != current.number => continue,
            Err(error) => return Err(error),
        };
        let info = CorpusInfo::of(&manifest);
        kept.push(PastGeneration {
            generation: number,
            created_unix_s: manifest.created_unix_s,
            change: manifest.change,
            documents: info.documents,
            passages: info.passages,
            pruned: info.pruned,
            current: number == current.number,
        });
    }
    Ok(kept)
}
