//! Ending work early: when its client went away, when its deadline passed, or when the server ends. A
//! model that is asked for such work looks at that between all pieces of prompts and of texts.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use ken_language::{
    Capabilities, GenerateRequest, Generation, LanguageModel, ModelError, Progress, Prompt, Score,
    ScoreRequest, SourceChooser,
};

use crate::wire::refusal::Refusal;

/// Whether work is still wanted.
#[derive(Clone)]
pub(crate) struct Cancel {
    is_gone: Arc<dyn Fn() -> bool + Send + Sync>,
    deadline: Instant,
    halted: Arc<AtomicBool>,
}

impl Cancel {
    /// `is_gone` tells whether the client is; `halted` is raised when the server ends.
    pub(crate) fn new(
        is_gone: impl Fn() -> bool + Send + Sync + 'static,
        deadline: Instant,
        halted: Arc<AtomicBool>,
    ) -> Self {
        Self {
            is_gone: Arc::new(is_gone),
            deadline,
            halted,
        }
    }

    /// Why the work is to end; `None` where it is to go on.
    pub(crate) fn reason(&self) -> Option<Refusal> {
        if (self.is_gone)() {
            Some(Refusal::client_gone())
        } else if Instant::now() >= self.deadline {
            Some(Refusal::too_late())
        } else if self.halted.load(Ordering::Relaxed) {
            Some(Refusal::ending())
        } else {
            None
        }
    }

    /// For callbacks.
    pub(crate) fn flow(&self) -> ControlFlow<()> {
        match self.reason() {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }
}

/// A model that breaks off what it generates when that is no longer wanted, for measuring too.
pub(crate) struct Cancellable {
    pub(crate) model: Arc<dyn LanguageModel>,
    pub(crate) cancel: Cancel,
}

impl LanguageModel for Cancellable {
    fn fingerprint(&self) -> &str {
        self.model.fingerprint()
    }

    fn capabilities(&self) -> Capabilities {
        self.model.capabilities()
    }

    fn context_tokens(&self) -> usize {
        self.model.context_tokens()
    }

    fn count_tokens(&self, text: &str) -> Result<usize, ModelError> {
        self.model.count_tokens(text)
    }

    fn count_prompt_tokens(&self, prompt: &Prompt) -> Result<usize, ModelError> {
        self.model.count_prompt_tokens(prompt)
    }

    fn generate(
        &self,
        requests: &[GenerateRequest<'_, Prompt>],
        on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Generation>>, ModelError> {
        self.model.generate(requests, &mut |progress| {
            self.cancel.flow()?;
            on_progress(progress)
        })
    }

    fn score(&self, requests: &[ScoreRequest<'_, Prompt>]) -> Result<Vec<Vec<Score>>, ModelError> {
        self.model.score(requests)
    }

    fn choose(&self, requests: &[ScoreRequest<'_, Prompt>]) -> Result<Vec<Vec<f64>>, ModelError> {
        self.model.choose(requests)
    }

    fn hidden(&self, prompts: &[&Prompt], layer: usize) -> Result<Vec<Vec<f32>>, ModelError> {
        self.model.hidden(prompts, layer)
    }

    fn source_chooser(&self) -> Result<&dyn SourceChooser, ModelError> {
        self.model.source_chooser()
    }
}
