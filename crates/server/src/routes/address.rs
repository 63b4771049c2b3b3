//! The address at which a client can read a passage, under the server name that the client itself used.

use axum::http::{HeaderMap, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};

use crate::wire::ken::Location;

/// Addresses of passages for one client.
pub(crate) struct Addresses {
    /// `None` if the client does not speak HTTP.
    origin: Option<String>,
}

impl Addresses {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        // Of several proxies, the first is the one that the client speaks to.
        let protocols = text("x-forwarded-proto").unwrap_or_default();
        let first = protocols.split(',').next().unwrap_or_default().trim();
        let scheme = match first.eq_ignore_ascii_case("https") {
            true => "https",
            false => "http",
        };
        let host = text(header::HOST.as_str()).unwrap_or("localhost");
        Self {
            origin: Some(format!("{scheme}://{host}")),
        }
    }

    /// For a client that cannot follow addresses.
    pub(crate) fn none() -> Self {
        Self { origin: None }
    }

    /// The address of a passage: where its document is, if that is known, or else at this server.
    pub(crate) fn passage(&self, corpus: &str, passage_id: &str, location: &Location) -> String {
        if let Some(url) = &location.url {
            return url.clone();
        }
        let (corpus, passage_id) = (escaped(corpus), escaped(passage_id));
        match &self.origin {
            Some(origin) => format!("{origin}/v1/ken/corpora/{corpus}/passages/{passage_id}"),
            None => format!("ken:{corpus}/{passage_id}"),
        }
    }
}

/// All but the unreserved characters of RFC 3986 and the slash.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

/// A text as a part of a path.
fn escaped(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, ESCAPED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_that_the_client_knows() {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, "box:8484".parse().unwrap());
        let of = |headers: &HeaderMap| {
            Addresses::of(headers).passage("my notes", "a/é.md#0", &Location::default())
        };
        let path = "/v1/ken/corpora/my%20notes/passages/a/%C3%A9.md%230";
        assert_eq!(of(&headers), format!("http://box:8484{path}"));
        headers.insert("x-forwarded-proto", "https".parse().unwrap());
        assert_eq!(of(&headers), format!("https://box:8484{path}"));
        headers.insert("x-forwarded-proto", "HTTPS, http".parse().unwrap());
        assert_eq!(of(&headers), format!("https://box:8484{path}"));
        let named = Addresses::none().passage("my notes", "a#0", &Location::default());
        assert_eq!(named, "ken:my%20notes/a%230");
        let location = Location {
            url: Some("https://a.example/m.pdf#page=3".to_owned()),
            ..Location::default()
        };
        let known = Addresses::none().passage("my notes", "a#0", &location);
        assert_eq!(known, "https://a.example/m.pdf#page=3");
    }
}
