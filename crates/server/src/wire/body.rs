//! Reads the JSON body of a request, within limits of size and time; and writes one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::BytesMut;
use http_body_util::BodyExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use super::azure::Deployment;
use super::encoding::ContentEncoding;
use super::mismatch;
use super::refusal::Refusal;
use crate::lock::lock;
use crate::service::gate::Load;

/// The largest body, in bytes.
pub(crate) const LARGEST: usize = 4 << 20;

/// The longest body that needs no place, in bytes. Few are longer.
const SMALL: usize = 64 << 10;

/// How many longer ones are received at once. With this, all bodies together are bounded: 64 KiB for each connection,
/// and 128 MiB. A further one waits, within its time.
const PLACES: usize = 32;

/// The most of these for one client, so that stalled bodies do not keep those of others out.
const PLACES_OF_CLIENT: usize = 8;

static LARGE: LazyLock<Large> = LazyLock::new(|| Large {
    places: Semaphore::new(PLACES),
    waiting: AtomicUsize::new(0),
    clients: Mutex::default(),
});

tokio::task_local! {
    /// The client that sends the request of a task.
    static CLIENT: String;
}

/// The places of long bodies.
struct Large {
    places: Semaphore,
    waiting: AtomicUsize,
    /// Those of each client that has a place or waits for one.
    clients: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// A place for a long body. Dropping it gives it back.
struct Place {
    client: String,
    own: Option<OwnedSemaphorePermit>,
    _any: Option<SemaphorePermit<'static>>,
}

impl Large {
    /// Waits for a place.
    async fn place(&'static self) -> Place {
        /// Counts itself while it waits, however that ends.
        struct Waiting<'l>(&'l AtomicUsize);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&self.waiting);
        let client = CLIENT.try_with(String::clone).unwrap_or_default();
        let own = {
            let mut clients = lock(&self.clients);
            let new = || Arc::new(Semaphore::new(PLACES_OF_CLIENT));
            Arc::clone(clients.entry(client.clone()).or_insert_with(new))
        };
        let mut place = Place {
            client,
            own: None,
            _any: None,
        };
        // Neither semaphore is ever closed.
        place.own = own.acquire_owned().await.ok();
        place._any = self.places.acquire().await.ok();
        place
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.own = None;
        let mut clients = lock(&LARGE.clients);
        let own = clients.get(&self.client);
        if own.is_some_and(|own| Arc::strong_count(own) == 1) {
            clients.remove(&self.client);
        }
    }
}

/// The load on the places of long bodies.
pub(crate) fn load() -> Load {
    Load {
        working: PLACES - LARGE.places.available_permits(),
        places: PLACES,
        waiting: LARGE.waiting.load(Ordering::Relaxed),
        queue: None,
    }
}

/// Does the work of a request whose body this client sends.
pub(crate) async fn sent_by<F: Future>(client: String, work: F) -> F::Output {
    CLIENT.scope(client, work).await
}

/// A byte order mark, with which some clients begin a text; it may be passed over (RFC 8259, 8.1).
const MARK: &[u8] = b"\xef\xbb\xbf";

/// How long a client may take to send a body.
const SENT_WITHIN: Duration = Duration::from_secs(30);

/// A body that is yet to be received.
pub(crate) struct SentBody {
    pub(crate) body: Body,
    encoding: Result<ContentEncoding, Refusal>,
    deployment: Option<Deployment>,
}

impl SentBody {
    /// The body of a request with this head.
    pub(crate) fn new(head: &Parts, body: Body) -> Self {
        Self {
            body,
            encoding: ContentEncoding::of(&head.headers),
            deployment: head.extensions.get().cloned(),
        }
    }
}

/// The bytes of a body; its model is the deployment that the request names.
///
/// # Errors
/// A body that is too large, too slow, cut off or missing, or compressed in an unknown way; with a deployment, one that
/// is no object of JSON.
pub(crate) async fn bytes(mut sent: SentBody) -> Result<Bytes, Refusal> {
    let deployment = sent.deployment.take();
    let bytes = bytes_or_none(sent).await?;
    if bytes.is_empty() {
        return Err(Refusal::bad("missing_body", "the request has no body"));
    }
    let Some(Deployment(model)) = deployment else {
        return Ok(bytes);
    };
    let mut object: Map<String, Value> = value(&bytes)?;
    object.insert("model".to_owned(), model.into());
    Ok(Value::Object(object).to_string().into())
}

/// The bytes of a body that may be left out.
///
/// # Errors
/// A body that is too large, too slow or cut off, or compressed in an unknown way.
pub(crate) async fn bytes_or_none(sent: SentBody) -> Result<Bytes, Refusal> {
    let encoding = sent.encoding?;
    refuse_larger(&sent.body, LARGEST as u64)?;
    let received = tokio::time::timeout(SENT_WITHIN, received(sent.body)).await;
    let received = received.unwrap_or_else(|_| Err(late()))?;
    let bytes = encoding.undo(received, LARGEST)?;
    let start = if bytes.starts_with(MARK) {
        MARK.len()
    } else {
        0
    };
    Ok(bytes.slice(start..))
}

async fn received(mut body: Body) -> Result<Bytes, Refusal> {
    let (mut bytes, mut place) = (BytesMut::new(), None);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| cut())?.into_data() else {
            continue;
        };
        let length = bytes.len() + data.len();
        if length > LARGEST {
            return Err(Refusal::too_large(LARGEST as u64));
        }
        if length > SMALL && place.is_none() {
            place = Some(LARGE.place().await);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.freeze())
}

/// Refuses a body that declares itself too large, before any of it is read.
///
/// # Errors
/// A body of more than `most` bytes.
pub(crate) fn refuse_larger(body: &Body, most: u64) -> Result<(), Refusal> {
    match body.size_hint().lower() > most {
        true => Err(Refusal::too_large(most)),
        false => Ok(()),
    }
}

/// The value in a body.
///
/// # Errors
/// As [`bytes`], and a body that is not JSON or has another form.
pub(crate) async fn read<T: DeserializeOwned>(sent: SentBody) -> Result<T, Refusal> {
    value(&bytes(sent).await?)
}

/// The value in the bytes of a body.
///
/// # Errors
/// A body that is not JSON or has another form.
pub(crate) fn value<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    // A parser takes a list for an object, its values by their order.
    if bytes.trim_ascii_start().starts_with(b"[") {
        let message = "the body is not as expected: it has to be an object";
        return Err(Refusal::bad("invalid_value", message));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        // Where a name is expected, the parser reports any other value as broken JSON.
        let is_json =
            error.is_data() || serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok();
        match is_json {
            true => mismatch::refusal(bytes, &error),
            false => Refusal::bad("invalid_json", format!("the body is not JSON: {error}")),
        }
    })
}

pub(crate) fn late() -> Refusal {
    let message = "the body did not arrive in time";
    Refusal::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", message)
}

pub(crate) fn cut() -> Refusal {
    Refusal::bad("body_cut", "the body was cut off")
}

/// JSON Lines.
pub(crate) fn lines_of(values: impl Iterator<Item = impl Serialize>) -> Vec<u8> {
    let mut lines = Vec::new();
    for value in values {
        // Cannot fail: no map has keys other than strings, and no part fails.
        let _ = serde_json::to_writer(&mut lines, &value);
        lines.push(b'\n');
    }
    lines
}

/// A response of JSON Lines, to be saved as a file.
pub(crate) fn json_lines(values: impl Iterator<Item = impl Serialize>) -> Response {
    let lines = lines_of(values);
    let headers = [
        (header::CONTENT_TYPE, "application/jsonl"),
        (
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"questions.jsonl\"",
        ),
    ];
    (headers, lines).into_response()
}

/// A response with a JSON body.
pub(crate) fn json(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => ([(header::CONTENT_TYPE, "application/json")], bytes).into_response(),
        Err(error) => {
            let error = std::io::Error::other(error);
            Refusal::failed(&error).into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use http_body_util::channel::{Channel, Sender};

    use super::*;

    /// A body of which this many bytes have come, and its client's end.
    async fn begun(length: usize) -> (SentBody, Sender<Bytes>) {
        let (mut client, body) = Channel::new(2);
        client.send_data(spaces(length)).await.unwrap();
        let (head, ()) = Request::new(()).into_parts();
        (SentBody::new(&head, Body::new(body)), client)
    }

    fn spaces(length: usize) -> Bytes {
        vec![b' '; length].into()
    }

    /// In one test, since large bodies of all tests share their places.
    #[tokio::test]
    async fn bodies_have_bounds_each_and_together() {
        let (whole, client) = begun(LARGEST).await;
        drop(client);
        assert_eq!(bytes(whole).await.unwrap().len(), LARGEST);
        let (longer, mut client) = begun(LARGEST).await;
        client.send_data(spaces(1)).await.unwrap();
        let refusal = bytes(longer).await.unwrap_err().into_response();
        assert_eq!(refusal.status(), StatusCode::PAYLOAD_TOO_LARGE);

        let of = |client: usize, body| tokio::spawn(sent_by(client.to_string(), bytes(body)));
        let mut clients = Vec::new();
        // One client gets some of the places, however many bodies it begins.
        for _ in 0..PLACES {
            let (body, client) = begun(SMALL + 1).await;
            clients.push((client, of(0, body)));
        }
        while load().working < PLACES_OF_CLIENT || load().waiting < PLACES - PLACES_OF_CLIENT {
            tokio::task::yield_now().await;
        }
        assert_eq!(load().working, PLACES_OF_CLIENT);
        for other in 1..PLACES / PLACES_OF_CLIENT {
            for _ in 0..PLACES_OF_CLIENT {
                let (body, client) = begun(SMALL + 1).await;
                clients.push((client, of(other, body)));
            }
        }
        while load().working < PLACES {
            tokio::task::yield_now().await;
        }
        let (small, client) = begun(SMALL).await;
        drop(client);
        assert_eq!(bytes(small).await.unwrap().len(), SMALL);

        let (further, client) = begun(SMALL + 1).await;
        drop(client);
        let further = of(PLACES, further);
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!further.is_finished());
        // The last one's place: of the first client, others wait.
        let (client, last) = clients.remove(clients.len() - 1);
        drop(client);
        assert_eq!(last.await.unwrap().unwrap().len(), SMALL + 1);
        assert_eq!(further.await.unwrap().unwrap().len(), SMALL + 1);
        for (client, body) in clients {
            drop(client);
            assert_eq!(body.await.unwrap().unwrap().len(), SMALL + 1);
        }
        assert!(lock(&LARGE.clients).is_empty());
        assert_eq!((load().working, load().waiting), (0, 0));
    }
}
