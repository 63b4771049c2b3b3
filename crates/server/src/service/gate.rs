//! How many requests work at once, and how many may wait.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::wire::refusal::Refusal;

/// How often patient work checks whether there is room.
const LOOK: Duration = Duration::from_millis(50);

/// How long patient work waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// Until no other request works; after that, until none waits.
    pub(crate) idle: Duration,
    /// In all.
    pub(crate) room: Duration,
}

/// A door with a bounded queue before it.
pub(crate) struct Gate {
    places: Arc<Semaphore>,
    all: usize,
    inside: Arc<AtomicUsize>,
    most_waiting: usize,
}

/// A request that waits or works, counted until dropped. One count covers both, so that none is missed or counted
/// twice on the way from the one to the other.
struct Inside(Arc<AtomicUsize>);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The load of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Load {
    /// How many requests work.
    pub(crate) working: usize,
    /// How many may work at once.
    pub(crate) places: usize,
    /// How many wait.
    pub(crate) waiting: usize,
    /// How many may wait; `None` for any number.
    pub(crate) queue: Option<usize>,
}

impl Load {
    /// Whether the next request is refused.
    pub(crate) fn is_full(self) -> bool {
        self.working >= self.places && self.queue.is_some_and(|queue| self.waiting >= queue)
    }
}

/// A place in the queue. Dropping it gives it back.
pub(crate) struct Ticket {
    places: Arc<Semaphore>,
    inside: Inside,
}

/// A place at work. Dropping it gives it back.
pub(crate) struct Place {
    _inside: Inside,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Gate {
    pub(crate) fn new(all: usize, most_waiting: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(all)),
            all,
            inside: Arc::default(),
            most_waiting,
        }
    }

    /// Joins the queue.
    ///
    /// # Errors
    /// A full queue.
    pub(crate) fn queue(&self) -> Result<Ticket, Refusal> {
        let most = self.all + self.most_waiting;
        let queued = self
            .inside
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |inside| {
                (inside < most).then_some(inside + 1)
            });
        match queued {
            Ok(_) => Ok(self.ticket()),
            Err(_) => Err(Refusal::busy()),
        }
    }

    /// Joins the queue, full or not, with the next piece of admitted work: no request is refused halfway.
    pub(crate) fn queue_again(&self) -> Ticket {
        self.inside.fetch_add(1, Ordering::SeqCst);
        self.ticket()
    }

    fn ticket(&self) -> Ticket {
        Ticket {
            places: Arc::clone(&self.places),
            inside: Inside(Arc::clone(&self.inside)),
        }
    }

    /// A place for patient work, when no other request needs it; `None` if there is none in time, or `is_over` before
    /// that.
    pub(crate) async fn spare(
        &self,
        patience: Patience,
        is_over: impl Fn() -> bool,
    ) -> Option<Place> {
        let begun = Instant::now();
        while begun.elapsed() < patience.room && !is_over() {
            let Load {
                waiting, working, ..
            } = self.load();
            let is_idle = waiting == 0 && working == 0;
            if is_idle || (waiting == 0 && begun.elapsed() > patience.idle) {
                let soon = Instant::now() + LOOK;
                if let Ok(ticket) = self.queue()
                    && let Ok(place) = ticket.enter(soon).await
                {
                    return Some(place);
                }
            }
            tokio::time::sleep(LOOK).await;
        }
        None
    }

    /// A place for what has time, but is to be done: a spare one; where there is none in time, one behind all that wait
    /// by then. `None` where it is over before.
    pub(crate) async fn turn(
        &self,
        patience: Patience,
        is_over: impl Fn() -> bool,
    ) -> Option<Place> {
        let spare = self.spare(patience, &is_over).await;
        if spare.is_some() {
            return spare;
        }
        let Ticket { places, inside } = self.queue_again();
        let mut entered = pin!(places.acquire_owned());
        while !is_over() {
            // Looked at again and again, it keeps its place in the queue.
            if let Ok(permit) = tokio::time::timeout(LOOK, entered.as_mut()).await {
                return Some(Place {
                    _inside: inside,
                    _permit: permit.ok(),
                });
            }
        }
        None
    }

    pub(crate) fn load(&self) -> Load {
        let working = self.all - self.places.available_permits();
        Load {
            working,
            places: self.all,
            waiting: self.inside.load(Ordering::SeqCst).saturating_sub(working),
            queue: Some(self.most_waiting),
        }
    }
}

impl Ticket {
    /// Waits for a place.
    ///
    /// # Errors
    /// No place before the deadline.
    pub(crate) async fn enter(self, deadline: Instant) -> Result<Place, Refusal> {
        let entered = Arc::clone(&self.places).acquire_owned();
        match tokio::time::timeout_at(deadline.into(), entered).await {
            Ok(permit) => Ok(Place {
                _inside: self.inside,
                _permit: permit.ok(),
            }),
            Err(_) => Err(Refusal::no_place()),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;

    use super::*;

    #[test]
    fn a_full_queue_refuses_and_places_come_back() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let gate = Gate::new(2, 1);
            let load = |gate: &Gate| (gate.load().waiting, gate.load().working);
            let soon = || Instant::now() + Duration::from_millis(50);
            let first = gate.queue().unwrap().enter(soon()).await.unwrap();
            let second = gate.queue().unwrap().enter(soon()).await.unwrap();
            assert_eq!(load(&gate), (0, 2));
            let waits = gate.queue().unwrap();
            assert!(gate.load().is_full());
            assert_eq!(gate.queue().err().unwrap().code(), "queue_full");
            let late = waits.enter(soon()).await.err().unwrap();
            assert_eq!(late.code(), "deadline_exceeded");
            let headers = late.into_response().into_parts().0.headers;
            assert_eq!(headers["x-should-retry"], "true");
            assert_eq!(load(&gate), (0, 2));
            let waits = gate.queue().unwrap();
            // The next piece of work that was let in is not refused.
            let next = gate.queue_again();
            assert_eq!(load(&gate), (2, 2));
            drop(next);
            drop(first);
            let third = waits.enter(soon()).await.unwrap();
            drop((second, third));
            assert_eq!(load(&gate), (0, 0));
            assert!(!gate.load().is_full());
        });
    }

    #[tokio::test]
    async fn what_has_time_takes_its_turn_where_people_never_stop_waiting() {
        let gate = Arc::new(Gate::new(1, 8));
        let people: Vec<_> = (0..3)
            .map(|_| {
                let gate = Arc::clone(&gate);
                tokio::spawn(async move {
                    loop {
                        let _place = gate.queue_again().enter(far()).await;
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                })
            })
            .collect();
        let patience = Patience {
            idle: Duration::ZERO,
            room: Duration::from_millis(200),
        };
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(gate.spare(patience, || false).await.is_none());
        for _ in 0..2 {
            let turn = gate.turn(patience, || false);
            let place = tokio::time::timeout(Duration::from_secs(30), turn).await;
            let place = place.unwrap().unwrap();
            // People wait for it as for anybody.
            tokio::time::sleep(Duration::from_millis(20)).await;
            assert_eq!((gate.load().working, gate.load().waiting), (1, 3));
            drop(place);
        }
        people.iter().for_each(tokio::task::JoinHandle::abort);
    }

    #[tokio::test]
    async fn what_is_over_leaves_the_queue() {
        let gate = Gate::new(1, 8);
        let _works = gate.queue_again().enter(far()).await.unwrap();
        let patience = Patience {
            idle: Duration::ZERO,
            room: Duration::ZERO,
        };
        let end = Instant::now() + Duration::from_millis(120);
        let is_over = || Instant::now() > end;
        assert!(gate.turn(patience, is_over).await.is_none());
        assert_eq!((gate.load().working, gate.load().waiting), (1, 0));
    }

    fn far() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }
}
