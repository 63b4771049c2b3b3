//! The running batch of a decoder. Its thread takes orders between forward passes: calls begin and end, requests are
//! admitted, and each pass writes a token of every text and reads a piece of the waiting prompts.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::{Duration, Instant};

use rayon::ThreadPool;

use super::branch::{Branch, ReadPrompt, Writer};
use super::job::{CallId, Job, Message, Order, Place, Seat};
use super::prefixes::{PrefixId, Prefixes};
use super::reading::{Goal, Lane, Reading};
use crate::decoder::config::DecoderConfig;
use crate::decoder::error::DecoderError;
use crate::decoder::graph::backend::Backend;
use crate::decoder::graph::runtime::Engines;

/// The most texts that are generated at the same time, besides one per call.
pub(super) const MOST_BRANCHES: usize = 128;

/// The share of a pass's time spent waiting for callers that may want to stop: one n-th.
const HEARING_SHARE: u32 = 20;

/// A call that is being served.
pub(super) struct Call {
    /// Requests that are not admitted yet.
    pub(super) queue: VecDeque<(Place, Job)>,
    pub(super) messages: Sender<Message>,
    /// Its seat in the waiting room, until its first request is admitted.
    pub(super) seat: Option<Seat>,
    /// Pieces that were sent and that the caller has not acknowledged.
    pub(super) unseen: usize,
}

/// A request that has been admitted.
pub(super) struct Active<S> {
    pub(super) job: Job,
    /// The prefixes that its prompt continues, the longest last.
    pub(super) prefixes: Vec<PrefixId>,
    /// Tokens to read after these prefixes.
    pub(super) rest: usize,
    /// The prompt to continue, once it has been read.
    pub(super) prompt: Option<Arc<ReadPrompt<S>>>,
    /// Samples that have begun, and how many of these have ended.
    pub(super) begun: usize,
    pub(super) ended: usize,
    /// The probabilities of continuations, and how many of these are still being read.
    pub(super) scores: Vec<Vec<f32>>,
    pub(super) unscored: usize,
}

impl<S> Active<S> {
    pub(super) fn new(job: Job, prefixes: Vec<PrefixId>, rest: usize) -> Self {
        Self {
            job,
            prefixes,
            rest,
            prompt: None,
            begun: 0,
            ended: 0,
            scores: Vec::new(),
            unscored: 0,
        }
    }

    /// Whether a text of it is being generated.
    pub(super) fn is_writing(&self) -> bool {
        self.begun > self.ended
    }

    /// Tokens whose keys and values it is charged with, besides those of texts that are being generated: those that
    /// it reads, and room to continue.
    pub(super) fn charge(&self) -> usize {
        let needs_room = !self.is_writing() && self.begun < self.job.parts();
        let room = needs_room.then(|| self.job.beside_prompt());
        self.rest + room.unwrap_or_default()
    }
}

/// All current work, by caller.
pub(super) struct Batch<B: Backend> {
    pub(super) engines: Engines<B>,
    pub(super) writer: Writer,
    /// Width of a hidden state.
    pub(super) hidden: usize,
    /// Entries in the vocabulary.
    pub(super) vocabulary: usize,
    /// Its own threads, since a caller that waits may be a thread of another pool.
    pub(super) pool: ThreadPool,
    /// Tokens whose keys and values fit into memory.
    pub(super) budget: usize,
    pub(super) calls: BTreeMap<CallId, Call>,
    pub(super) active: BTreeMap<Place, Active<B::Sequence>>,
    pub(super) readings: Vec<Reading<B::Sequence>>,
    pub(super) branches: Vec<Branch<B::Sequence>>,
    pub(super) prefixes: Prefixes<B::Sequence>,
    /// The calls that were last admitted, last began a text, and were read first.
    pub(super) admitted: Option<CallId>,
    pub(super) begun: Option<CallId>,
    pub(super) read: Option<CallId>,
    /// What the last pass computed, and its duration.
    pub(super) lane: Option<Lane>,
    pub(super) pass_time: Duration,
}

impl<B: Backend> Batch<B> {
    pub(super) fn new(
        engines: Engines<B>,
        writer: Writer,
        config: &DecoderConfig,
        pool: ThreadPool,
        cache_bytes: usize,
    ) -> Self {
        Self {
            engines,
            writer,
            hidden: config.hidden,
            vocabulary: config.vocabulary,
            pool,
            budget: cache_bytes / config.bytes_per_token(),
            calls: BTreeMap::new(),
            active: BTreeMap::new(),
            readings: Vec::new(),
            branches: Vec::new(),
            prefixes: Prefixes::default(),
            admitted: None,
            begun: None,
            read: None,
            lane: None,
            pass_time: Duration::ZERO,
        }
    }

    /// Serves callers until the decoder is dropped.
    pub(super) fn serve(mut self, orders: &Receiver<Order>) {
        while self.obey_all(orders) && self.round(orders) {}
    }

    /// Runs one round. Returns whether to continue.
    pub(super) fn round(&mut self, orders: &Receiver<Order>) -> bool {
        self.admit();
        self.pass();
        self.begin_texts();
        let asked = self.deliver();
        if !self.hear(&asked, orders) {
            return false;
        }
        self.trim_prefixes();
        true
    }

    /// Whether there is nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        self.active.is_empty() && self.calls.values().all(|call| call.queue.is_empty())
    }

    /// Executes all orders, and waits for one while idle. Returns whether to continue.
    fn obey_all(&mut self, orders: &Receiver<Order>) -> bool {
        loop {
            let order = match self.is_idle() {
                true => orders.recv().map_err(|_| TryRecvError::Disconnected),
                false => orders.try_recv(),
            };
            let go_on = match order {
                Ok(order) => self.obey(order),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => false,
            };
            if !go_on {
                return false;
            }
        }
    }

    /// Waits a moment for these calls to acknowledge what was written, so that texts that they cancel are not written
    /// further. Returns whether to continue.
    fn hear(&mut self, asked: &[CallId], orders: &Receiver<Order>) -> bool {
        let until = Instant::now() + self.pass_time / HEARING_SHARE;
        let unheard = |batch: &Self, id| batch.calls.get(id).is_some_and(|call| call.unseen > 0);
        while asked.iter().any(|id| unheard(self, id)) {
            let left = until.saturating_duration_since(Instant::now());
            let go_on = match orders.recv_timeout(left) {
                Ok(order) => self.obey(order),
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => false,
            };
            if !go_on {
                return false;
            }
        }
        true
    }

    /// Executes an order. Returns whether to continue.
    pub(super) fn obey(&mut self, order: Order) -> bool {
        match order {
            Order::Begin {
                call,
                jobs,
                messages,
                seat,
            } => {
                let place = |request| Place { call, request };
                let queue = jobs.into_iter().enumerate();
                let begun = Call {
                    queue: queue.map(|(index, job)| (place(index), job)).collect(),
                    messages,
                    seat: Some(seat),
                    unseen: 0,
                };
                self.calls.insert(call, begun);
            }
            Order::Cancel {
                place,
                sample: None,
            } => {
                if let Some(call) = self.calls.get_mut(&place.call) {
                    call.queue.retain(|(queued, _)| *queued != place);
                }
                self.drop_requests(|active| active == place);
            }
            Order::Cancel {
                place,
                sample: Some(sample),
            } => {
                let is_it = |branch: &Branch<_>| branch.place == place && branch.sample == sample;
                if let Some(index) = self.branches.iter().position(is_it) {
                    let branch = self.branches.remove(index);
                    self.end_text(branch);
                }
            }
            Order::Seen(call) => {
                if let Some(call) = self.calls.get_mut(&call) {
                    call.unseen = call.unseen.saturating_sub(1);
                }
            }
            Order::Leave(call) => self.drop_call(call),
            Order::End => return false,
        }
        true
    }

    fn drop_call(&mut self, call: CallId) {
        self.calls.remove(&call);
        self.drop_requests(|place| place.call == call);
    }

    fn drop_requests(&mut self, of: impl Fn(Place) -> bool) {
        self.active.retain(|place, _| !of(*place));
        self.branches.retain(|branch| !of(branch.place));
        self.readings.retain(|reading| match reading.goal {
            Goal::Prompt(place) | Goal::Continuation(place, _) => !of(place),
            Goal::Prefix(_) => true,
        });
    }

    /// Reports to a caller that its call has failed, and drops the call.
    pub(super) fn fail(&mut self, call: CallId, error: DecoderError) {
        self.tell(call, Message::Failed(error));
        self.drop_call(call);
    }

    /// A message to a caller that has left is dropped; its order to leave will arrive.
    pub(super) fn tell(&self, call: CallId, message: Message) {
        if let Some(call) = self.calls.get(&call) {
            let _ = call.messages.send(message);
        }
    }
}
