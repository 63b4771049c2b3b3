//! Reading an answer piece by piece, as server-sent events.

use std::io::Read;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use ken_http::Failed;
use ken_language::Finish;

use super::answer::{Choice, Usage, choices, piece, usage};
use super::bounds::{LINE_BYTES, MOST_TOKENS};
use super::client::{self, Client};
use super::error::RemoteError;
use super::events::{Broken, Events};
use super::hand_out::Handed;
use super::route::Route;

/// An answer that was read.
pub(super) struct Streamed {
    pub(super) choice: Choice,
    pub(super) usage: Usage,
    /// Time until the first piece.
    pub(super) until_first: Duration,
}

/// Sends a request and hands out its pieces. Breaking off closes the connection.
///
/// # Errors
/// A failure after the first piece is never a passing one; once the endpoint has said that the answer
/// ended, it is none.
pub(super) fn stream(
    client: &Client,
    route: Route,
    body: &str,
    on_piece: &mut dyn FnMut(&str) -> ControlFlow<()>,
) -> Result<Streamed, Failed<RemoteError>> {
    let url = client.api(route.path());
    let started = Instant::now();
    let (media, answer) = client.open(&url, body)?;
    // Not every endpoint says that what it sends are events.
    if media.is_some_and(|media| media.contains("json") || media.contains("html")) {
        return whole(client, route, &url, answer, on_piece, started);
    }
    events(client, route, &url, answer, on_piece, started)
}

/// An answer that comes as events.
pub(super) fn events(
    client: &Client,
    route: Route,
    url: &str,
    answer: impl Read,
    on_piece: &mut dyn FnMut(&str) -> ControlFlow<()>,
    started: Instant,
) -> Result<Streamed, Failed<RemoteError>> {
    let mut streamed = Streamed {
        choice: Choice::default(),
        usage: Usage::default(),
        until_first: Duration::ZERO,
    };
    let mut handed = Handed::default();
    let mut events = Events::new(answer);
    loop {
        client.check().map_err(Failed::lasting)?;
        let begun = streamed.choice.text.len();
        let data = match events.next() {
            Ok(Some(data)) => data,
            Ok(None) => break,
            Err(_) if streamed.choice.finish.is_some() => break,
            Err(Broken::LongLine) => {
                let detail = format!("a line of it has more than {LINE_BYTES} bytes");
                return Err(Failed::lasting(client.too_large(detail)));
            }
            Err(Broken::Io(error)) => {
                let failed = client.broken(&error.into());
                if begun == 0 {
                    return Err(failed);
                }
                return Err(match failed.error {
                    RemoteError::ConnectionLost { .. } => cut(url, begun),
                    _ => Failed::lasting(failed.error),
                });
            }
        };
        if data.is_empty() {
            continue;
        }
        if data == "[DONE]" {
            streamed.choice.finish.get_or_insert(Finish::End);
            break;
        }
        let event = client.parsed(url, &data).map_err(Failed::lasting)?;
        let told = usage(&event).map_err(|absurd| Failed::lasting(client.absurd(&absurd)))?;
        streamed.usage.prompt = told.prompt.or(streamed.usage.prompt);
        streamed.usage.written = told.written.or(streamed.usage.written);
        let new = piece(&event, route);
        streamed.choice.finish = new.finish.or(streamed.choice.finish);
        streamed.choice.tokens.extend(new.tokens);
        if streamed.choice.tokens.len() > MOST_TOKENS {
            let detail = format!("it has more than {MOST_TOKENS} tokens");
            return Err(Failed::lasting(client.too_large(detail)));
        }
        if begun == 0 && !new.text.is_empty() {
            streamed.until_first = started.elapsed();
        }
        streamed.choice.text.push_str(&new.text);
        if streamed.choice.hand_out(&mut handed, on_piece).is_break() {
            break;
        }
    }
    if streamed.choice.finish.is_none() {
        return Err(cut(url, streamed.choice.text.len()));
    }
    Ok(streamed)
}

/// A stream that ended too early: nothing is lost yet where no text had come.
fn cut(url: &str, bytes: usize) -> Failed<RemoteError> {
    let error = RemoteError::StreamCut {
        url: url.to_owned(),
        bytes,
    };
    if bytes == 0 {
        Failed::passing(error)
    } else {
        Failed::lasting(error)
    }
}

/// The answer of an endpoint that does not stream.
fn whole(
    client: &Client,
    route: Route,
    url: &str,
    answer: impl Read,
    on_piece: &mut dyn FnMut(&str) -> ControlFlow<()>,
    started: Instant,
) -> Result<Streamed, Failed<RemoteError>> {
    let text = client::text(answer).map_err(|error| client.broken(&error))?;
    let value = client.parsed(url, &text).map_err(Failed::lasting)?;
    let choice = choices(&value, route).and_then(|choices| choices.into_iter().next());
    let mut choice = choice.ok_or_else(|| {
        Failed::lasting(RemoteError::MissingField {
            url: url.to_owned(),
            field: "choices",
        })
    })?;
    // A break is told by how the answer ended.
    let _ = choice.hand_out(&mut Handed::default(), on_piece);
    let usage = usage(&value).map_err(|absurd| Failed::lasting(client.absurd(&absurd)))?;
    Ok(Streamed {
        choice,
        usage,
        until_first: started.elapsed(),
    })
}
