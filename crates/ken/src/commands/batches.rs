//! Work over many items, some at a time, with progress, until it is to stop.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::{Failure, Refusal, Result};
use crate::progress::{Display, Unit};

/// Does `work` on each batch of at most `size` items, one after the other, and puts together what comes
/// of them; `label` stands before the progress. For work that leaves nothing behind when it stops.
///
/// # Errors
/// The first failure, or that it was to stop.
pub(crate) fn in_batches<T, R>(
    items: &[T],
    size: usize,
    label: &str,
    stop: &AtomicBool,
    mut work: impl FnMut(&[T]) -> Result<Vec<R>>,
) -> Result<Vec<R>> {
    let mut display = Display::new();
    let total = Some(items.len() as u64);
    let mut done = Vec::with_capacity(items.len());
    for batch in items.chunks(size) {
        display.show(label, Unit::Items, done.len() as u64, total);
        if stop.load(Ordering::Relaxed) {
            return Err(stopped());
        }
        match work(batch) {
            // A model that is stopped from outside fails.
            Err(_) if stop.load(Ordering::Relaxed) => return Err(stopped()),
            found => done.extend(found?),
        }
    }
    Ok(done)
}

/// Work that was stopped and left nothing behind.
pub(crate) fn stopped() -> Failure {
    let message = "stopped before the last question; nothing was written";
    Refusal::new("interrupted", message)
        .hinting("run the same command again")
        .into()
}
