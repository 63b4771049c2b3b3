//! An answer as a response: whole, or as events while it is written. How the events are worded is up to
//! each API.

use std::time::Duration;

use axum::body::Bytes;
use axum::response::Response;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::events;
use crate::service::answering::{Answered, News};
use crate::service::work::broken;
use crate::wire::refusal::Refusal;

/// How long a client of a stream hears nothing at most. Until then an error is a response of its own.
const PING: Duration = Duration::from_secs(5);

/// Words news as events.
pub(crate) trait Wording: Send + 'static {
    /// The events of one piece of news. Nothing comes behind an end or a failure.
    fn word(&mut self, news: News) -> Vec<Bytes>;
}

/// Waits for the whole answer.
///
/// # Errors
/// Whatever keeps it from being complete.
pub(crate) async fn whole(mut news: UnboundedReceiver<News>) -> Result<Answered, Refusal> {
    loop {
        match news.recv().await {
            Some(News::Done(answered)) => return Ok(*answered),
            Some(News::Failed(refusal)) => return Err(refusal),
            Some(News::Retrieved(_) | News::Begun(_) | News::Text(_)) => {}
            None => return Err(broken()),
        }
    }
}

/// Waits for the first news, so that an error that comes soon has a status of its own, and has the rest
/// follow as events.
///
/// # Errors
/// What fails that soon.
pub(crate) async fn streamed(
    wording: impl Wording,
    mut news: UnboundedReceiver<News>,
) -> Result<Response, Refusal> {
    let first = match tokio::time::timeout(PING, news.recv()).await {
        Ok(Some(News::Failed(refusal))) => return Err(refusal),
        Ok(None) => return Err(broken()),
        Ok(first) => first,
        Err(_) => None,
    };
    let (send, body) = unbounded_channel();
    tokio::spawn(write(wording, first, news, send));
    Ok(events::response(body))
}

/// A client that is gone is noticed where the next news is awaited.
async fn write(
    mut wording: impl Wording,
    mut first: Option<News>,
    mut news: UnboundedReceiver<News>,
    send: UnboundedSender<Bytes>,
) {
    loop {
        let next = match first.take() {
            Some(first) => first,
            None => tokio::select! {
                next = tokio::time::timeout(PING, news.recv()) => match next {
                    Ok(Some(next)) => next,
                    Ok(None) => News::Failed(broken()),
                    Err(_) => {
                        let _ = send.send(events::ping());
                        continue;
                    }
                },
                () = send.closed() => return,
            },
        };
        let ends = matches!(next, News::Done(_) | News::Failed(_));
        for event in wording.word(next) {
            let _ = send.send(event);
        }
        if ends {
            return;
        }
    }
}
