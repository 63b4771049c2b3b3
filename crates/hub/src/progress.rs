//! Progress of a pull, for the caller to display, and its cancel flag.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::HubError;

/// The stages of a pull or a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Waiting for another process that pulls the same model.
    Waiting,
    /// Receiving bytes.
    Downloading,
    /// Hashing files on disk.
    Verifying,
    /// Extracting files from an archive.
    Unpacking,
}

/// One step of progress on one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// A recognizable name of the file.
    pub file: String,
    /// Bytes of the file that this stage has processed; a resumed download starts above zero.
    pub bytes_done: u64,
    /// Bytes of the file, if known.
    pub bytes_total: Option<u64>,
    /// The current stage.
    pub stage: Stage,
}

impl Progress {
    /// The label of a progress bar, such as "fetching model.gguf".
    pub fn label(&self) -> String {
        let doing = match self.stage {
            Stage::Waiting => "waiting for",
            Stage::Downloading => "fetching",
            Stage::Verifying => "checking",
            Stage::Unpacking => "unpacking",
        };
        format!("{doing} {}", self.file)
    }
}

/// The progress callback and the cancel flag of one operation.
pub(crate) struct Watch<'a> {
    callback: &'a mut dyn FnMut(Progress),
    pub(crate) cancel: &'a AtomicBool,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(callback: &'a mut dyn FnMut(Progress), cancel: &'a AtomicBool) -> Self {
        Self { callback, cancel }
    }

    /// Fails with [`HubError::Cancelled`] once the flag is set.
    pub(crate) fn check(&self) -> Result<(), HubError> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(HubError::Cancelled);
        }
        Ok(())
    }

    /// Reports one step, or fails when cancelled.
    pub(crate) fn step(
        &mut self,
        stage: Stage,
        file: &str,
        bytes_done: u64,
        bytes_total: Option<u64>,
    ) -> Result<(), HubError> {
        self.check()?;
        (self.callback)(Progress {
            file: file.to_owned(),
            bytes_done,
            bytes_total,
            stage,
        });
        Ok(())
    }
}
