//! One running batch for all callers of a decoder, in its own thread. A call submits its requests and receives
//! messages about them on the caller's own thread, so a caller that reads slowly, or not at all, does not delay
//! others, and only its own requests queue up for it.

mod admission;
mod batch;
mod branch;
mod call;
mod draft;
pub(in crate::decoder) mod generate;
mod job;
mod pass;
mod prefixes;
mod reading;
pub(in crate::decoder) mod sampling;
pub(in crate::decoder) mod score;
pub(in crate::decoder) mod shared_prefix;
mod step;
mod texts;
mod turns;

#[cfg(test)]
#[path = "tests/schedules.rs"]
mod schedules;
#[cfg(test)]
pub(in crate::decoder) mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use rayon::ThreadPoolBuilder;

use super::config::DecoderConfig;
use super::error::DecoderError;
use super::options::LoadOptions;
use crate::decoder::graph::backend::Backend;
use crate::decoder::graph::runtime::Engines;
use batch::Batch;
pub(in crate::decoder) use branch::Writer;
pub(in crate::decoder) use call::Call;
pub(in crate::decoder) use job::{Job, Message, ReadState, Work, Written};
use job::{Order, Seat};

/// The handle of the running batch.
pub(in crate::decoder) struct Scheduler {
    orders: Sender<Order>,
    /// `None` once the thread was joined.
    thread: Option<JoinHandle<()>>,
    next_call: AtomicU64,
    /// Calls that wait for their first request to be admitted, and their limit.
    waiting: Arc<AtomicUsize>,
    most_waiting: usize,
}

impl Scheduler {
    /// Starts the threads.
    ///
    /// # Errors
    /// Threads that cannot be started.
    pub(in crate::decoder) fn start<B: Backend + 'static>(
        engines: Engines<B>,
        writer: Writer,
        config: &DecoderConfig,
        options: &LoadOptions,
    ) -> Result<Self, DecoderError> {
        let no_threads = |reason: String| DecoderError::NoThreads { reason };
        let pool = ThreadPoolBuilder::new()
            .num_threads(rayon::current_num_threads())
            .thread_name(|index| format!("decoder {index}"))
            .build()
            .map_err(|error| no_threads(error.to_string()))?;
        let batch = Batch::new(engines, writer, config, pool, options.cache_bytes);
        let (orders, received) = channel();
        let thread = std::thread::Builder::new()
            .name("decoder".to_owned())
            .spawn(move || batch.serve(&received))
            .map_err(|error| no_threads(error.to_string()))?;
        Ok(Self {
            orders,
            thread: Some(thread),
            next_call: AtomicU64::new(0),
            waiting: Arc::default(),
            most_waiting: options.most_waiting,
        })
    }

    /// Begins a call of some requests.
    ///
    /// # Errors
    /// A full waiting room.
    pub(in crate::decoder) fn call(&self, jobs: Vec<Job>) -> Result<Call, DecoderError> {
        let limit = self.most_waiting;
        let seat = Seat::take(&self.waiting, limit).ok_or(DecoderError::QueueFull { limit })?;
        let id = self.next_call.fetch_add(1, Ordering::Relaxed);
        let (messages, received) = channel();
        // A thread that has ended drops the sender, which the call notices.
        let _ = self.orders.send(Order::Begin {
            call: id,
            jobs,
            messages,
            seat,
        });
        Ok(Call::new(id, self.orders.clone(), received))
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        let _ = self.orders.send(Order::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
