//! Work on a thread that may block, behind a gate: searches, embeddings, measurements.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::unbounded_channel;

use super::cancel::Cancel;
use super::gate::{Gate, Place};
use super::resources::Served;
use crate::wire::refusal::Refusal;

/// How long work that checks the deadline itself has to say that it ended. Work that waits for a silent endpoint
/// cannot check, and is not waited for.
pub(crate) const GRACE: Duration = Duration::from_millis(250);

/// Does `work`, which learns whether it is still wanted: not once the future is dropped.
///
/// # Errors
/// A full queue, a deadline, and those of the work.
pub(crate) async fn run<T: Send + 'static>(
    served: &Arc<Served>,
    gate: &Gate,
    work: impl FnOnce(&Served, &Cancel) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let deadline = deadline(served);
    let place = gate.queue()?.enter(deadline).await?;
    at_place(served, place, deadline, work).await
}

/// The deadline of work that begins now.
pub(crate) fn deadline(served: &Served) -> Instant {
    Instant::now() + served.limits.deadline
}

/// Does `work` piece by piece; returns the result of each. Between two pieces it gives its place back for others that
/// wait, and once the future is dropped it begins no more.
///
/// # Errors
/// As [`run`].
pub(crate) async fn in_pieces<I: Send + 'static, T: Send + 'static>(
    served: &Arc<Served>,
    gate: &Gate,
    deadline: Instant,
    pieces: impl IntoIterator<Item = I>,
    work: impl Fn(&Served, &Cancel, I) -> Result<T, Refusal> + Send + Sync + 'static,
) -> Result<Vec<T>, Refusal> {
    let work = Arc::new(work);
    let mut ticket = gate.queue()?;
    let mut done = Vec::new();
    for piece in pieces {
        let place = ticket.enter(deadline).await?;
        let work = Arc::clone(&work);
        let work = move |served: &Served, cancel: &Cancel| {
            cancel.check()?;
            work(served, cancel, piece)
        };
        done.push(at_place(served, place, deadline, work).await?);
        ticket = gate.queue_again();
    }
    Ok(done)
}

/// Does work that has a place, which it gives back at the end.
async fn at_place<T: Send + 'static>(
    served: &Arc<Served>,
    place: Place,
    deadline: Instant,
    work: impl FnOnce(&Served, &Cancel) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let (tell, mut heard) = unbounded_channel();
    let served = Arc::clone(served);
    tokio::task::spawn_blocking(move || {
        let listens = tell.clone();
        let halted = Arc::clone(&served.halted);
        let cancel = Cancel::new(move || listens.is_closed(), deadline, halted);
        let result = work(&served, &cancel);
        // Before the result is out, so that whoever gets it finds a free place.
        drop(place);
        // A receiver that is gone needs no result.
        let _ = tell.send(result);
    });
    match tokio::time::timeout_at((deadline + GRACE).into(), heard.recv()).await {
        Ok(Some(result)) => result,
        Ok(None) => Err(broken()),
        Err(_) => Err(Refusal::too_late()),
    }
}

/// Does something short that touches the disk, on a thread that may block.
///
/// # Errors
/// Those of the work.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(broken()))
}

/// Work that ended without a result: a defect, whose panic message is on stderr.
pub(crate) fn broken() -> Refusal {
    Refusal::failed(&std::io::Error::other("the work panicked"))
}
