//! The routes for one connection. They tell its place when the server waits for the client: until a request has
//! arrived with its whole body, and again once the answer is handed over.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body as AnyBody;
use axum::http::{Request, Response, header};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::service::{HttpService, Service, service_fn};
use hyper_util::service::TowerToHyperService;

use super::places::Place;
use super::remainder::Drained;
use crate::wire::azure::readdress;

/// The address at the other end of a request's connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Answers the requests of one connection.
pub(crate) fn service(
    routes: Router,
    place: Arc<Place>,
    peer: Peer,
) -> impl HttpService<
    Incoming,
    ResBody = Passing<AnyBody>,
    Error = Infallible,
    Future = impl Future<Output = Result<Response<Passing<AnyBody>>, Infallible>> + Send,
> {
    let routes = TowerToHyperService::new(routes);
    service_fn(move |mut request: Request<Incoming>| {
        readdress(&mut request);
        request.extensions_mut().insert(peer);
        let is_sent = !request.headers().contains_key(header::EXPECT);
        let place = Arc::clone(&place);
        let answer = routes.call(request.map(|body| Passing {
            body: Drained::new(body, is_sent),
            place: Arc::clone(&place),
            at_piece: Place::hears,
            at_end: Place::answers,
        }));
        async move {
            Ok(answer.await?.map(|body| Passing {
                body,
                place,
                at_piece: |_| {},
                at_end: Place::hears,
            }))
        }
    })
}

/// A body that tells the place of its connection about its progress.
pub(crate) struct Passing<B> {
    body: B,
    place: Arc<Place>,
    at_piece: fn(&Place),
    at_end: fn(&Place),
}

impl<B: Body + Unpin> Body for Passing<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let piece = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(_))) = &piece {
            (self.at_piece)(&self.place);
        }
        piece
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> Drop for Passing<B> {
    /// The body is over: read, handed over or given up.
    fn drop(&mut self) {
        (self.at_end)(&self.place);
    }
}
