//! An intake that waits where the test wants it to, and otherwise is that of `ken serve`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ken_server::{Destination, Intake, ReadFiles, Taken, ToolError};

use crate::intake::Documents;

/// How the test holds the intake.
#[derive(Default)]
pub(crate) struct Holding {
    /// Raised to have the next documents wait before they are embedded.
    pub(crate) held: AtomicBool,
    /// Whether any documents wait.
    pub(crate) waits: AtomicBool,
}

pub(crate) struct Held {
    pub(crate) documents: Documents,
    pub(crate) holding: Arc<Holding>,
}

impl Intake for Held {
    fn recognize(&self, path: &Path) -> Result<(), ToolError> {
        self.documents.recognize(path)
    }

    fn documents(&self, folder: &Path, stop: &Arc<AtomicBool>) -> Result<ReadFiles, ToolError> {
        self.documents.documents(folder, stop)
    }

    fn take(
        &self,
        folder: &Path,
        left_out: &[PathBuf],
        into: Destination<'_>,
        progress: &mut dyn FnMut(Taken),
        stop: &Arc<AtomicBool>,
    ) -> Result<Taken, ToolError> {
        let Holding { held, waits } = self.holding.as_ref();
        while held.load(Ordering::SeqCst) && !stop.load(Ordering::SeqCst) {
            waits.store(true, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(2));
        }
        waits.store(false, Ordering::SeqCst);
        self.documents.take(folder, left_out, into, progress, stop)
    }
}
