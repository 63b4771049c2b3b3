//! Whether the model's own server is there.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use ken_language::LanguageModel;

use crate::lock::lock;

/// How long an answer holds. Anyone may ask, and each check is a request to the model server.
const HOLDS: Duration = Duration::from_secs(2);

/// Whether the model server was there at the last check, and when that was.
#[derive(Debug, Default)]
pub(crate) struct Upstream(Mutex<Option<(Instant, bool)>>);

impl Upstream {
    /// Whether it is there; waits at most as long as the check takes.
    pub(crate) fn is_there(&self, model: &dyn LanguageModel) -> bool {
        let mut last = lock(&self.0);
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
