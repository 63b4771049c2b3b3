//! Receiving files: `multipart/form-data` from a client's body to the disk, within limits of size, number and time.
//! Of a file, only the piece that is being written is in memory, and no thread waits for the next one.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use futures_core::Stream;
use ken_storage::{AtomicFile, StorageError};
use multer::{Constraints, Field, Multipart, SizeLimit};

use crate::service::work::{blocking, broken};
use crate::wire::body::{cut, late, refuse_larger};
use crate::wire::encoding::ContentEncoding;
use crate::wire::refusal::Refusal;

/// The largest body, in bytes, as for files of OpenAI's API.
pub(crate) const LARGEST: u64 = 512 << 20;

/// The most bytes between the contents of parts: a preamble, or the head of a part.
const LONGEST_HEAD: usize = 64 << 10;

/// The longest field that is no file, in bytes.
const LONGEST_TEXT: u64 = 64 << 10;

/// The most parts of a body.
const MOST_PARTS: usize = 100;

/// How long a client may take to send the next piece.
const PIECE_WITHIN: Duration = Duration::from_secs(30);

/// What was received.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// The files' names in the folder, and their lengths in bytes.
    pub(crate) files: Vec<(String, u64)>,
    /// The other fields.
    pub(crate) fields: BTreeMap<String, String>,
}

/// Receives a body's files into a new folder, each at the path that `named` makes of its name, and passes the outcome
/// to `then`. After an error, the received files stay in the folder, for `then` to remove. It goes on when the client
/// goes away, which counts as such an error.
///
/// # Errors
/// Those of `then`, which gets: a body of another kind, or one that is cut off, too large or too slow; names that
/// files cannot have; a full disk.
pub(crate) async fn receive<T: Send + 'static>(
    headers: HeaderMap,
    body: Body,
    folder: PathBuf,
    named: fn(&str) -> Option<String>,
    then: impl FnOnce(Result<Received, Refusal>) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::spawn(async move {
        let received = files_of(&headers, body, &folder, named).await;
        blocking(move || then(received)).await
    });
    done.await.unwrap_or_else(|_| Err(broken()))
}

async fn files_of(
    headers: &HeaderMap,
    body: Body,
    folder: &Path,
    named: fn(&str) -> Option<String>,
) -> Result<Received, Refusal> {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let boundary = multer::parse_boundary(kind).map_err(|_| {
        let message = "files are sent as multipart/form-data";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        Refusal::new(status, "not_multipart", message)
    })?;
    if ContentEncoding::of(headers)? != ContentEncoding::Identity {
        return Err(ContentEncoding::refused(
            "uploads are sent as they are, not compressed",
        ));
    }
    refuse_larger(&body, LARGEST)?;
    let limits = SizeLimit::new().whole_stream(LARGEST);
    let limits = Constraints::new().size_limit(limits);
    let held = Held::default();
    let body = Bounded {
        body: body.into_data_stream(),
        rest: Bytes::new(),
        held: held.clone(),
        pauses: false,
    };
    let mut parts = Multipart::with_constraints(body, boundary, limits);
    let mut received = Received::default();
    for _ in 0..MOST_PARTS {
        let Some(part) = timely(parts.next_field()).await? else {
            return Ok(received);
        };
        held.store(0, Ordering::Relaxed);
        let name = part.name().unwrap_or_default().to_owned();
        match part.file_name().map(str::to_owned) {
            Some(given) => {
                let Some(safe) = named(&given) else {
                    let message = format!("{given:?} cannot be the name of a file here");
                    return Err(Refusal::bad("invalid_filename", message).of("file"));
                };
                if received
                    .files
                    .iter()
                    .any(|(known, _)| collide(known, &safe))
                {
                    let message = format!("two files have the name {safe:?}");
                    return Err(Refusal::bad("invalid_filename", message).of("file"));
                }
                let bytes = to_disk(part, &held, folder, &safe).await?;
                received.files.push((safe, bytes));
            }
            None => {
                let text = text(part, &held).await?;
                received.fields.insert(name, text);
            }
        }
    }
    let message = format!("a body has at most {MOST_PARTS} parts");
    Err(Refusal::bad("too_many_parts", message))
}

/// Whether two paths are equal, or one is a folder of the other.
fn collide(left: &str, right: &str) -> bool {
    let is_below = |path: &str, folder: &str| {
        let rest = path.strip_prefix(folder);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_below(left, right) || is_below(right, left)
}

/// Waits a limited time for what the client sends.
async fn timely<T>(sent: impl Future<Output = multer::Result<T>>) -> Result<T, Refusal> {
    match tokio::time::timeout(PIECE_WITHIN, sent).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(refused(&error)),
        Err(_) => Err(late()),
    }
}

/// How many bytes of a body the parser got since it last returned something: a preamble, or the head of a part.
type Held = Arc<AtomicUsize>;

/// A body that hands over a little at a time, and fails once the parser holds too much: the parser takes everything
/// that there is, and keeps it until it knows what it is.
struct Bounded<S> {
    body: S,
    /// The rest of the last piece.
    rest: Bytes,
    held: Held,
    /// Whether the parser has to look at what it got before it gets more.
    pauses: bool,
}

/// The parser holds too much.
#[derive(Debug, thiserror::Error)]
#[error("more than {LONGEST_HEAD} bytes stand between the contents of parts")]
struct TooLongHead;

impl<S: Stream<Item = Result<Bytes, axum::Error>> + Unpin> Stream for Bounded<S> {
    type Item = Result<Bytes, Box<dyn Error + Send + Sync>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.pauses) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let held = self.held.load(Ordering::Relaxed);
        if held > LONGEST_HEAD {
            return Poll::Ready(Some(Err(TooLongHead.into())));
        }
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_next(cx)) {
                Some(Ok(piece)) => self.rest = piece,
                Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
                None => return Poll::Ready(None),
            }
        }
        let length = self.rest.len().min(LONGEST_HEAD);
        let piece = self.rest.split_to(length);
        self.held.fetch_add(length, Ordering::Relaxed);
        self.pauses = true;
        Poll::Ready(Some(Ok(piece)))
    }
}

fn refused(error: &multer::Error) -> Refusal {
    match error {
        multer::Error::StreamReadFailed(cause) if cause.is::<TooLongHead>() => {
            let message = cause.to_string();
            let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
            Refusal::new(status, "part_head_too_large", message)
        }
        multer::Error::StreamSizeExceeded { limit }
        | multer::Error::FieldSizeExceeded { limit, .. } => Refusal::too_large(*limit),
        multer::Error::StreamReadFailed(_)
        | multer::Error::IncompleteStream
        | multer::Error::IncompleteHeaders
        | multer::Error::IncompleteFieldData { .. } => cut(),
        _ => Refusal::bad("invalid_multipart", "the body is no multipart/form-data"),
    }
}

async fn text(mut part: Field<'_>, held: &Held) -> Result<String, Refusal> {
    let mut bytes = Vec::new();
    while let Some(piece) = timely(part.chunk()).await? {
        held.store(0, Ordering::Relaxed);
        bytes.extend_from_slice(&piece);
        if bytes.len() as u64 > LONGEST_TEXT {
            let message = format!("a field that is no file has at most {LONGEST_TEXT} bytes");
            let status = StatusCode::PAYLOAD_TOO_LARGE;
            return Err(Refusal::new(status, "body_too_large", message));
        }
    }
    String::from_utf8(bytes).map_err(|_| Refusal::bad("invalid_value", "a field is no UTF-8"))
}

/// Writes a part to a file, which appears only when it is complete; returns its length in bytes.
async fn to_disk(
    mut part: Field<'_>,
    held: &Held,
    folder: &Path,
    name: &str,
) -> Result<u64, Refusal> {
    let path = folder.join(name);
    let place = path.clone();
    let mut file = on_disk(move || {
        place
            .parent()
            .map_or(Ok(()), ken_storage::create_plain_dir_all)?;
        AtomicFile::create(&place)
    })
    .await?;
    let mut bytes = 0;
    while let Some(piece) = timely(part.chunk()).await? {
        held.store(0, Ordering::Relaxed);
        bytes += piece.len() as u64;
        let place = path.clone();
        file = on_disk(move || {
            let written = file.write_all(&piece);
            written.map_err(StorageError::new("write", &place))?;
            Ok(file)
        })
        .await?;
    }
    on_disk(move || file.commit()).await?;
    Ok(bytes)
}

async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StorageError> + Send + 'static,
) -> Result<T, Refusal> {
    blocking(move || work().map_err(|error| Refusal::failed(&error))).await
}
