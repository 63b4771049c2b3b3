//! The reply of the model's own server, passed on whole or in chunks, with ken's additions.

use axum::body::Bytes;
use serde_json::{Value, json};

use super::{Reply, annotations};
use crate::routes::events;
use crate::service::answers::Completion;

/// The reply of the model's own server, with ken's additions.
pub(super) fn passed(reply: &Reply, mut response: Value, answered: &Completion) -> Value {
    response["id"] = json!(reply.id);
    response["ken"] = json!(answered.trace);
    let annotations = annotations(answered, &reply.addresses);
    if let Some(message) = response.pointer_mut("/choices/0/message")
        && message.is_object()
        && message["annotations"].as_array().is_none_or(Vec::is_empty)
    {
        message["annotations"] = json!(annotations);
    }
    response
}

impl Reply {
    /// Passes on a chunk of the model's own server. From the chunk with the finish reason on, it holds chunks back,
    /// since ken's additions come before those.
    pub(super) fn pass(&mut self, mut chunk: Value) -> Vec<Bytes> {
        chunk["id"] = json!(self.id);
        if let (false, Some(fields)) = (self.usage, chunk.as_object_mut()) {
            fields.shift_remove("usage");
        }
        let ends = |chunk: &Value| {
            chunk
                .pointer("/choices/0/finish_reason")
                .is_some_and(Value::is_string)
        };
        if ends(&chunk) || !self.held.is_empty() {
            self.held.push(chunk);
            return Vec::new();
        }
        match is_of_usage(&chunk) && !self.usage {
            true => Vec::new(),
            false => vec![events::data(&chunk)],
        }
    }

    pub(super) fn end_passed(&mut self, answered: &Completion) -> Vec<Bytes> {
        let mut sent = Vec::from_iter(self.annotate(answered));
        let mut held = std::mem::take(&mut self.held);
        match held.iter_mut().rev().find(|chunk| !is_of_usage(chunk)) {
            Some(last) => last["ken"] = json!(answered.trace),
            None => sent.push(self.chunk(Vec::new(), None, Some(&answered.trace))),
        }
        held.retain(|chunk| self.usage || !is_of_usage(chunk));
        sent.extend(held.iter().map(events::data));
        sent.push(events::done());
        sent
    }
}

/// Whether a chunk holds nothing but the usage.
fn is_of_usage(chunk: &Value) -> bool {
    chunk["choices"].as_array().is_some_and(Vec::is_empty)
}
