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
    /// Passes on a chunk of the model's own server. It holds back the ends of answers and the usage, since ken's
    /// additions come before those; answers that have not ended go on meanwhile.
    pub(super) fn pass(&mut self, mut chunk: Value) -> Vec<Bytes> {
        chunk["id"] = json!(self.id);
        let is_of_usage = is_of_usage(&chunk);
        if let Some(fields) = chunk.as_object_mut() {
            if self.usage {
                fields.entry("usage").or_insert(Value::Null);
            } else {
                fields.shift_remove("usage");
            }
        }
        if is_of_usage && !self.usage {
            return Vec::new();
        }
        if is_of_usage || self.ends(&chunk) {
            self.held.push(chunk);
            return Vec::new();
        }
        vec![events::data(&chunk)]
    }

    /// Whether every answer in a chunk ends in it, or has ended.
    fn ends(&self, chunk: &Value) -> bool {
        let has_ended = |choice: &Value| {
            let mut ended = self.held.iter().flat_map(choices);
            choice["finish_reason"].is_string()
                || ended.any(|ended| ended["index"] == choice["index"])
        };
        choices(chunk).next().is_some() && choices(chunk).all(has_ended)
    }

    pub(super) fn end_passed(&mut self, answered: &Completion) -> Vec<Bytes> {
        let mut sent = Vec::from_iter(self.annotate(answered));
        let mut held = std::mem::take(&mut self.held);
        match held.iter_mut().rev().find(|chunk| !is_of_usage(chunk)) {
            Some(last) => last["ken"] = json!(answered.trace),
            None => sent.push(self.chunk(Vec::new(), None, Some(&answered.trace))),
        }
        sent.extend(held.iter().map(events::data));
        sent.push(events::done());
        sent
    }
}

fn choices(chunk: &Value) -> impl Iterator<Item = &Value> {
    chunk["choices"].as_array().into_iter().flatten()
}

/// Whether a chunk holds nothing but the usage.
fn is_of_usage(chunk: &Value) -> bool {
    choices(chunk).next().is_none() && chunk["usage"].is_object()
}
