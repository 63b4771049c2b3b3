//! An answer as a response: whole, or as events while it is written. Each API words its own events.

use std::time::Duration;

use axum::body::Bytes;
use axum::response::Response;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use super::events;
use crate::service::answers::{AnswerEvent, Completion, Events};
use crate::service::work::broken;
use crate::wire::refusal::Refusal;

/// The longest silence on a stream that has begun.
const PING: Duration = Duration::from_secs(5);

/// How long a stream waits for the first word of an answer before it begins without one. Until then, an error is a
/// response with a status of its own, which clients retry like others. Proxies give up after half a minute at the
/// earliest.
const FIRST: Duration = Duration::from_secs(25);

/// News of work in progress.
pub(crate) trait News: Send + 'static {
    /// Whether it is worth beginning a stream for.
    fn is_word(&self) -> bool {
        true
    }

    /// Whether nothing follows it.
    fn is_last(&self) -> bool;
}

impl News for AnswerEvent {
    fn is_word(&self) -> bool {
        !matches!(self, Self::Retrieved(_) | Self::Begun(_))
    }

    fn is_last(&self) -> bool {
        matches!(self, Self::Done(_))
    }
}

/// Turns news into events.
pub(crate) trait Wording: Send + 'static {
    /// The news that it words.
    type News: News;

    /// The events of one piece of news. No news follows an end or a failure.
    fn word(&mut self, news: Self::News) -> Vec<Bytes>;

    /// The events of a failure.
    fn fail(&mut self, refusal: &Refusal) -> Vec<Bytes> {
        vec![events::data(&refusal.body()), events::done()]
    }

    /// Work to do before the client gets the last events, which are worded by then.
    fn settle(&mut self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// Waits for the whole answer.
///
/// # Errors
/// Whatever keeps it from being complete.
pub(crate) async fn whole(news: Events<AnswerEvent>) -> Result<Completion, Refusal> {
    Ok(whole_watched(news, |_| {}).await?.0)
}

/// Waits for the whole answer, and for the reply of the model's own server if that was asked; `watch` sees all events
/// on the way.
///
/// # Errors
/// Whatever keeps it from being complete.
pub(crate) async fn whole_watched(
    mut news: Events<AnswerEvent>,
    mut watch: impl FnMut(&AnswerEvent) + Send,
) -> Result<(Completion, Option<Value>), Refusal> {
    let mut reply = None;
    loop {
        let next = news.recv().await.ok_or_else(broken)??;
        watch(&next);
        match next {
            AnswerEvent::Done(answered) => return Ok((*answered, reply)),
            AnswerEvent::Reply(response) => reply = Some(*response),
            AnswerEvent::Retrieved(_) | AnswerEvent::Begun(_) | AnswerEvent::Text(_) => {}
        }
    }
}

/// Waits for the first word of the answer, so that an earlier failure has a status of its own; the rest follows as
/// events.
///
/// # Errors
/// Any failure before the first word.
pub(crate) async fn streamed<W: Wording>(
    wording: W,
    mut news: Events<W::News>,
) -> Result<Response, Refusal> {
    let mut first = Vec::new();
    let begins = Instant::now() + FIRST;
    while let Ok(next) = tokio::time::timeout_at(begins, news.recv()).await {
        first.push(next.ok_or_else(broken)??);
        if first.last().is_some_and(News::is_word) {
            break;
        }
    }
    let (send, body) = unbounded_channel();
    tokio::spawn(write(wording, first, news, send));
    Ok(events::response(body))
}

/// Writes the events; it notices that a client is gone while it waits for news.
async fn write<W: Wording>(
    mut wording: W,
    first: Vec<W::News>,
    mut news: Events<W::News>,
    send: UnboundedSender<Bytes>,
) {
    let mut first = first.into_iter();
    loop {
        let next = match first.next() {
            Some(first) => Ok(first),
            None => tokio::select! {
                next = tokio::time::timeout(PING, news.recv()) => match next {
                    Ok(next) => next.unwrap_or_else(|| Err(broken())),
                    Err(_) => {
                        let _ = send.send(events::ping());
                        continue;
                    }
                },
                () = send.closed() => return,
            },
        };
        let (ends, events) = match next {
            Ok(news) => (news.is_last(), wording.word(news)),
            Err(refusal) => (true, wording.fail(&refusal)),
        };
        if ends {
            wording.settle().await;
        }
        for event in events {
            let _ = send.send(event);
        }
        if ends {
            return;
        }
    }
}
