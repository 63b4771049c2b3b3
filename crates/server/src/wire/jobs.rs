//! Jobs: changes of corpora, and measurements on them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ken::CorpusSummary;
use super::prune::PruningObject;
use crate::service::library::job::{FailedFile, Job, JobError};

/// A corpus to make.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MakeCorpus {
    /// Up to 64 letters, digits, `-` and `_`.
    pub(crate) name: String,
}

/// The generation to bring back.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rollback {
    /// Its number.
    pub(crate) generation: u64,
}

/// A change of a corpus, or a measurement on one.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct JobObject {
    pub(crate) id: String,
    object: &'static str,
    /// `ingest`, `attach`, `describe`, `detach`, `delete`, `rollback`, `prune`, `restore` or `drop`; or `tune` or
    /// `compare`, which change nothing.
    kind: &'static str,
    corpus: String,
    /// `waiting`, `running`, `done`, `failed` or `cancelled`. `done` means that the change is searched.
    status: &'static str,
    /// Its progress, if it ingests documents or measures policies.
    progress: JobProgress,
    /// The files of an upload that cannot be taken in, in the order of their paths. The job takes in the others, and
    /// fails if there are none.
    failed: Vec<FailedFile>,
    /// The first generation with the change, or the one on which policies were measured; if it failed, the current
    /// one.
    generation: Option<u64>,
    /// The name of the report among the studies, if policies are measured; it is there when the job is done.
    study: Option<String>,
    /// The policy that was chosen.
    chosen: Option<String>,
    error: Option<JobError>,
    /// In seconds since 1970 (UTC).
    created_at: u64,
    /// In seconds since 1970 (UTC).
    ended_at: Option<u64>,
}

/// The progress of ingesting documents, or of measuring policies.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct JobProgress {
    /// Its place in the queue while it waits: 1 for the next.
    place: Option<usize>,
    bytes_read: u64,
    bytes_total: u64,
    /// Documents read.
    documents: usize,
    /// Passages embedded.
    passages: usize,
    /// New documents; known at the end.
    added: usize,
    /// Documents whose passages were replaced; known at the end.
    replaced: usize,
    /// Documents that were there already; known at the end.
    unchanged: usize,
    /// Questions on which policies are measured. Each counts as often as it is taken up: without evidence, with it, for
    /// signals.
    questions_done: usize,
    /// All of them.
    questions_total: usize,
}

impl From<&Job> for JobObject {
    fn from(job: &Job) -> Self {
        let state = job.state();
        let taken = state.taken;
        let evaluation = job.order.work.evaluation();
        Self {
            id: job.order.id.clone(),
            object: "job",
            kind: job.order.work.kind(),
            corpus: job.order.corpus.clone(),
            status: state.status.name(),
            progress: JobProgress {
                place: state.place,
                bytes_read: taken.bytes_read,
                bytes_total: taken.bytes_total,
                documents: taken.documents,
                passages: taken.passages,
                added: taken.added,
                replaced: taken.replaced,
                unchanged: taken.unchanged,
                questions_done: state.measured.done,
                questions_total: state.measured.total,
            },
            failed: state.failed,
            generation: state.generation,
            study: evaluation.map(|evaluation| evaluation.study.clone()),
            chosen: state.chosen,
            error: state.error,
            created_at: job.order.created,
            ended_at: state.ended,
        }
    }
}

/// A corpus with its history.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CorpusDetails {
    #[serde(flatten)]
    pub(crate) summary: CorpusSummary,
    /// The passages left out of every result, by reason.
    pub(crate) prunings: Vec<PruningObject>,
    /// The generations that a rollback can bring back, oldest first.
    pub(crate) history: Vec<PastState>,
}

/// A generation.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PastState {
    pub(crate) generation: u64,
    /// In seconds since 1970 (UTC).
    pub(crate) created_at: u64,
    /// The change that made it.
    pub(crate) change: String,
    pub(crate) documents: u64,
    pub(crate) passages: u64,
    pub(crate) pruned: u64,
    /// Whether it is the newest.
    pub(crate) current: bool,
}
