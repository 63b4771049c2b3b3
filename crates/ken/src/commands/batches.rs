//! Work over many items, some at a time, with progress, until it is to stop.

use std::sync::atomic::AtomicBool;

use ken_study::in_memory;

use crate::failure::{Failure, Refusal, Result};
use crate::progress::Display;

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
    work: impl FnMut(&[T]) -> Result<Vec<R>>,
) -> Result<Vec<R>> {
    let mut display = Display::new();
    let mut progress = |done| display.show_items(label, done, items.len());
    in_memory(items, size, &mut progress, stop, work)?.ok_or_else(stopped)
}

/// Work that was stopped and left nothing behind.
pub(crate) fn stopped() -> Failure {
    let message = "stopped before the last question; nothing was written";
    Refusal::new("interrupted", message)
        .hinting("run the same command again")
        .into()
}
