//! Completions that are streamed as server-sent events.

use std::io::Read;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use ken_http::Failed;
use ken_language::{Finish, Thoughts};
use serde_json::Value;

use super::client::{self, Client};
use super::detokenize::Emitted;
use super::error::RemoteError;
use super::limits::{MAX_LINE_BYTES, MAX_TOKENS};
use super::max_tokens::Allowance;
use super::response::{Choice, Usage, completions, delta, usage};
use super::route::Route;
use super::server_sent_events::{EventError, EventStream};

/// A completion that was read to its end.
#[derive(Clone, Default)]
pub(super) struct Received {
    pub(super) choice: Choice,
    pub(super) usage: Usage,
    /// Time to the first piece, if it was received.
    pub(super) prompt_time: Duration,
    /// Time from the first piece to the end.
    pub(super) write_time: Duration,
    /// Whether the answer followed thoughts of which only the end was marked.
    pub(super) thinks_unmarked: bool,
}

/// A request whose response is streamed.
pub(super) struct Sent<'a> {
    pub(super) client: &'a Client,
    pub(super) route: Route,
    pub(super) url: &'a str,
    /// Enforces the requested number of tokens.
    pub(super) max_tokens: usize,
    pub(super) at: Instant,
}

/// Sends a request and emits its completion piece by piece, without the model's thoughts, which `thoughts` separates.
/// While there is nothing to emit, empty pieces signal progress. A break closes the connection, and so does an
/// endpoint that sends more than requested.
///
/// # Errors
/// A failure after the first piece is never retried; one after the endpoint has ended the completion is ignored.
pub(super) fn stream(
    client: &Client,
    route: Route,
    body: &str,
    max_tokens: usize,
    thoughts: Thoughts,
    on_piece: &mut dyn FnMut(&str) -> ControlFlow<()>,
) -> Result<Received, Failed<RemoteError>> {
    let url = client.api_url(route.path());
    let sent = Sent {
        client,
        route,
        url: &url,
        max_tokens,
        at: Instant::now(),
    };
    let (body, is_events) = client.open(&url, body)?;
    if !is_events {
        return read_whole(&sent, body, on_piece);
    }
    let line = body.get_ref().line();
    let read = read_events(&sent, body, thoughts, on_piece);
    if !matches!(read, Ok((_, true))) {
        line.cut();
    }
    read.map(|(received, _)| received)
}

/// Reads a response that comes as events; returns whether to its end.
pub(super) fn read_events(
    sent: &Sent<'_>,
    body: impl Read,
    mut thoughts: Thoughts,
    on_piece: &mut dyn FnMut(&str) -> ControlFlow<()>,
) -> Result<(Received, bool), Failed<RemoteError>> {
    let Sent { client, url, .. } = *sent;
    let mut received = Received::default();
    let mut allowance = Allowance::of(sent.max_tokens);
    let mut is_whole = true;
    let mut read_bytes = 0;
    let mut emitted = Emitted::default();
    let mut events = EventStream::new(body);
    loop {
        let has_ended = received.choice.finish.is_some();
        let event = match next(&mut events, client, url, read_bytes, has_ended)? {
            Next::Event(event) => event,
            Next::Silence => continue,
            Next::Done => {
                received.choice.finish.get_or_insert(Finish::End);
                break;
            }
            Next::End => break,
        };
        let counts = usage(client, &event)?;
        received.usage.prompt = counts.prompt.or(received.usage.prompt);
        received.usage.completion = counts.completion.or(received.usage.completion);
        let mut new = delta(&event, sent.route);
        let is_cut = allowance.take(&mut new);
        add_beside_text(&mut received.choice, &mut new);
        if received.choice.tokens.len() > MAX_TOKENS {
            let detail = format!("it has more than {MAX_TOKENS} tokens");
            return Err(client.too_large(detail).into());
        }
        if read_bytes == 0 && !new.text.is_empty() {
            received.prompt_time = sent.at.elapsed();
        }
        read_bytes += new.text.len();
        let text = thoughts.take(&new.text);
        let is_silent = text.is_empty();
        received.choice.text.push_str(text);
        let flow = match is_silent {
            true => on_piece(""),
            false => received.choice.emit(&mut emitted, on_piece),
        };
        match flow {
            ControlFlow::Break(()) => received.choice.finish = Some(Finish::Cancelled),
            ControlFlow::Continue(()) if is_cut => received.choice.tokens.clear(),
            ControlFlow::Continue(()) => continue,
        }
        is_whole = false;
        break;
    }
    if received.choice.finish.is_none() {
        return Err(cut(url, read_bytes));
    }
    finish(&mut received, &mut thoughts, &mut emitted, on_piece);
    received.write_time = sent.at.elapsed().saturating_sub(received.prompt_time);
    Ok((received, is_whole))
}

/// Adds to a choice all but the text of its next part.
fn add_beside_text(choice: &mut Choice, part: &mut Choice) {
    choice.finish = part.finish.or(choice.finish);
    choice.refusal.push_str(&part.refusal);
    choice.calls_tool |= part.calls_tool;
    choice.has_thoughts |= part.has_thoughts;
    choice.tokens.append(&mut part.tokens);
}

/// Emits the rest of an answer that has ended, and removes its thoughts.
fn finish(
    received: &mut Received,
    thoughts: &mut Thoughts,
    emitted: &mut Emitted,
    on_piece: &mut dyn FnMut(&str) -> ControlFlow<()>,
) {
    let choice = &mut received.choice;
    let is_cancelled = choice.finish == Some(Finish::Cancelled);
    if !is_cancelled {
        choice.text.push_str(thoughts.finish());
    }
    choice.has_thoughts |= thoughts.has_thoughts();
    received.thinks_unmarked = thoughts.is_unmarked();
    if !thoughts.answer().starts_with(&choice.text) {
        // Thoughts were emitted before they were recognized, and are taken back.
        let _ = choice.emit(emitted, on_piece);
        thoughts.answer().clone_into(&mut choice.text);
    }
    choice.keep_tokens_of_answer();
    if !is_cancelled {
        // A break is recorded in how the completion ended.
        let _ = choice.emit(emitted, on_piece);
    }
}

/// The next item of a stream.
pub(super) enum Next {
    /// An event.
    Event(Value),
    /// A line without an event.
    Silence,
    /// The marker that the stream is complete.
    Done,
    /// The end.
    End,
}

/// Reads the next item. `read_bytes` have come before; after `has_ended`, a failure counts as an end.
///
/// # Errors
/// A failure, which is transient only if nothing has come before; a stop.
pub(super) fn next(
    events: &mut EventStream<impl Read>,
    client: &Client,
    url: &str,
    read_bytes: usize,
    has_ended: bool,
) -> Result<Next, Failed<RemoteError>> {
    client.check()?;
    let event = match events.next() {
        Ok(Some(event)) => event,
        Ok(None) => return Ok(Next::End),
        Err(_) if has_ended => return Ok(Next::End),
        Err(EventError::TooLong) => {
            let detail = format!("an event of it has more than {MAX_LINE_BYTES} bytes");
            return Err(client.too_large(detail).into());
        }
        Err(EventError::Io(error)) => {
            let failed = client.transport_failure(&error.into());
            return Err(match failed.error {
                _ if read_bytes == 0 => failed,
                RemoteError::EndpointConnectionLost(_) => cut(url, read_bytes),
                error => error.into(),
            });
        }
    };
    let parsed = match (event.data.as_ref(), event.is_error) {
        ("", _) => return Ok(Next::Silence),
        (data, true) => Err(client.status_error(url, 200, data, None)),
        ("[DONE]", false) => return Ok(Next::Done),
        (data, false) => client.parse(url, data),
    };
    match parsed {
        Ok(event) => Ok(Next::Event(event)),
        Err(_) if has_ended => Ok(Next::End),
        Err(error) if read_bytes == 0 => Err(error.failed()),
        Err(error) => Err(error.into()),
    }
}

/// The error of a stream that ended too early: a retry loses nothing if no text had arrived.
pub(super) fn cut(url: &str, bytes: usize) -> Failed<RemoteError> {
    let error = RemoteError::EndpointStreamCut {
        url: url.to_owned(),
        bytes,
    };
    match bytes {
        0 => Failed::passing(error),
        _ => Failed::lasting(error),
    }
}

/// Reads the response of an endpoint that does not stream.
fn read_whole(
    sent: &Sent<'_>,
    body: impl Read,
    on_piece: &mut dyn FnMut(&str) -> ControlFlow<()>,
) -> Result<Received, Failed<RemoteError>> {
    let Sent { client, url, .. } = *sent;
    let text = client::text(body).map_err(|error| client.transport_failure(&error))?;
    let response = client.parse(url, &text).map_err(RemoteError::failed)?;
    let (choices, usage) = completions(client, url, &response, sent.route)?;
    let mut choice = choices.into_iter().next().unwrap_or_default();
    Allowance::of(sent.max_tokens).take(&mut choice);
    // A break is recorded in how the completion ended.
    let _ = choice.emit(&mut Emitted::default(), on_piece);
    Ok(Received {
        choice,
        usage,
        prompt_time: sent.at.elapsed(),
        ..Received::default()
    })
}
