//! What the model's own server says, passed on whole or in chunks, with what ken adds.

use axum::body::Bytes;
use serde_json::{Value, json};

use super::{Reply, annotations};
use crate::routes::events;
use crate::service::answers::Completion;
use crate::wire::chat::Delta;

/// What the model's own server said, with what ken adds.
pub(super) fn passed(reply: &Reply, mut said: Value, answered: &Completion) -> Value {
    said["id"] = json!(reply.id);
    said["ken"] = json!(answered.trace);
    let annotations = annotations(answered, &reply.addresses);
    if let Some(message) = said.pointer_mut("/choices/0/message")
        && message.is_object()
        && message["annotations"].as_array().is_none_or(Vec::is_empty)
    {
        message["annotations"] = json!(annotations);
    }
    said
}

impl Reply {
    /// Passes on a chunk of the model's own server. From the one that says how the answer ends, chunks are held back for what
    /// ken has to say before that.
    pub(super) fn pass(&mut self, mut said: Value) -> Vec<Bytes> {
        said["id"] = json!(self.id);
        if let (false, Some(chunk)) = (self.usage, said.as_object_mut()) {
            chunk.shift_remove("usage");
        }
        let ends = |said: &Value| {
            said.pointer("/choices/0/finish_reason")
                .is_some_and(Value::is_string)
        };
        if ends(&said) || !self.held.is_empty() {
            self.held.push(said);
            return Vec::new();
        }
        match is_of_usage(&said) && !self.usage {
            true => Vec::new(),
            false => vec![events::data(&said)],
        }
    }

    pub(super) fn end_passed(&mut self, answered: &Completion) -> Vec<Bytes> {
        let mut told = Vec::new();
        let annotations = annotations(answered, &self.addresses);
        if !annotations.is_empty() {
            told.push(self.delta(Delta {
                annotations,
                ..Delta::default()
            }));
        }
        let mut held = std::mem::take(&mut self.held);
        match held.iter_mut().rev().find(|said| !is_of_usage(said)) {
            Some(last) => last["ken"] = json!(answered.trace),
            None => told.push(self.chunk(Vec::new(), None, Some(&answered.trace))),
        }
        held.retain(|said| self.usage || !is_of_usage(said));
        told.extend(held.iter().map(events::data));
        told.push(events::done());
        told
    }
}

/// Whether a chunk says nothing but what the answer cost.
fn is_of_usage(said: &Value) -> bool {
    said["choices"].as_array().is_some_and(Vec::is_empty)
}
