//! Progress for Python: a callback that receives the name of the work, the amount done, and the total.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::call::Caller;

/// The least time between two reports of the same work.
const PAUSE: Duration = Duration::from_millis(100);

/// Reports to a callback, if there is one.
#[derive(Clone)]
pub(crate) struct Progress {
    caller: Caller,
    callback: Option<Arc<Py<PyAny>>>,
    last: Option<(String, Instant)>,
}

impl Progress {
    pub(crate) fn new(caller: &Caller, callback: Option<Py<PyAny>>) -> Self {
        Self {
            caller: caller.clone(),
            callback: callback.map(Arc::new),
            last: None,
        }
    }

    /// Reports the progress of the work named `what`.
    pub(crate) fn tell(&mut self, what: &str, done: u64, total: Option<u64>) {
        let Some(callback) = self.callback.clone() else {
            return;
        };
        let now = Instant::now();
        let is_recent = |(last, at): &(String, Instant)| last == what && now < *at + PAUSE;
        if total != Some(done) && self.last.as_ref().is_some_and(is_recent) {
            return;
        }
        self.last = Some((what.to_owned(), now));
        let what = what.to_owned();
        self.caller
            .tell(move |py| callback.call1(py, (what, done, total)).map(drop));
    }
}
