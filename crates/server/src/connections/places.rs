//! Places for connections. If all are taken, a newcomer gets the place of the connection that has been silent for the
//! longest, among those with no request in progress: clients that send nothing, or little, cannot keep others out.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use crate::lock::lock;

/// All places.
pub(crate) struct Places {
    most: usize,
    taken: Mutex<Taken>,
    /// Notified when a place is given back.
    free: Notify,
}

#[derive(Default)]
struct Taken {
    /// How many are taken.
    count: usize,
    /// How often any client was heard from; numbers these events.
    heard: u64,
    /// Connections whose client the server waits for, by when it was last heard from, with what tells them to end.
    waiting: BTreeMap<u64, Arc<Notify>>,
}

/// A connection's place. Dropping it gives it back.
pub(crate) struct Place {
    places: Arc<Places>,
    /// Its number among the waiting ones; 0 while a request is being answered. It changes under the lock of all places.
    number: AtomicU64,
    end: Arc<Notify>,
}

impl Places {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            taken: Mutex::default(),
            free: Notify::new(),
        })
    }

    /// Takes a place. If none is free, asks a waiting connection to end: then one may be free soon, which
    /// [`Places::freed`] tells.
    pub(crate) fn take(self: &Arc<Self>) -> Option<Arc<Place>> {
        let mut taken = lock(&self.taken);
        if taken.count >= self.most {
            if let Some((_, silent)) = taken.waiting.pop_first() {
                silent.notify_one();
            }
            return None;
        }
        taken.count += 1;
        drop(taken);
        let place = Place {
            places: Arc::clone(self),
            number: AtomicU64::default(),
            end: Arc::default(),
        };
        place.hears();
        Some(Arc::new(place))
    }

    /// Waits until a place is given back.
    pub(crate) async fn freed(&self) {
        self.free.notified().await;
    }
}

impl Place {
    /// The server waits for the client, which it heard from just now.
    pub(crate) fn hears(&self) {
        let mut taken = lock(&self.places.taken);
        taken.waiting.remove(&self.number.load(Ordering::Relaxed));
        taken.heard += 1;
        let heard = taken.heard;
        taken.waiting.insert(heard, Arc::clone(&self.end));
        self.number.store(heard, Ordering::Relaxed);
    }

    /// The server answers a request of the client: the connection keeps its place.
    pub(crate) fn answers(&self) {
        let mut taken = lock(&self.places.taken);
        taken
            .waiting
            .remove(&self.number.swap(0, Ordering::Relaxed));
    }

    /// Waits until a newcomer wants the place.
    pub(crate) async fn wanted(&self) {
        self.end.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.answers();
        lock(&self.places.taken).count -= 1;
        self.places.free.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// Whether a newcomer wants the place.
    fn is_wanted(place: &Place) -> bool {
        let wanted = std::pin::pin!(place.wanted());
        wanted.poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    #[test]
    fn the_most_silent_connection_makes_room_and_none_that_is_answered() {
        let places = Places::new(3);
        let all: Vec<Arc<Place>> = (0..3).map(|_| places.take().unwrap()).collect();
        let [one, two, three] = <[_; 3]>::try_from(all).ok().unwrap();
        one.answers();
        two.hears();
        // The third was heard from before the second.
        assert!(places.take().is_none());
        assert!(is_wanted(&three) && !is_wanted(&one) && !is_wanted(&two));
        drop(three);
        let newcomer = places.take().unwrap();
        newcomer.answers();
        two.answers();
        // All are being answered: there is no room until one ends.
        assert!(places.take().is_none());
        assert!(
            [&one, &two, &newcomer]
                .iter()
                .all(|place| !is_wanted(place))
        );
        // A connection whose answer is over waits again.
        one.hears();
        assert!(places.take().is_none() && is_wanted(&one));
        drop((one, two, newcomer));
        let taken = lock(&places.taken);
        assert!(taken.count == 0 && taken.waiting.is_empty());
    }
}
