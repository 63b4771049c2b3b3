//! Ends work early: when its client has gone away, its deadline has passed, or the server ends. Models that do such
//! work are bound to its token, and stop waiting for whatever they wait for.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use ken_language::CancelToken;

use crate::wire::refusal::Refusal;

/// Whether work is still wanted.
#[derive(Clone)]
pub(crate) struct Cancel {
    is_gone: Arc<dyn Fn() -> bool + Send + Sync>,
    deadline: Instant,
    halted: Arc<AtomicBool>,
}

impl Cancel {
    /// `is_gone` tells whether the client has gone; `halted` is raised when the server ends.
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

    /// Why the work must end; `None` if it may go on.
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

    /// # Errors
    /// Why the work should end.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        self.reason().map_or(Ok(()), Err)
    }

    /// The refusal for failed work: why it had to end, if it had to, or else what failed.
    pub(crate) fn refusal(&self, error: impl Into<Refusal>) -> Refusal {
        let error = error.into();
        match self.reason() {
            Some(reason) => reason.after(error),
            None => error,
        }
    }

    /// A token for models: set as soon as there is a reason.
    pub(crate) fn token(&self) -> CancelToken {
        let is_gone = Arc::clone(&self.is_gone);
        let halted = CancelToken::raised_by(Arc::clone(&self.halted));
        CancelToken::when(move || is_gone())
            .or(&halted)
            .by(self.deadline)
    }

    /// The flow for callbacks: it breaks as soon as there is a reason.
    pub(crate) fn flow(&self) -> ControlFlow<()> {
        ken_language::break_if(self.reason().is_some())
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use axum::response::IntoResponse;
    use ken_language::{Cancelled, Fault, ModelError, ServerFault};

    use super::*;

    #[test]
    fn a_deadline_at_a_model_server_is_worth_another_attempt() {
        let cancel = |deadline| Cancel::new(|| false, deadline, Arc::default());
        let past = cancel(Instant::now());
        assert!(past.token().is_set());
        let retried = |error: ModelError| {
            let response = past.refusal(Refusal::of_model(&error)).into_response();
            assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
            response.headers()["x-should-retry"] == "true"
        };
        let late = Fault::Server(ServerFault::Late);
        assert!(retried(ModelError::new(Cancelled).by(late)));
        assert!(!retried(ModelError::new(Cancelled)));
        let early = cancel(Instant::now() + std::time::Duration::from_secs(60));
        let denied = ModelError::new(Cancelled).by(Fault::Server(ServerFault::Denies));
        let refusal = early.refusal(Refusal::of_model(&denied));
        assert_eq!(refusal.status, StatusCode::BAD_GATEWAY);
    }
}
