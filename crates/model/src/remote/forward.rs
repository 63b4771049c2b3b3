//! Requests of other programs, passed to the endpoint unchanged.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use ken_http::Failed;
use ken_language::{Api, ChatServer, Fault, ModelError, ServerFault, Takes};
use serde_json::{Map, Value, json};

use super::client::{self, Client};
use super::error::RemoteError;
use super::model::RemoteModel;
use super::response::finish;
use super::route::Route;
use super::server_sent_events::EventStream;
use super::stream::{Next, cut, next};

/// The option that makes a stream report its cost at its end.
const STREAM_OPTIONS: &str = "stream_options";

/// The field of a reply that holds its answers.
const CHOICES: &str = "choices";

impl ChatServer for RemoteModel {
    fn takes(&self) -> Takes {
        match self.refuses_chat() {
            true => Takes::Text,
            false => Takes::All,
        }
    }

    fn forward(
        &self,
        api: Api,
        mut request: Map<String, Value>,
        on_reply: &mut dyn FnMut(Value) -> ControlFlow<()>,
    ) -> Result<(), ModelError> {
        request.insert("model".to_owned(), json!(self.name()));
        let is_stream = request.get("stream") == Some(&Value::Bool(true));
        let given = request.get(STREAM_OPTIONS).cloned();
        let options = given.as_ref().and_then(Value::as_object);
        let mut options = options.cloned().unwrap_or_default();
        let usage = options.insert("include_usage".to_owned(), json!(true));
        let adds_usage =
            is_stream && usage != Some(json!(true)) && !self.unsupported.has(STREAM_OPTIONS);
        if adds_usage {
            request.insert(STREAM_OPTIONS.to_owned(), Value::Object(options));
        }
        let route = match api {
            Api::Chat => Route::Chat,
            Api::Completions => Route::Completions,
        };
        let first = self.send_on(route, &request, is_stream, on_reply);
        match first {
            Err(error) if adds_usage && error.rejects(STREAM_OPTIONS) => {
                self.unsupported.learn(STREAM_OPTIONS);
                match given {
                    Some(given) => request.insert(STREAM_OPTIONS.to_owned(), given),
                    None => request.remove(STREAM_OPTIONS),
                };
                self.send_on(route, &request, is_stream, on_reply)
            }
            first => first,
        }
        .map_err(of_request)
    }
}

/// A refusal goes to the writer of the request, with the server's message.
fn of_request(error: RemoteError) -> ModelError {
    let refusal = match &error {
        RemoteError::Status {
            status: 400 | 422,
            message,
            param,
            ..
        } => Some(ServerFault::RefusesRequest {
            message: message.clone(),
            param: param.clone(),
        }),
        _ => None,
    };
    let error = ModelError::from(error);
    match refusal {
        Some(refusal) => error.by(Fault::Server(refusal)),
        None => error,
    }
}

impl RemoteModel {
    fn send_on(
        &self,
        route: Route,
        request: &Map<String, Value>,
        is_stream: bool,
        on_reply: &mut dyn FnMut(Value) -> ControlFlow<()>,
    ) -> Result<(), RemoteError> {
        let client = &self.client;
        if !is_stream {
            let url = client.api_url(route.path());
            let reply = client.post(&url, &Value::Object(request.clone()))?;
            // Nothing is left to break off.
            let _ = on_reply(with_choices(&url, reply)?);
            return Ok(());
        }
        let body = serde_json::to_string(request).unwrap_or_default();
        client.with_retries(|| stream_on(client, route, &body, on_reply))
    }
}

/// Passes on a server's stream. A failure after the first chunk is never retried.
fn stream_on(
    client: &Client,
    route: Route,
    body: &str,
    on_reply: &mut dyn FnMut(Value) -> ControlFlow<()>,
) -> Result<(), Failed<RemoteError>> {
    let url = &client.api_url(route.path());
    let (body, is_events) = client.open(url, body)?;
    if !is_events {
        let text = client::text(body).map_err(|error| client.transport_failure(&error))?;
        let reply = client.parse(url, &text).map_err(RemoteError::failed)?;
        let reply = with_choices(url, reply)?;
        let _ = on_reply(match route {
            Route::Chat => as_chunk(reply),
            // A chunk of a text has the form of a whole one.
            Route::Completions => reply,
        });
        return Ok(());
    }
    let line = body.get_ref().line();
    let mut read = 0;
    let mut choices = Choices::default();
    let mut events = EventStream::new(body);
    loop {
        let has_ended = choices.have_ended();
        let mut chunk = match next(&mut events, client, url, read, has_ended) {
            Ok(Next::Event(chunk)) if chunk.is_object() => chunk,
            Ok(Next::Event(_)) => {
                line.cut();
                return Err(RemoteError::missing(url, CHOICES).into());
            }
            Ok(Next::Silence) => continue,
            Ok(Next::End) if !has_ended => return Err(cut(url, read)),
            Ok(Next::Done) if choices.begun.is_empty() => {
                return Err(RemoteError::missing(url, CHOICES).into());
            }
            Ok(Next::Done | Next::End) => return Ok(()),
            Err(failed) => {
                line.cut();
                return Err(failed);
            }
        };
        // A sign of life, such as an event `ping`.
        if chunk.get(CHOICES).is_none() && chunk.get("usage").is_none() {
            continue;
        }
        let text = chunk.pointer("/choices/0/delta/content");
        let text = text.or_else(|| chunk.pointer("/choices/0/text"));
        // Chunks without text were passed on as well.
        read += text
            .and_then(Value::as_str)
            .map_or(1, |text| text.len().max(1));
        leave_open(&mut chunk);
        choices.take(&chunk);
        if on_reply(chunk).is_break() {
            line.cut();
            return Ok(());
        }
    }
}

/// The choices of a stream by their indexes.
#[derive(Default)]
struct Choices {
    begun: BTreeSet<u64>,
    ended: BTreeSet<u64>,
}

impl Choices {
    fn take(&mut self, chunk: &Value) {
        for choice in chunk[CHOICES].as_array().into_iter().flatten() {
            let index = choice["index"].as_u64().unwrap_or_default();
            self.begun.insert(index);
            if choice["finish_reason"].is_string() {
                self.ended.insert(index);
            }
        }
    }

    fn have_ended(&self) -> bool {
        !self.begun.is_empty() && self.begun == self.ended
    }
}

/// Takes out the empty reasons that some servers give for an end before it: clients take them for one.
fn leave_open(chunk: &mut Value) {
    let choices = chunk.get_mut(CHOICES).and_then(Value::as_array_mut);
    for choice in choices.into_iter().flatten() {
        if finish(choice).is_none()
            && let Some(reason) = choice.get_mut("finish_reason")
        {
            *reason = Value::Null;
        }
    }
}

/// A reply in which there is an answer.
///
/// # Errors
/// A reply without one, which no application could read.
fn with_choices(url: &str, reply: Value) -> Result<Value, RemoteError> {
    match reply[CHOICES].as_array().is_none_or(Vec::is_empty) {
        true => Err(RemoteError::missing(url, CHOICES)),
        false => Ok(reply),
    }
}

/// The completion of a server that does not stream, as the only chunk of a stream, in which calls have their places.
fn as_chunk(mut completion: Value) -> Value {
    completion["object"] = json!("chat.completion.chunk");
    for choice in completion["choices"].as_array_mut().into_iter().flatten() {
        if let Some(choice) = choice.as_object_mut()
            && let Some(mut message) = choice.remove("message")
        {
            if let Some(calls) = message.get_mut("tool_calls") {
                number(calls);
            }
            choice.insert("delta".to_owned(), message);
        }
    }
    completion
}

/// Numbers calls of tools, by which clients join the pieces of a stream.
fn number(calls: &mut Value) {
    let calls = calls.as_array_mut().into_iter().flatten();
    let objects = calls.filter_map(Value::as_object_mut);
    for (index, call) in objects.enumerate() {
        call.entry("index").or_insert(json!(index));
    }
}
