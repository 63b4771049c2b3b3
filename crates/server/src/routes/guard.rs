//! What surrounds every route: an id for the request, where it comes from, who makes it, and afterwards counting and
//! logging.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{FromRef, MatchedPath, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use rand::Rng;

use super::call::Shared;
use super::table::OPEN;
use crate::access::caller::Access;
use crate::connections::connection::Peer;
use crate::log::Entry;
use crate::service::answers::{Request, milliseconds};
use crate::service::clock::unix_seconds;
use crate::service::resources::Served;
use crate::spans::Parent;
use crate::wire::body::sent_by;
use crate::wire::refusal::Refusal;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The server's id of a request for which the client has its own.
const OWN_REQUEST_ID: HeaderName = HeaderName::from_static("ken-request-id");

/// The longest id of a client that the server keeps.
const LONGEST_ID: usize = 128;

/// What pages of other origins may read of a response besides its body.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "x-request-id, ken-request-id, retry-after, retry-after-ms, x-should-retry",
);

/// The methods that they may use.
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");

/// For how many seconds their browser remembers this.
const KEPT_FOR: HeaderValue = HeaderValue::from_static("600");

/// How the routes of the console's files begin. The log leaves these out: a page loads dozens.
const CONSOLE_FILES: &str = "/console/";

/// The header that says how long a connection stays open without a request.
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

pub(crate) async fn around(
    State(shared): State<Shared>,
    request: axum::extract::Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let served: Arc<Served> = Arc::from_ref(&shared);
    let id = format!("req_{:016x}", rand::rng().random::<u64>());
    let of_client = client_id(&request);
    let method = request.method().to_string();
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or_else(String::new, |path| path.as_str().to_owned());
    let mut key = None;
    let origin = shared.access.allowed_origin(request.headers());
    let preflight = origin
        .as_ref()
        .and_then(|_| preflight(&shared.access, &request));
    let mut response = match admit(&shared.access, &route, &id, &request) {
        _ if preflight.is_some() => preflight.unwrap_or_default(),
        Ok(who) => {
            key = who.caller.key().map(str::to_owned);
            let peer = request.extensions().get::<Peer>();
            let address = || peer.map(|peer| peer.0.to_string()).unwrap_or_default();
            let client = key.clone().unwrap_or_else(address);
            let mut request = request;
            request.extensions_mut().insert(who);
            sent_by(client, next.run(request)).await
        }
        Err(refusal) => refusal.into_response(),
    };
    let headers = response.headers_mut();
    add_ids(headers, &id, of_client.as_deref());
    add_limits(headers, served.limits.idle, origin);
    let status = response.status().as_u16();
    served.metrics.request(&route, status);
    if status < 400 && route.starts_with(CONSOLE_FILES) {
        return response;
    }
    let refusal = response.extensions().get::<Refusal>();
    (served.log)(&Entry::Request {
        request_id: id,
        client_request_id: of_client,
        method,
        route,
        status,
        ms: milliseconds(started.elapsed()),
        key,
        code: refusal.map(Refusal::code),
        detail: refusal.and_then(|refusal| refusal.detail.clone()),
    });
    response
}

/// Names the request by the client's id besides its own, or by its own alone.
fn add_ids(headers: &mut HeaderMap, id: &str, of_client: Option<&str>) {
    for (name, value) in match of_client {
        Some(of_client) => vec![(REQUEST_ID, of_client), (OWN_REQUEST_ID, id)],
        None => vec![(REQUEST_ID, id)],
    } {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
}

/// Says how long the connection stays open without a request, and what a page of an allowed origin may read.
fn add_limits(headers: &mut HeaderMap, idle: Duration, origin: Option<HeaderValue>) {
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    if let Ok(kept) = HeaderValue::from_str(&format!("timeout={}", idle.as_secs())) {
        headers.insert(KEEP_ALIVE, kept);
    }
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
    headers.append(header::VARY, HeaderValue::from_static("origin"));
}

/// The id that the client gave the request, if it fits into a line of a log.
fn client_id(request: &axum::extract::Request) -> Option<String> {
    let id = request.headers().get(REQUEST_ID)?.to_str().ok()?;
    let fits =
        (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then(|| id.to_owned())
}

/// The answer to a browser that asks, for an allowed page, whether it may send a request.
fn preflight(access: &Access, request: &axum::extract::Request) -> Option<Response> {
    let headers = request.headers();
    let asks = headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if request.method() != Method::OPTIONS || !asks {
        return None;
    }
    if let Err(refusal) = access.check_host(headers, request.version(), request.uri()) {
        return Some(refusal.into_response());
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    let wanted = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let allowed = response.headers_mut();
    allowed.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    allowed.insert(header::ACCESS_CONTROL_MAX_AGE, KEPT_FOR);
    if let Some(wanted) = wanted {
        allowed.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted);
    }
    Some(response)
}

fn admit(
    access: &Access,
    route: &str,
    id: &str,
    request: &axum::extract::Request,
) -> Result<Request, Refusal> {
    let headers = request.headers();
    access.check_host(headers, request.version(), request.uri())?;
    let caller = if OPEN.contains(&route) {
        access.anyone()
    } else {
        access.caller(headers, unix_seconds())?
    };
    Ok(Request {
        id: id.to_owned(),
        caller,
        parent: Parent::of(headers),
    })
}
