//! A change of a corpus, or what is measured on one, as a job: what it is to do, how far it is, and how it ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::evaluation::Evaluation;
use super::intake::Taken;
use super::measurer::Measured;
use super::pruning::{Prune, Restore};
use super::tool_error::ToolError;
use crate::service::clock::unix_seconds;
use crate::wire::refusal::Refusal;

/// What a job does to its corpus. Each can be done again where it was broken off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Work {
    /// Takes the documents in that were sent with it.
    Ingest,
    /// Takes a file in that is kept.
    Attach { file: String },
    /// Changes what the metadata of a file's documents says besides their own.
    Describe {
        file: String,
        attributes: Map<String, Value>,
    },
    /// Takes a file's documents out.
    Detach { file: String },
    /// Takes documents out.
    Delete { documents: Vec<String> },
    /// Brings an earlier generation back.
    Rollback { generation: u64 },
    /// Leaves passages out of every result.
    Prune(Prune),
    /// Restores them.
    Restore(Restore),
    /// Removes the corpus.
    Drop,
    /// Chooses a policy on questions.
    Tune(Evaluation),
    /// Compares policies on questions.
    Compare(Evaluation),
}

impl Work {
    /// Whether it takes this file in.
    pub(crate) fn attaches(&self, id: &str) -> bool {
        matches!(self, Self::Attach { file } if file == id)
    }

    /// What is measured, where something is and nothing changes.
    pub(crate) fn evaluation(&self) -> Option<&Evaluation> {
        match self {
            Self::Tune(evaluation) | Self::Compare(evaluation) => Some(evaluation),
            _ => None,
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Attach { .. } => "attach",
            Self::Describe { .. } => "describe",
            Self::Detach { .. } => "detach",
            Self::Delete { .. } => "delete",
            Self::Rollback { .. } => "rollback",
            Self::Prune(_) => "prune",
            Self::Restore(_) => "restore",
            Self::Drop => "drop",
            Self::Tune(_) => "tune",
            Self::Compare(_) => "compare",
        }
    }
}

/// A job as it is kept on disk until it is over.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) id: String,
    pub(crate) corpus: String,
    /// In seconds since 1970 (UTC).
    pub(crate) created: u64,
    /// Its place among all that are not over: a later one has a larger one.
    #[serde(default)]
    pub(crate) place: u64,
    /// The id of the key by which it came.
    #[serde(default)]
    pub(crate) key: Option<String>,
    #[serde(flatten)]
    pub(crate) work: Work,
}

/// How a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Waiting,
    Running,
    Done,
    Failed,
    Cancelled,
}

impl Status {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    pub(crate) fn is_over(self) -> bool {
        !matches!(self, Self::Waiting | Self::Running)
    }
}

/// Why a job, or a file of it, failed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "JobFailure")]
pub(crate) struct JobError {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// What would help.
    pub(crate) hint: Option<String>,
}

impl From<ToolError> for JobError {
    fn from(error: ToolError) -> Self {
        Self {
            code: error.kind,
            message: error.message,
            hint: error.hint,
        }
    }
}

/// A file of an upload of which nothing is taken in, and why.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "FailedFileObject")]
pub(crate) struct FailedFile {
    /// Its path in the upload.
    pub(crate) file: String,
    #[serde(flatten)]
    pub(crate) error: JobError,
}

impl From<Refusal> for JobError {
    fn from(refusal: Refusal) -> Self {
        Self {
            code: refusal.code(),
            message: refusal.message().to_owned(),
            hint: None,
        }
    }
}

/// How far a job is, and how it ended.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) status: Status,
    pub(crate) taken: Taken,
    pub(crate) failed: Vec<FailedFile>,
    pub(crate) measured: Measured,
    /// The policy that was chosen.
    pub(crate) chosen: Option<String>,
    /// In how many jobs it is its turn, while it waits: 1 for the next.
    pub(crate) place: Option<usize>,
    /// The generation from which the change holds.
    pub(crate) generation: Option<u64>,
    pub(crate) error: Option<JobError>,
    /// In seconds since 1970 (UTC).
    pub(crate) ended: Option<u64>,
}

/// A job.
pub(crate) struct Job {
    pub(crate) order: Order,
    /// Raised to cancel it.
    pub(crate) stop: Arc<AtomicBool>,
    state: watch::Sender<State>,
}

impl Job {
    pub(crate) fn new(order: Order) -> Self {
        let state = State {
            status: Status::Waiting,
            taken: Taken::default(),
            failed: Vec::new(),
            measured: Measured::default(),
            chosen: None,
            place: None,
            generation: None,
            error: None,
            ended: None,
        };
        Self {
            order,
            stop: Arc::default(),
            state: watch::Sender::new(state),
        }
    }

    pub(crate) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    pub(crate) fn progress(&self, taken: Taken) {
        self.state.send_modify(|state| state.taken = taken);
    }

    /// Says which files are not taken in.
    pub(crate) fn leaves_out(&self, failed: Vec<FailedFile>) {
        self.state.send_modify(|state| state.failed = failed);
    }

    pub(crate) fn measured(&self, measured: Measured) {
        self.state.send_modify(|state| state.measured = measured);
    }

    pub(crate) fn chose(&self, policy: String) {
        self.state.send_modify(|state| state.chosen = Some(policy));
    }

    pub(crate) fn waits(&self, place: usize) {
        self.state.send_modify(|state| state.place = Some(place));
    }

    pub(crate) fn run(&self) {
        self.state.send_modify(|state| {
            state.status = Status::Running;
            state.place = None;
        });
    }

    /// Ends it, once.
    pub(crate) fn end(&self, status: Status, generation: Option<u64>, error: Option<JobError>) {
        self.state.send_if_modified(|state| {
            let ends = !state.status.is_over();
            if ends {
                state.status = status;
                state.place = None;
                state.generation = generation;
                state.error = error;
                state.ended = Some(unix_seconds());
            }
            ends
        });
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Waits for its end, but no longer than a time.
    pub(crate) async fn ended(&self, within: Duration) {
        let mut state = self.state.subscribe();
        let over = state.wait_for(|state| state.status.is_over());
        // Whoever asks looks at the state in any case.
        let _ = tokio::time::timeout(within, over).await;
    }
}
