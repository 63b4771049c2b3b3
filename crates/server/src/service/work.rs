//! Work on a thread that may block, behind a gate: searches, embeddings, measurements.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::unbounded_channel;

use super::cancel::Cancel;
use super::gate::Gate;
use super::served::Served;
use crate::wire::refusal::Refusal;

/// How long work that looks at the deadline by itself has to say that it ended. Who waits for an endpoint that is
/// silent cannot look, and is not waited for.
pub(crate) const GRACE: Duration = Duration::from_millis(250);

/// Does it. It is given what tells whether it is still wanted: it is not when the future is dropped.
///
/// # Errors
/// A full queue, a deadline, and those of the work.
pub(crate) async fn run<T: Send + 'static>(
    served: &Arc<Served>,
    gate: impl Fn(&Served) -> &Gate,
    work: impl FnOnce(&Served, &Cancel) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let deadline = Instant::now() + served.limits.deadline;
    let place = gate(served).queue()?.enter(deadline).await?;
    let (tell, mut heard) = unbounded_channel();
    let served = Arc::clone(served);
    tokio::task::spawn_blocking(move || {
        let _place = place;
        let listens = tell.clone();
        let halted = Arc::clone(&served.halted);
        let cancel = Cancel::new(move || listens.is_closed(), deadline, halted);
        // Whoever does not listen any more needs no result.
        let _ = tell.send(work(&served, &cancel));
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

/// Work that ended without a word: a defect, of which the panic's own message stands on stderr.
pub(crate) fn broken() -> Refusal {
    Refusal::failed(&std::io::Error::other("the work panicked"))
}
