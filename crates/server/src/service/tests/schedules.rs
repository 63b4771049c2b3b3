//! Tests of the gate under seeded schedules: clients queue, wait, enter, leave while they wait or work, and panic at
//! work, in any order; futures are polled only when they were woken. Threads test it, too: they meet where no
//! schedule can put them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use ken_random::below;

use super::gate::{Gate, Place, Ticket};
use crate::wire::refusal::Refusal;

/// How many wait, and how many work.
fn load(gate: &Gate) -> (usize, usize) {
    let load = gate.load();
    (load.waiting, load.working)
}

/// Records that a future was woken.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

type Entering = Pin<Box<dyn Future<Output = Result<Place, Refusal>>>>;

/// The state of a client.
enum Client {
    Out,
    Queued(Ticket),
    Waiting(Entering, Arc<Woken>),
    Working(Place),
}

impl Client {
    fn is_queued(&self) -> bool {
        matches!(self, Self::Queued(_) | Self::Waiting(..))
    }

    /// Polls what was woken, or whatever waits, as a runtime may.
    fn poll(self, is_spurious: bool) -> Self {
        let (mut entering, woken) = match self {
            Self::Waiting(entering, woken) => (entering, woken),
            other => return other,
        };
        if !woken.0.swap(false, Ordering::SeqCst) && !is_spurious {
            return Self::Waiting(entering, woken);
        }
        let waker = Waker::from(Arc::clone(&woken));
        match entering.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Pending => Self::Waiting(entering, woken),
            Poll::Ready(Ok(place)) => Self::Working(place),
            Poll::Ready(Err(late)) => {
                assert_eq!(late.code(), "deadline_exceeded");
                Self::Out
            }
        }
    }
}

/// Clients at a gate, and what must hold after each step.
struct Company {
    gate: Gate,
    all: usize,
    most_waiting: usize,
    clients: Vec<Client>,
}

impl Company {
    fn working(&self) -> usize {
        let working = |client: &&Client| matches!(client, Client::Working(_));
        self.clients.iter().filter(working).count()
    }

    fn queued(&self) -> usize {
        self.clients
            .iter()
            .filter(|client| client.is_queued())
            .count()
    }

    fn check(&self) {
        let (waiting, working) = load(&self.gate);
        // A client that was given a place, and was not polled since, works already.
        assert_eq!(waiting + working, self.queued() + self.working());
        assert!(self.working() <= working && working <= self.all);
        assert!(waiting + working <= self.all + self.most_waiting);
    }

    fn step(&mut self, number: usize, past: Instant, state: &mut u64) {
        let client = std::mem::replace(&mut self.clients[number], Client::Out);
        self.clients[number] = match (client, below(state, 8)) {
            (Client::Out, _) => match self.gate.queue() {
                Ok(ticket) => Client::Queued(ticket),
                Err(full) => {
                    assert_eq!(full.code(), "queue_full");
                    assert!(self.queued() + self.working() >= self.all + self.most_waiting);
                    Client::Out
                }
            },
            (Client::Queued(ticket), 0) => {
                drop(ticket);
                Client::Out
            }
            (Client::Queued(ticket), choice) => {
                let deadline = match choice {
                    1 => past,
                    _ => Instant::now() + Duration::from_secs(3600),
                };
                let woken = Arc::new(Woken(AtomicBool::new(true)));
                Client::Waiting(Box::pin(ticket.enter(deadline)), woken)
            }
            // It leaves, perhaps after it was given a place.
            (Client::Waiting(..), 0) => Client::Out,
            (waiting @ Client::Waiting(..), choice) => waiting.poll(choice == 1),
            (Client::Working(place), 0) => {
                let work = std::panic::AssertUnwindSafe(move || {
                    let _place = place;
                    std::panic::resume_unwind(Box::new("at work"));
                });
                assert!(std::panic::catch_unwind(work).is_err());
                Client::Out
            }
            (Client::Working(_), 1 | 2) => Client::Out,
            (working, _) => working,
        };
        self.check();
    }

    /// Lets in all clients that wait, and then lets them go. It polls only those that were woken.
    fn finish(mut self) {
        let for_all = |clients: &mut Vec<Client>, step: fn(Client) -> Client| {
            for client in clients {
                *client = step(std::mem::replace(client, Client::Out));
            }
        };
        while self.queued() > 0 {
            let before = self.queued();
            for_all(&mut self.clients, |client| match client {
                waiting @ Client::Waiting(..) => waiting,
                _ => Client::Out,
            });
            for_all(&mut self.clients, |client| client.poll(false));
            assert!(self.queued() < before, "{before} wait, and nobody is woken");
        }
        self.clients.clear();
        assert_eq!(load(&self.gate), (0, 0));
    }
}

fn follow(seed: u64) {
    let mut state = seed;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let _within = runtime.enter();
    let past = Instant::now() - Duration::from_secs(1);
    let (all, most_waiting) = (1 + below(&mut state, 4), below(&mut state, 5));
    let mut company = Company {
        gate: Gate::new(all, most_waiting),
        all,
        most_waiting,
        clients: (0..all + most_waiting + 3).map(|_| Client::Out).collect(),
    };
    for _ in 0..400 {
        let number = below(&mut state, company.clients.len());
        company.step(number, past, &mut state);
    }
    company.finish();
}

#[test]
fn in_any_order_no_place_is_lost_and_whoever_waits_is_woken() {
    for seed in 0..500 {
        let followed = std::panic::catch_unwind(|| follow(seed));
        assert!(followed.is_ok(), "seed {seed}");
    }
}

/// As many clients as there are places and seats in the queue: none is ever refused, and never do more work than
/// there are places.
#[test]
fn threads_that_all_have_room_are_never_refused() {
    for (all, most_waiting) in [(2, 0), (2, 2), (1, 3)] {
        let gate = Gate::new(all, most_waiting);
        let working = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for seed in 0..(all + most_waiting) as u64 {
                let (gate, working) = (&gate, &working);
                scope.spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .enable_time()
                        .build()
                        .unwrap();
                    let mut state = seed;
                    for _ in 0..20_000 {
                        let late = Instant::now() + Duration::from_secs(60);
                        let ticket = gate.queue().unwrap();
                        if below(&mut state, 8) == 0 {
                            continue;
                        }
                        let place = runtime.block_on(ticket.enter(late)).unwrap();
                        assert!(working.fetch_add(1, Ordering::SeqCst) < all);
                        working.fetch_sub(1, Ordering::SeqCst);
                        drop(place);
                    }
                });
            }
        });
        assert_eq!(load(&gate), (0, 0));
    }
}
