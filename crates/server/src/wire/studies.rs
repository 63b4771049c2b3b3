//! Studies, comparisons and probes in the folder that the settings name.

use schemars::JsonSchema;
use serde::Serialize;

/// All of it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StudyList {
    /// By name.
    pub(crate) studies: Vec<StudyObject>,
}

/// A study, a comparison, a report or a probe.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct StudyObject {
    /// Its file or folder.
    pub(crate) name: String,
    /// `study` of models and corpus scales, `comparison` of policies, `probe` of what a model knows, or
    /// another `report`.
    pub(crate) kind: &'static str,
    /// When it last changed, in seconds since 1970 (UTC).
    pub(crate) changed_at: u64,
    /// The data sets of a study.
    pub(crate) datasets: Vec<StudiedDataset>,
    /// The models of a study, from small to large.
    pub(crate) models: Vec<StudiedModel>,
    /// The corpus scales of a study, in shards; 0 is without retrieval.
    pub(crate) scales: Vec<u32>,
    /// Cells of a study that are not measured yet, as of its report.
    pub(crate) missing: usize,
    /// How many questions, if known.
    pub(crate) questions: Option<usize>,
    /// The page for people, among the files.
    pub(crate) page: Option<String>,
    /// The report as data, for programs that draw it, among the files.
    pub(crate) report: Option<String>,
    /// The data, among the files.
    pub(crate) data: Option<String>,
    /// The policy that was chosen here, which `/v1/ken/policy` puts to use.
    pub(crate) chosen: Option<String>,
    /// What can be read.
    pub(crate) files: Vec<StudyFile>,
}

/// The questions of a study.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StudiedDataset {
    pub(crate) name: String,
    /// How many; null of a table of scores.
    pub(crate) questions: Option<usize>,
}

/// A model of a study.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct StudiedModel {
    pub(crate) name: String,
    pub(crate) parameters: u64,
}

/// A file of one.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StudyFile {
    /// As in the address, after the study's name.
    pub(crate) name: String,
    pub(crate) bytes: u64,
}
