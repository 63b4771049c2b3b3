//! Requests that the caller can abandon at any moment, even during name lookup or connecting, which cannot be
//! interrupted: each request and its response run on their own thread. Once abandoned, the connection is closed, so
//! that the endpoint stops working on it.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;

use ken_http::{GLANCE, Line};
use ken_language::CancelToken;
use ureq::Body;
use ureq::http::Response;

/// Most bytes read at a time.
const CHUNK_BYTES: usize = 16 * 1024;
/// Most chunks waiting to be read.
const READ_AHEAD: usize = 4;

/// Sends a request and returns its response, whose body is read as it arrives, up to `limit` bytes.
///
/// # Errors
/// As the request, and once `cancel` is set.
pub(super) fn send_cancellable(
    send: impl FnOnce() -> Result<Response<Body>, ureq::Error> + Send + 'static,
    limit: u64,
    cancel: CancelToken,
) -> Result<Response<ResponseBody>, ureq::Error> {
    let (head, received_head) = sync_channel(1);
    let (chunks, received_chunks) = sync_channel(READ_AHEAD);
    let line = Line::default();
    let own = line.clone();
    let request = move || {
        own.take();
        match send() {
            Ok(response) => {
                let (parts, body) = response.into_parts();
                if head.send(Ok(parts)).is_ok() {
                    forward(body, limit, &chunks);
                }
            }
            // The caller no longer listens once it has left.
            Err(error) => drop(head.send(Err(error))),
        }
    };
    thread::Builder::new().spawn(request)?;
    let call = Call { line, cancel };
    let parts = call.next(&received_head)??;
    let body = ResponseBody {
        chunks: received_chunks,
        call,
        chunk: io::Cursor::default(),
        ended: false,
    };
    Ok(Response::from_parts(parts, body))
}

/// Forwards a body to its end, its first error, its limit, or until the receiver is gone. ureq's own limit is not
/// enough: it counts before decompressing bodies that came compressed unasked.
fn forward(body: Body, limit: u64, chunks: &SyncSender<io::Result<Vec<u8>>>) {
    let mut reader = body.into_reader();
    let mut left = limit;
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        let read = reader.read(&mut chunk).and_then(|length| {
            left = left
                .checked_sub(length as u64)
                .ok_or_else(|| ureq::Error::BodyExceedsLimit(limit).into_io())?;
            chunk.truncate(length);
            Ok(chunk)
        });
        let last = read.as_ref().map_or(true, Vec::is_empty);
        if chunks.send(read).is_err() || last {
            return;
        }
    }
}

/// A request in progress, as its caller sees it.
struct Call {
    line: Line,
    cancel: CancelToken,
}

impl Call {
    /// The next item, unless the caller leaves first.
    fn next<T>(&self, receiver: &Receiver<T>) -> io::Result<T> {
        loop {
            if self.cancel.is_set() {
                self.line.cut();
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            match receiver.recv_timeout(GLANCE) {
                Ok(received) => return Ok(received),
                Err(RecvTimeoutError::Timeout) => {}
                Err(disconnected) => return Err(io::Error::other(disconnected)),
            }
        }
    }
}

/// The body of a response, as it arrives.
pub(super) struct ResponseBody {
    chunks: Receiver<io::Result<Vec<u8>>>,
    call: Call,
    chunk: io::Cursor<Vec<u8>>,
    ended: bool,
}

impl ResponseBody {
    /// The connection that it arrives through.
    pub(super) fn line(&self) -> Line {
        self.call.line.clone()
    }
}

impl Read for ResponseBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.chunk.get_ref().len() as u64 - self.chunk.position();
        if left == 0 && !self.ended {
            let chunk = self.call.next(&self.chunks)??;
            self.ended = chunk.is_empty();
            self.chunk = io::Cursor::new(chunk);
        }
        self.chunk.read(buffer)
    }
}
