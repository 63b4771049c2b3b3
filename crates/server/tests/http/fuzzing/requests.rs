//! Any bytes as a request to any route: one function for the seeded mutations in this folder and for the fuzz
//! targets. The first byte chooses the route; the bytes up to a line break go into the path, if the route has
//! parameters there, and into the query otherwise; the rest is the body.

use crate::client::{UPLOAD, exchange, request, upload_body};
use crate::fixture::Running;
use crate::random_input::check;
use crate::route_table::{Route, Takes, routes};

/// Requests after which a new server takes over: stored data adds up.
const MOST: usize = 2000;

/// Which routes to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tried {
    /// Those that take JSON, or nothing but their path.
    Json,
    /// Those that take files.
    Files,
}

/// A server with the routes to try.
pub(crate) struct Asked {
    server: Running,
    routes: Vec<Route>,
    count: usize,
}

impl Asked {
    pub(crate) fn new(tried: Tried) -> Self {
        let mut routes = routes();
        routes.retain(|route| matches!(route.takes, Takes::File) == (tried == Tried::Files));
        Self {
            server: Running::start(),
            routes,
            count: 0,
        }
    }

    /// A good request to each route, by the route's index in the table.
    pub(crate) fn seeds(&self) -> Vec<Vec<u8>> {
        let seed = |(place, route): (usize, &Route)| {
            let body = match route.takes {
                Takes::File => {
                    let file: (&str, &[u8]) = ("a.md", b"A text.");
                    upload_body(&[file], &[("purpose", "assistants")])
                }
                _ => {
                    let body = route.body().map(|body| body.to_string().into_bytes());
                    body.unwrap_or_default()
                }
            };
            let start = [u8::try_from(place).unwrap(), b'\n'];
            [&start[..], &body].concat()
        };
        self.routes.iter().enumerate().map(seed).collect()
    }

    /// Sends the request that the bytes mean. Whatever it is, the response has the form that clients expect.
    pub(crate) fn ask(&mut self, bytes: &[u8]) {
        let Some((&choice, rest)) = bytes.split_first() else {
            return;
        };
        self.count += 1;
        if self.count.is_multiple_of(MOST) {
            self.server = Running::start();
        }
        let route = &self.routes[usize::from(choice) % self.routes.len()];
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (given, body) = rest.split_at(end.unwrap_or(rest.len()));
        let body = body.strip_prefix(b"\n").unwrap_or_default();
        let kind = match route.takes {
            Takes::File => UPLOAD,
            _ => "application/json",
        };
        let path = path(route, given);
        let sent = request(&route.method, &path, &[("content-type", kind)], body);
        check(route, &sent, &exchange(self.server.address, &sent));
    }
}

/// The path of a route with these bytes in it.
fn path(route: &Route, given: &[u8]) -> String {
    if given.is_empty() {
        return route.example.clone();
    }
    let given: String = given.iter().map(|&byte| written(byte)).collect();
    match route.path.split_once('{') {
        Some((start, rest)) => {
            let (_, end) = rest.split_once('}').unwrap_or_default();
            format!("{start}{given}{end}").replace(['{', '}', '*'], "-")
        }
        None => format!("{}?{given}", route.path),
    }
}

/// A byte as it can stand in a path or a query. A percent sign begins an escape with whatever follows it.
fn written(byte: u8) -> String {
    match byte.is_ascii_alphanumeric() || b"%-._~/&=+:".contains(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    }
}
