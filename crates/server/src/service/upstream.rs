//! Whether the model's own server is there.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ken_language::LanguageModel;

/// How long an answer holds. Everybody may ask for it, and each question is a request to the model server.
const HOLDS: Duration = Duration::from_secs(2);

/// What the model server said last, and when.
#[derive(Debug, Default)]
pub(crate) struct Upstream(Mutex<Option<(Instant, bool)>>);

impl Upstream {
    /// Whether it is there; waits for at most as long as it takes to find out.
    pub(crate) fn is_there(&self, model: &dyn LanguageModel) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, is_there)) = *last
            && at.elapsed() < HOLDS
        {
            return is_there;
        }
        let is_there = model.ready().is_ok();
        *last = Some((Instant::now(), is_there));
        is_there
    }
}
