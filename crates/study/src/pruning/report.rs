//! What pruning does to answers, bytes and search time, measured on copies of a corpus.

use std::io;
use std::path::{Path, PathBuf};

use ken_corpus::{CorpusError, CorpusInfo, join};
use ken_storage::StorageError;
use serde::Serialize;

use crate::summary::Summary;

/// What is measured at one ratio. Values are `None` where no question counts for them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PrunedRow {
    /// How passages were scored.
    pub method: &'static str,
    /// The ratio.
    pub ratio: f64,
    /// Passages that are left.
    pub passages: u64,
    /// Passages that are gone.
    pub pruned: usize,
    /// The share of questions for which a golden answer is in a passage that the model reads.
    pub coverage: Option<f64>,
    /// The share of exact matches.
    pub em: Option<f64>,
    /// The mean F1.
    pub f1: Option<f64>,
    /// The share of questions that retrieved.
    pub retrieval_ratio: Option<f64>,
    /// All files of the corpus, compacted.
    pub bytes: u64,
    /// Half of all searches take at most this long, in milliseconds.
    pub search_p50_ms: Option<f64>,
    /// 95% of them.
    pub search_p95_ms: Option<f64>,
}

impl PrunedRow {
    /// From the copy in which so many passages were pruned, and how questions were answered from it.
    #[must_use]
    pub fn new(
        method: &'static str,
        ratio: f64,
        pruned: usize,
        copy: &CorpusInfo,
        answers: &Summary,
    ) -> Self {
        let search = answers.latency_ms.stages.get("search");
        Self {
            method,
            ratio,
            passages: copy.passages,
            pruned,
            coverage: answers.gold_coverage,
            em: answers.em,
            f1: answers.f1,
            retrieval_ratio: answers.retrieval_ratio,
            bytes: copy.bytes,
            search_p50_ms: search.and_then(|latency| latency.p50),
            search_p95_ms: search.and_then(|latency| latency.p95),
        }
    }
}

/// A copy of a corpus, removed when it is dropped.
pub struct CorpusCopy(PathBuf);

impl CorpusCopy {
    /// In the place of one that a killed run left.
    ///
    /// # Errors
    /// An old copy that cannot be removed, a corpus that cannot be read, a folder that cannot be written.
    pub fn new(corpus: &Path, place: PathBuf) -> Result<Self, CorpusError> {
        match std::fs::remove_dir_all(&place) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(StorageError::new("remove", &place)(source).into());
            }
            _ => {}
        }
        let copy = Self(place);
        join(&copy.0, &[corpus.to_owned()], &mut |_| {})?;
        Ok(copy)
    }

    /// Its folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.0
    }
}

impl Drop for CorpusCopy {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next run.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
