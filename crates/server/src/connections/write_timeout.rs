//! Writing to a client that does not read: the server waits, but not forever.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream that fails a write which makes no progress for a time.
pub(crate) struct Stalling<S> {
    stream: S,
    within: Duration,
    /// Runs while a write waits.
    since: Option<Pin<Box<Sleep>>>,
}

impl<S> Stalling<S> {
    pub(crate) fn new(stream: S, within: Duration) -> Self {
        Self {
            stream,
            within,
            since: None,
        }
    }

    /// Passes on how a write went, and fails one that has waited for too long.
    fn timed<T>(&mut self, cx: &mut Context<'_>, went: Poll<Result<T>>) -> Poll<Result<T>> {
        if went.is_ready() {
            self.since = None;
            return went;
        }
        let within = self.within;
        let since = self.since.get_or_insert_with(|| Box::pin(sleep(within)));
        match since.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(Error::from(ErrorKind::TimedOut))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stalling<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stalling<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let went = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.timed(cx, went)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let went = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.timed(cx, went)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[test]
    fn a_write_waits_for_a_slow_reader_and_not_for_one_that_does_not_read() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (near, mut far) = duplex(8);
            let mut near = Stalling::new(near, Duration::from_millis(100));
            let slow = tokio::spawn(async move {
                let mut piece = [0; 8];
                for _ in 0..5 {
                    tokio::time::sleep(Duration::from_millis(40)).await;
                    far.read_exact(&mut piece).await.unwrap();
                }
                far
            });
            // Longer in all than one write may wait.
            near.write_all(&[1; 40]).await.unwrap();
            let far = slow.await.unwrap();
            let error = near.write_all(&[1; 40]).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut);
            drop(far);
        });
    }
}
