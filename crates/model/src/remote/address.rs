//! Addresses of endpoints: what can be one, to whom it belongs, and what of it may be shown.

use ken_http::without_secrets;
use url::Url;

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
}
