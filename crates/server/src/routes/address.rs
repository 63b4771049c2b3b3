//! The address at which a client can read a passage, under the server name that the client itself used.

use axum::http::{HeaderMap, header};
use percent_encoding::{
    AsciiSet, NON_ALPHANUMERIC, PercentEncode, percent_decode_str, utf8_percent_encode,
};

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
        let Some(origin) = &self.origin else {
            return resource(corpus, passage_id);
        };
        let (corpus, passage_id) = (escaped(corpus), escaped(passage_id));
        format!("{origin}/v1/ken/corpora/{corpus}/passages/{passage_id}")
    }
}

/// The scheme of addresses that no server needs to be known for.
const SCHEME: &str = "ken:";

/// The address of a document or a passage of a corpus, by its id.
pub(crate) fn resource(corpus: &str, id: &str) -> String {
    format!("{SCHEME}{}/{}", escaped(corpus), escaped(id))
}

/// The corpus and the id in such an address; `None` if it is another one.
pub(crate) fn named(address: &str) -> Option<(String, String)> {
    let decoded = |part| Some(percent_decode_str(part).decode_utf8().ok()?.into_owned());
    let (corpus, id) = address.strip_prefix(SCHEME)?.split_once('/')?;
    Some((decoded(corpus)?, decoded(id)?))
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

    #[test]
    fn addresses_without_a_server_name_the_corpus_and_the_id() {
        let address = resource("my notes", "a/é%.md#0");
        assert_eq!(address, "ken:my%20notes/a/%C3%A9%25.md%230");
        let is = ("my notes".to_owned(), "a/é%.md#0".to_owned());
        assert_eq!(named(&address), Some(is.clone()));
        assert_eq!(named("ken:my%20notes/a%2F%C3%A9%25.md%230"), Some(is));
        for other in ["", "ken:", "ken:notes", "http://a/b", "ken:notes/%ff"] {
            assert_eq!(named(other), None, "{other}");
        }
    }
}
