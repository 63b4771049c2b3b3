//! Cancelling work whose result is no longer wanted: a token that belongs to a question, and models bound
//! to it. It knows neither threads nor networks; the code that waits checks the token now and then.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::ModelError;

type Cause = Arc<dyn Fn() -> bool + Send + Sync>;

/// Tells whether work is still wanted. Clones share its state.
#[derive(Clone, Default)]
pub struct CancelToken {
    causes: Vec<Cause>,
    deadline: Option<Instant>,
}

impl CancelToken {
    /// A token that is set once a cause holds.
    pub fn when(cause: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self {
            causes: vec![Arc::new(cause)],
            deadline: None,
        }
    }

    /// A token that is set once a flag is raised.
    pub fn raised_by(flag: Arc<AtomicBool>) -> Self {
        Self::when(move || flag.load(Ordering::Relaxed))
    }

    /// The token, also set from a deadline on.
    #[must_use]
    pub fn by(mut self, deadline: Instant) -> Self {
        self.deadline = Some(self.deadline.map_or(deadline, |own| own.min(deadline)));
        self
    }

    /// A token that is set once either of both is.
    #[must_use]
    pub fn or(mut self, other: &Self) -> Self {
        self.causes.extend(other.causes.iter().cloned());
        match other.deadline {
            Some(deadline) => self.by(deadline),
            None => self,
        }
    }

    /// Whether the work is to end.
    pub fn is_set(&self) -> bool {
        self.left().is_some_and(|left| left.is_zero()) || self.causes.iter().any(|cause| cause())
    }

    /// The time until the deadline, if there is one.
    pub fn left(&self) -> Option<Duration> {
        let deadline = self.deadline?;
        Some(deadline.saturating_duration_since(Instant::now()))
    }

    /// [`ControlFlow::Break`] once the token is set, for callbacks.
    pub fn flow(&self) -> ControlFlow<()> {
        break_if(self.is_set())
    }

    /// Refuses further work.
    ///
    /// # Errors
    /// [`Cancelled`], once the token is set.
    pub fn check(&self) -> Result<(), ModelError> {
        match self.is_set() {
            true => Err(ModelError::new(Cancelled)),
            false => Ok(()),
        }
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut token = formatter.debug_struct("CancelToken");
        token
            .field("is_set", &self.is_set())
            .finish_non_exhaustive()
    }
}

/// The work was cancelled.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[error("stopped: nobody waits for the result any more")]
#[diagnostic(kind = "interrupted")]
pub struct Cancelled;

/// [`ControlFlow::Break`] if `ends`, for callbacks.
pub fn break_if(ends: bool) -> ControlFlow<()> {
    match ends {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_set_by_any_cause_and_by_the_earlier_deadline() {
        assert!(!CancelToken::default().is_set());
        let flag = Arc::new(AtomicBool::new(false));
        let soon = Instant::now() + Duration::from_secs(60);
        let token = CancelToken::raised_by(Arc::clone(&flag)).by(soon);
        let both = CancelToken::when(|| false).or(&token);
        assert!(!both.is_set() && both.flow().is_continue());
        assert!(
            both.left()
                .is_some_and(|left| left <= Duration::from_secs(60))
        );
        assert!(both.clone().by(Instant::now()).by(soon).is_set());
        flag.store(true, Ordering::Relaxed);
        assert!(both.is_set() && both.flow().is_break());
        assert_eq!(both.check().unwrap_err().kind(), "interrupted");
    }
}
