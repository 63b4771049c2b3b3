//! The process that ken works in: its threads do not survive a fork, so ken refuses to work in a forked child and
//! leaves alone what the child inherited.

use std::mem;
use std::ops::Deref;
use std::process;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::error::{BindingError, Failure};

/// The process that called ken first.
static OWNER: OnceLock<u32> = OnceLock::new();

/// How many threads models compute with, once a caller has said so.
static THREADS: Mutex<Option<usize>> = Mutex::new(None);

/// Checks that this is the process in which ken works.
///
/// # Errors
/// [`BindingError::Forked`].
pub(crate) fn claim() -> Result<(), Failure> {
    match *OWNER.get_or_init(process::id) == process::id() {
        true => Ok(()),
        false => Err(BindingError::Forked.into()),
    }
}

fn is_forked() -> bool {
    OWNER.get().is_some_and(|owner| *owner != process::id())
}

/// Sets the number of threads that models compute with; only before the first computation.
///
/// # Errors
/// A number other than that of an earlier call.
pub(crate) fn set_threads(wanted: usize) -> Result<(), Failure> {
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    if *threads == Some(wanted) {
        return Ok(());
    }
    let built = rayon::ThreadPoolBuilder::new()
        .num_threads(wanted)
        .build_global();
    built.map_err(|_| BindingError::ThreadsSet {
        now: rayon::current_num_threads(),
        wanted,
    })?;
    *threads = Some(wanted);
    Ok(())
}

/// A value with threads. A forked child, which lacks the threads, does not drop it.
pub(crate) struct Kept<T>(Arc<T>);

impl<T> Kept<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Deref for Kept<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        if is_forked() {
            mem::forget(Arc::clone(&self.0));
        }
    }
}
