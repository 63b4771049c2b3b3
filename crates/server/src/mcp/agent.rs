//! Messages line by line, from an agent that started the program. Several are served at once, and each can be
//! cancelled.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rand::Rng;
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::progress::Tell;
use super::protocol::{Message, Sent, respond, too_long};
use crate::access::caller::Access;
use crate::lock::lock;
use crate::routes::address::Addresses;
use crate::service::answers::Request;
use crate::service::resources::Served;
use crate::spans::Parent;
use crate::wire::body::LARGEST;

/// Receives a response, a line of JSON without its end.
type Reply = Arc<dyn Fn(&str) + Send + Sync>;

/// The responses to a batch. Dropping it, once each message has its own or is cancelled, sends them as one.
struct BatchResponses {
    responses: Mutex<Vec<Value>>,
    reply: Reply,
}

impl Drop for BatchResponses {
    fn drop(&mut self) {
        let responses = std::mem::take(&mut *lock(&self.responses));
        if !responses.is_empty() {
            (self.reply)(&Value::Array(responses).to_string());
        }
    }
}

/// Serves one agent.
pub struct Agent {
    runtime: Runtime,
    served: Arc<Served>,
    access: Access,
    reply: Reply,
    /// By request id.
    running: Arc<Mutex<HashMap<String, JoinHandle<()>>>>,
}

impl Agent {
    /// An agent that gets every message by `reply`, from several threads.
    ///
    /// # Errors
    /// Threads that the system denies.
    pub fn new(
        served: Served,
        access: Access,
        reply: impl Fn(&str) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(4 * served.limits.parallel + 16)
            .enable_time()
            .build()?;
        Ok(Self {
            runtime,
            served: Arc::new(served),
            access,
            reply: Arc::new(reply),
            running: Arc::default(),
        })
    }

    /// The longest message, in bytes: as long as one over HTTP.
    pub const LONGEST: usize = LARGEST;

    /// Tells the agent that a message is longer.
    pub fn refuse_long(&self) {
        (self.reply)(&too_long(Self::LONGEST).to_string());
    }

    /// Takes a message, a line without its end. Its response follows when it is ready; an empty line has none.
    pub fn take(&self, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        match Sent::read(line) {
            Sent::One(message) => self.take_one(message, &self.tell()),
            Sent::Batch(messages) => {
                let batch = BatchResponses {
                    responses: Mutex::default(),
                    reply: Arc::clone(&self.reply),
                };
                let answer: Tell = Arc::new(move |response| lock(&batch.responses).push(response));
                for message in messages {
                    self.take_one(message, &answer);
                }
            }
        }
    }

    /// Sends a message to the agent.
    fn tell(&self) -> Tell {
        let reply = Arc::clone(&self.reply);
        Arc::new(move |message| reply(&message.to_string()))
    }

    /// Takes a message, whose response goes to `answer`.
    fn take_one(&self, message: Message, answer: &Tell) {
        match message {
            Message::Broken(response) => answer(response),
            Message::Notification { method, params } => {
                if method == "notifications/cancelled"
                    && let Some(id) = params.get("requestId")
                {
                    let mut running = lock(&self.running);
                    if let Some(task) = running.remove(&id.to_string()) {
                        task.abort();
                    }
                }
            }
            Message::Request { id, method, params } => {
                self.start((id, method, params), Arc::clone(answer));
            }
        }
    }

    fn start(&self, (id, method, params): (Value, String, Value), answer: Tell) {
        let (served, tell) = (Arc::clone(&self.served), self.tell());
        let running = Arc::clone(&self.running);
        let request = Request {
            id: format!("req_{:016x}", rand::rng().random::<u64>()),
            // Whoever can start the program can read what the program reads.
            caller: self.access.anyone(),
            parent: Parent::default(),
        };
        let name = id.to_string();
        // Locked until the task is registered, so that it does not end before.
        let mut known = lock(&self.running);
        let task = self.runtime.spawn(async move {
            let addresses = Addresses::none();
            let asked = (&id, method.as_str(), &params);
            let response = respond(&served, &request, &addresses, asked, Some(&tell)).await;
            lock(&running).remove(&id.to_string());
            answer(response);
        });
        known.insert(name, task);
    }

    /// Waits until all messages have their responses.
    pub fn finish(self) {
        let running = std::mem::take(&mut *lock(&self.running));
        for task in running.into_values() {
            // A cancelled task says nothing.
            let _ = self.runtime.block_on(task);
        }
        if let Some(spans) = &self.served.spans {
            spans.end();
        }
    }
}
