//! An answer as a response: whole, or as events while it is written. Each API words its own events.

use std::time::Duration;

use axum::body::Bytes;
use axum::response::Response;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use super::events;
use crate::service::answers::{AnswerEvent, Completion};
use crate::service::work::broken;
use crate::wire::refusal::Refusal;

/// The longest silence on a stream that has begun.
const PING: Duration = Duration::from_secs(5);

/// How long a stream waits for the first word of an answer before it begins without one. Until then, an error is a
/// response with a status of its own, which clients retry like others. Proxies give up after half a minute at the
/// earliest.
const FIRST: Duration = Duration::from_secs(25);

/// News of work in progress.
pub(crate) trait News: Sized + Send + 'static {
    /// The news that nothing more comes, and why.
    fn failed(refusal: Refusal) -> Self;

    /// The news, unless it is a failure.
    ///
    /// # Errors
    /// Why nothing more comes.
    fn checked(self) -> Result<Self, Refusal>;

    /// Whether it is worth beginning a stream for.
    fn is_word(&self) -> bool;

    /// Whether nothing follows it.
    fn is_last(&self) -> bool;
}

impl News for AnswerEvent {
    fn failed(refusal: Refusal) -> Self {
        Self::Failed(refusal)
    }

    fn checked(self) -> Result<Self, Refusal> {
        match self {
            Self::Failed(refusal) => Err(refusal),
            news => Ok(news),
        }
    }

    fn is_word(&self) -> bool {
        !matches!(self, Self::Retrieved(_) | Self::Begun(_))
    }

    fn is_last(&self) -> bool {
        matches!(self, Self::Done(_) | Self::Failed(_))
    }
}

/// Turns news into events.
pub(crate) trait Wording: Send + 'static {
    /// The news that it words.
    type News: News;

    /// The events of one piece of news. No news follows an end or a failure.
    fn word(&mut self, news: Self::News) -> Vec<Bytes>;

    /// Work to do before the client gets the last events, which are worded by then.
    fn settle(&mut self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// Waits for the whole answer.
///
/// # Errors
/// Whatever keeps it from being complete.
pub(crate) async fn whole(news: UnboundedReceiver<AnswerEvent>) -> Result<Completion, Refusal> {
    Ok(whole_with_reply(news).await?.0)
}

/// Waits for the whole answer, and for the reply of the model's own server if that was asked.
///
/// # Errors
/// Whatever keeps it from being complete.
pub(crate) async fn whole_with_reply(
    news: UnboundedReceiver<AnswerEvent>,
) -> Result<(Completion, Option<Value>), Refusal> {
    whole_watched(news, |_| {}).await
}

/// Waits for the whole answer; `watch` sees all events on the way.
///
/// # Errors
/// Whatever keeps it from being complete.
pub(crate) async fn whole_watched(
    mut news: UnboundedReceiver<AnswerEvent>,
    mut watch: impl FnMut(&AnswerEvent) + Send,
) -> Result<(Completion, Option<Value>), Refusal> {
    let mut reply = None;
    loop {
        let next = news.recv().await.ok_or_else(broken)?;
        watch(&next);
        match next {
            AnswerEvent::Done(answered) => return Ok((*answered, reply)),
            AnswerEvent::Failed(refusal) => return Err(refusal),
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
    mut news: UnboundedReceiver<W::News>,
) -> Result<Response, Refusal> {
    let mut first = Vec::new();
    let begins = Instant::now() + FIRST;
    while let Ok(next) = tokio::time::timeout_at(begins, news.recv()).await {
        first.push(next.ok_or_else(broken)?.checked()?);
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
    mut news: UnboundedReceiver<W::News>,
    send: UnboundedSender<Bytes>,
) {
    let mut first = first.into_iter();
    loop {
        let next = match first.next() {
            Some(first) => first,
            None => tokio::select! {
                next = tokio::time::timeout(PING, news.recv()) => match next {
                    Ok(Some(next)) => next,
                    Ok(None) => News::failed(broken()),
                    Err(_) => {
                        let _ = send.send(events::ping());
                        continue;
                    }
                },
                () = send.closed() => return,
            },
        };
        let ends = next.is_last();
        let events = wording.word(next);
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
