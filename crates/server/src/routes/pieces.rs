//! A body made piece by piece as its client reads it: little of it is in memory at a time, and no thread waits for
//! the client.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use futures_core::Stream;
use tokio::task::{JoinHandle, spawn_blocking};

/// Why a body breaks off.
pub(crate) type Broken = Box<dyn Error + Send + Sync>;

/// A body of the pieces that `next` returns, up to the first `None`. `next` may block.
pub(crate) fn body(next: impl FnMut() -> Piece + Send + 'static) -> Body {
    let next = Box::new(next);
    Body::from_stream(Pieces::Waiting(next))
}

/// A piece, or the end.
pub(crate) type Piece = Result<Option<Vec<u8>>, Broken>;

type Next = Box<dyn FnMut() -> Piece + Send>;

enum Pieces {
    /// The client has not asked for the next piece.
    Waiting(Next),
    /// The next piece is being made.
    Working(JoinHandle<(Next, Piece)>),
    /// There are no more.
    Over,
}

impl Stream for Pieces {
    type Item = Result<Bytes, Broken>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut work = match std::mem::replace(&mut *self, Self::Over) {
            Self::Over => return Poll::Ready(None),
            Self::Working(work) => work,
            Self::Waiting(mut next) => spawn_blocking(move || {
                let piece = next();
                (next, piece)
            }),
        };
        let Poll::Ready(done) = Pin::new(&mut work).poll(cx) else {
            *self = Self::Working(work);
            return Poll::Pending;
        };
        let piece = done.map_err(Broken::from).and_then(|(next, piece)| {
            let piece = piece?;
            if piece.is_some() {
                *self = Self::Waiting(next);
            }
            Ok(piece)
        });
        Poll::Ready(piece.map(|piece| piece.map(Bytes::from)).transpose())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(pieces: Vec<Piece>) -> Option<Vec<u8>> {
        let mut pieces = pieces.into_iter();
        let body = body(move || pieces.next().unwrap_or(Ok(None)));
        let whole = axum::body::to_bytes(body, 100).await;
        whole.ok().map(|bytes| bytes.to_vec())
    }

    #[tokio::test]
    async fn a_body_is_its_pieces_and_breaks_where_one_is_missing() {
        let piece = |text: &str| Ok(Some(text.as_bytes().to_vec()));
        assert_eq!(read(vec![]).await.unwrap(), b"");
        let whole = read(vec![piece("a"), piece("bc")]).await;
        assert_eq!(whole.unwrap(), b"abc");
        let broken = read(vec![piece("a"), Err("gone".into()), piece("b")]).await;
        assert_eq!(broken, None);
    }
}
