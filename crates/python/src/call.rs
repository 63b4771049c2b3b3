//! A call from Python: the work runs on its own thread without Python's lock, while the calling thread heeds signals
//! and runs callbacks and iterators for the work.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread;
use std::time::Duration;

use ken_language::CancelToken;
use pyo3::prelude::*;

use crate::error::Failure;
use crate::process;

/// How often the calling thread looks for Ctrl-C.
const HEED: Duration = Duration::from_millis(50);

/// As large as the stack of a program's main thread.
const STACK_BYTES: usize = 8 << 20;

/// What the work asks of the calling thread.
type Request = Box<dyn FnOnce(Python<'_>) -> PyResult<()> + Send>;

/// Ends a call from another thread.
#[pyclass(frozen, module = "ken._ken")]
#[derive(Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Ends the call that was given this at a point where nothing is lost.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The work's handle on the calling thread.
#[derive(Clone)]
pub(crate) struct Caller {
    requests: Sender<Request>,
    stop: Arc<AtomicBool>,
}

impl Caller {
    /// Raised when the call is to end.
    pub(crate) fn stop(&self) -> &Arc<AtomicBool> {
        &self.stop
    }

    /// Set when the call is to end.
    pub(crate) fn token(&self) -> CancelToken {
        CancelToken::raised_by(Arc::clone(&self.stop))
    }

    /// Runs `what` in Python and waits for its value; `None` if it raised an exception or the call is to end.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        what: impl FnOnce(Python<'_>) -> PyResult<T> + Send + 'static,
    ) -> Option<T> {
        let (reply, answer) = sync_channel(1);
        self.tell(move |py| {
            let value = what(py)?;
            // The work waits for it.
            let _ = reply.send(value);
            Ok(())
        });
        answer.recv().ok()
    }

    /// Runs `what` in Python without waiting. An exception ends the call.
    pub(crate) fn tell(&self, what: impl FnOnce(Python<'_>) -> PyResult<()> + Send + 'static) {
        // The calling thread listens until the work is over.
        let _ = self.requests.send(Box::new(what));
    }
}

/// Does `work` without Python's lock. Ctrl-C, an exception from a callback and `stop` end it where nothing is lost.
///
/// # Errors
/// Those of the work; any exception that Python raised meanwhile.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    stop: Option<&Stop>,
    work: impl FnOnce(&Caller) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    process::claim()?;
    let stop = stop.map_or_else(Arc::default, |stop| Arc::clone(&stop.0));
    let (requests, asked) = channel();
    let caller = Caller {
        requests,
        stop: Arc::clone(&stop),
    };
    let (outcome, raised) = py.detach(move || {
        thread::scope(|scope| {
            let worker = thread::Builder::new()
                .name("ken".to_owned())
                .stack_size(STACK_BYTES);
            let worker = match worker.spawn_scoped(scope, move || work(&caller)) {
                Ok(worker) => worker,
                Err(refused) => return (Err(refused.into()), None),
            };
            let raised = serve(&asked, &stop, || worker.is_finished());
            let outcome = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            (outcome, raised)
        })
    });
    raised.map_or_else(|| Ok(outcome?), Err)
}

/// Runs the work's requests until it is over, and returns the first exception.
fn serve(
    asked: &Receiver<Request>,
    stop: &AtomicBool,
    is_over: impl Fn() -> bool,
) -> Option<PyErr> {
    let mut raised = None;
    loop {
        let outcome = match asked.recv_timeout(HEED) {
            Err(RecvTimeoutError::Disconnected) => return raised,
            Err(RecvTimeoutError::Timeout) if is_over() => return raised,
            // After an exception nothing more runs in Python; dropping a request tells the work so.
            _ if raised.is_some() => continue,
            Err(RecvTimeoutError::Timeout) => Python::try_attach(|py| py.check_signals()),
            Ok(request) => Python::try_attach(|py| request(py).and_then(|()| py.check_signals())),
        };
        match outcome {
            Some(Ok(())) => {}
            Some(Err(error)) => {
                raised = Some(error);
                stop.store(true, Ordering::Relaxed);
            }
            // Python is shutting down.
            None => stop.store(true, Ordering::Relaxed),
        }
    }
}
