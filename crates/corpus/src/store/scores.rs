//! Scores of a segment's passages, by name: numbers that become known after its documents were taken in, and that
//! searches filter by. The segment itself never changes.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::error::CorpusError;
use super::layout;
use super::manifest::{self, FileManifest, SegmentManifest};
use super::verify;

/// For each name, a number for each passage by its ordinal. One that is not finite says that the passage has no score.
#[derive(Debug, Clone, Default)]
pub(super) struct Scores(BTreeMap<String, Vec<f32>>);

impl Scores {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a passage has scores of all these names.
    pub(super) fn has_all(&self, ordinal: usize, names: &[&str]) -> bool {
        let mut columns = names.iter().map(|name| self.0.get(*name));
        columns.all(|scores| scores.and_then(|scores| finite(scores, ordinal)).is_some())
    }

    /// Adds those of a passage to the metadata of its document, in place of fields of the same names.
    pub(super) fn add_to(&self, ordinal: usize, metadata: &mut Map<String, Value>) {
        for (name, scores) in &self.0 {
            if let Some(score) = finite(scores, ordinal) {
                metadata.insert(name.clone(), score_in_metadata(score).into());
            }
        }
    }

    /// Gives the passage at `to` the scores that one has in another segment.
    pub(super) fn copy(&mut self, to: usize, other: &Self, ordinal: usize) {
        for (name, scores) in &other.0 {
            if let Some(&score) = scores.get(ordinal) {
                let own = self.0.entry(name.clone()).or_default();
                own.resize(to, f32::NAN);
                own.push(score);
            }
        }
    }

    /// Leaves the passages without scores that have none yet, up to `passages`.
    pub(super) fn resize(&mut self, passages: usize) {
        for scores in self.0.values_mut() {
            scores.resize(passages, f32::NAN);
        }
    }

    /// Reads the files of a segment, which must hold what was published.
    pub(super) fn read(corpus: &Path, segment: &SegmentManifest) -> Result<Self, CorpusError> {
        let files = segment.scores.iter().map(|(name, published)| {
            let path = layout::marks(corpus).join(&published.name);
            let bytes = manifest::read_file(&path)?;
            if FileManifest::of_bytes(&published.name, &bytes) != *published {
                return Err(verify::changed(&path));
            }
            let numbers = bytes.chunks_exact(size_of::<f32>());
            let scores = numbers.filter_map(|number| number.first_chunk::<4>());
            let scores = scores.map(|number| f32::from_le_bytes(*number));
            Ok((name.clone(), scores.collect::<Vec<f32>>()))
        });
        files.collect::<Result<_, _>>().map(Self)
    }

    /// Brings all of them to the disk, as of a generation.
    pub(super) fn write(
        &self,
        corpus: &Path,
        generation: u64,
        segment: &str,
    ) -> Result<BTreeMap<String, FileManifest>, CorpusError> {
        let each = self.0.iter().map(|(name, scores)| {
            let file = write(corpus, generation, segment, name, scores)?;
            Ok((name.clone(), file))
        });
        each.collect()
    }
}

/// The score of a passage, if it has one.
fn finite(scores: &[f32], ordinal: usize) -> Option<f32> {
    let score = scores.get(ordinal).copied();
    score.filter(|score| score.is_finite())
}

/// Brings the scores of a name to the disk, as of a generation.
pub(super) fn write(
    corpus: &Path,
    generation: u64,
    segment: &str,
    name: &str,
    scores: &[f32],
) -> Result<FileManifest, CorpusError> {
    let file = layout::scores_name(generation, segment, name);
    let bytes: Vec<u8> = scores
        .iter()
        .flat_map(|score| score.to_le_bytes())
        .collect();
    ken_storage::replace(&layout::marks(corpus).join(&file), &bytes)?;
    Ok(FileManifest::of_bytes(&file, &bytes))
}

/// The number that a score is in metadata, where filters compare it: that of its shortest decimals, such as 0.1, and not
/// 0.10000000149011612.
pub fn score_in_metadata(score: f32) -> f64 {
    let decimals = score.to_string().parse::<f64>();
    decimals.unwrap_or(f64::from(score))
}
