//! The rest of a request's body that nobody reads, such as that of a request that is refused by its head. It is read
//! and thrown away: a server that closed the connection instead would reset it, and a client that still sends would
//! never see the response.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::runtime::Handle;
use tokio::time::timeout;

/// The longest rest that is read, in bytes.
const MOST: u64 = 32 << 20;

/// How long the next piece of a rest may take.
const PIECE_WITHIN: Duration = Duration::from_secs(2);

/// How long all of it may take.
const ALL_WITHIN: Duration = Duration::from_secs(20);

/// A body whose rest is read when it is dropped.
pub(crate) struct Drained {
    body: Option<Incoming>,
    /// Whether the client sends its body: unasked, or since it got `100 Continue`.
    is_sent: bool,
}

impl Drained {
    pub(crate) fn new(body: Incoming, is_sent: bool) -> Self {
        let body = Some(body);
        Self { body, is_sent }
    }
}

impl Body for Drained {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.is_sent = true;
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

impl Drop for Drained {
    fn drop(&mut self) {
        let body = self.body.take().filter(|body| {
            self.is_sent && !body.is_end_stream() && body.size_hint().lower() <= MOST
        });
        if let (Some(body), Ok(runtime)) = (body, Handle::try_current()) {
            runtime.spawn(drain(body));
        }
    }
}

async fn drain(mut body: Incoming) {
    let all = async {
        let mut read = 0;
        while read <= MOST
            && let Ok(Some(Ok(frame))) = timeout(PIECE_WITHIN, body.frame()).await
        {
            read += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
    };
    let _ = timeout(ALL_WITHIN, all).await;
}
