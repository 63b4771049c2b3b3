//! Addresses of endpoints: what can be one, to whom it belongs, and what of it may be shown.

use url::{Host, Url};

use super::error::RemoteError;

/// The origin of an endpoint's URL, for which a key is given: scheme, host and port, without the
/// port that goes without saying.
///
/// # Errors
/// A URL that is no endpoint's.
pub fn origin(url: &str) -> Result<String, RemoteError> {
    let base = url.split_once('#').map_or(url, |(base, _)| base);
    Ok(parsed(base)?.origin().ascii_serialization())
}

/// What a message may show of a text that may be no URL: neither what stands before an `@`, nor a
/// query.
#[must_use]
pub fn without_secrets(text: &str) -> &str {
    let (address, query) = text.split_at(text.find(['?', '#']).unwrap_or(text.len()));
    match address.rsplit_once('@') {
        // A password may hold a `?` too.
        _ if query.contains('@') => "…",
        Some((_, host)) => host,
        None => address,
    }
}

/// A base URL that can be used.
pub(super) fn parsed(base: &str) -> Result<Url, RemoteError> {
    let refused = |reason: &str| RemoteError::BadUrl {
        url: without_secrets(base).to_owned(),
        reason: reason.to_owned(),
    };
    // Programs read this letter in two ways, and so disagree on which host is meant.
    if base.contains('\\') {
        return Err(refused("a URL has no backslash"));
    }
    let url = Url::parse(base).map_err(|e| refused(&e.to_string()))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused("its URL must not carry credentials"));
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refused("it begins with neither http:// nor https://"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refused("a base URL has no query"));
    }
    Ok(url)
}

/// Whether the endpoint is on this machine, where no proxy leads to and nobody listens.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        for (url, expected) in [
            ("https://API.example.org/v1", "https://api.example.org"),
            ("https://api.example.org:443/v1/", "https://api.example.org"),
            ("http://127.0.0.1:8000/v1#small", "http://127.0.0.1:8000"),
            ("http://[::1]:80", "http://[::1]"),
        ] {
            assert_eq!(origin(url).unwrap(), expected);
        }
        for url in ["ftp://a", "https://a:b@c", "a", r"https://good\@evil/v1"] {
            assert_eq!(origin(url).unwrap_err().kind(), "bad_endpoint");
        }
    }

    #[test]
    fn this_machine_is_told_from_others() {
        let here = |url: &str| is_loopback(&parsed(url).unwrap());
        for url in ["http://localhost:1", "http://127.8.0.1", "http://[::1]:80"] {
            assert!(here(url), "{url}");
        }
        for url in [
            "http://localhost.example.org",
            "http://10.0.0.1",
            "http://0.0.0.0",
        ] {
            assert!(!here(url), "{url}");
        }
    }
}
