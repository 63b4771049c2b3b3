//! One request and its answer, carried by a thread of its own, so that whoever waits can give up at
//! any moment: also while a name is looked up or a connection is made, which nothing can break off.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;

use ken_http::GLANCE;
use ureq::Body;
use ureq::http::Response;

/// The longest piece that is read at a time.
const CHUNK_BYTES: usize = 16 * 1024;
/// Pieces that wait to be read.
const READ_AHEAD: usize = 4;

/// Sends a request and returns its answer, whose body is read as it comes, up to `limit` bytes.
///
/// # Errors
/// As the request, and once `stop` is set. What is then still in flight is left to itself.
pub(super) fn exchange(
    send: impl FnOnce() -> Result<Response<Body>, ureq::Error> + Send + 'static,
    limit: u64,
    stop: Arc<AtomicBool>,
) -> Result<Response<Incoming>, ureq::Error> {
    let (head, told) = sync_channel(1);
    let (chunks, incoming) = sync_channel(READ_AHEAD);
    let carry = move || match send() {
        Ok(response) => {
            let (parts, body) = response.into_parts();
            if head.send(Ok(parts)).is_ok() {
                forward(body, limit, &chunks);
            }
        }
        // Whoever gave up is told nothing more.
        Err(error) => drop(head.send(Err(error))),
    };
    thread::Builder::new().spawn(carry)?;
    let parts = wait(&told, &stop)??;
    let body = Incoming {
        chunks: incoming,
        stop,
        chunk: io::Cursor::default(),
        ended: false,
    };
    Ok(Response::from_parts(parts, body))
}

/// Hands on a body to its end, its first error, its limit, or until nobody wants more of it. The
/// limit is not ureq's, which counts before it unpacks what came packed though nobody asked for that.
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

/// What comes next. What has come already is not lost by a stop.
fn wait<T>(receiver: &Receiver<T>, stop: &AtomicBool) -> io::Result<T> {
    loop {
        if let Ok(received) = receiver.try_recv() {
            return Ok(received);
        }
        if stop.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        match receiver.recv_timeout(GLANCE) {
            Ok(received) => return Ok(received),
            Err(RecvTimeoutError::Timeout) => {}
            Err(gone) => return Err(io::Error::other(gone)),
        }
    }
}

/// The body of an answer, as it comes.
pub(super) struct Incoming {
    chunks: Receiver<io::Result<Vec<u8>>>,
    stop: Arc<AtomicBool>,
    chunk: io::Cursor<Vec<u8>>,
    ended: bool,
}

impl Read for Incoming {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.chunk.get_ref().len() as u64 - self.chunk.position();
        if left == 0 && !self.ended {
            let chunk = wait(&self.chunks, &self.stop)??;
            self.ended = chunk.is_empty();
            self.chunk = io::Cursor::new(chunk);
        }
        self.chunk.read(buffer)
    }
}
