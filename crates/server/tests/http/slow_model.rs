//! A model that reads a prompt for as long as the test wants, and reports when it was stopped.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ken_language::{
    Finish, GenerateRequest, Generation, LanguageModel, ModelError, Piece, Progress, Prompt, Score,
    ScoreRequest,
};
use ken_testing::TableModel;

use crate::delegated::delegated;

/// What the test sees of the model, and how it releases it.
#[derive(Default)]
pub(crate) struct Reading {
    /// Raised to finish reading all prompts.
    pub(crate) released: AtomicBool,
    /// Raised to report no progress meanwhile, as an endpoint that hangs does.
    pub(crate) silent: AtomicBool,
    /// Raised to write a word first.
    pub(crate) begins: AtomicBool,
    /// How many prompts are being read.
    pub(crate) now: AtomicUsize,
    /// How many were cancelled while being read.
    pub(crate) cancelled: AtomicUsize,
}

/// Answers as a table does, once it has read a prompt.
pub(crate) struct SlowModel {
    pub(crate) table: TableModel,
    pub(crate) reading: Arc<Reading>,
}

impl LanguageModel for SlowModel {
    delegated!(table);

    fn generate(
        &self,
        requests: &[GenerateRequest<'_, Prompt>],
        on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Generation>>, ModelError> {
        let Reading {
            released,
            silent,
            begins,
            now,
            cancelled,
        } = self.reading.as_ref();
        now.fetch_add(1, Ordering::SeqCst);
        let reading = Progress::Reading {
            request: 0,
            read: 1,
            tokens: 2,
        };
        if begins.load(Ordering::SeqCst) {
            let piece = Piece {
                request: 0,
                sample: 0,
                text: "Ida",
                logprobs: &[],
            };
            let _ = on_progress(Progress::Text(piece));
        }
        let mut wanted = true;
        while wanted && !released.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(2));
            wanted = silent.load(Ordering::SeqCst) || on_progress(reading).is_continue();
        }
        now.fetch_sub(1, Ordering::SeqCst);
        if wanted {
            return self.table.generate(requests, on_progress);
        }
        cancelled.fetch_add(1, Ordering::SeqCst);
        let mut written = self
            .table
            .generate(requests, &mut |_| ControlFlow::Continue(()))?;
        for text in written.iter_mut().flatten() {
            text.finish = Finish::Cancelled;
        }
        Ok(written)
    }

    fn score(&self, requests: &[ScoreRequest<'_, Prompt>]) -> Result<Vec<Vec<Score>>, ModelError> {
        self.table.score(requests)
    }
}
