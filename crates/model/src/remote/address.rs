//! Base URLs of endpoints: which are valid, and their origin.

use ken_http::{has_open_query, without_secrets};
use url::Url;

use super::error::{Failure, RemoteError};

/// The origin of an endpoint's URL, to which its key belongs: scheme, host and port, without the
/// scheme's default port.
///
/// # Errors
/// A URL that is not valid for an endpoint.
pub fn origin(url: &str) -> Result<String, RemoteError> {
    let base = url.split_once('#').map_or(url, |(base, _)| base);
    Ok(parse_base_url(base)?.origin().ascii_serialization())
}

pub(super) fn parse_base_url(base: &str) -> Result<Url, RemoteError> {
    let refused =
        |reason: &str| RemoteError::BadEndpoint(Failure::at(without_secrets(base), reason));
    // Programs differ in how they read a backslash, and so in which host they see.
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
    if !has_open_query(&url) || url.fragment().is_some() {
        return Err(refused("a base URL has no query but api-version, Azure's"));
    }
    Ok(url)
}

/// A base URL without the slash at its end and without its query, and that query with its `?`.
pub(super) fn base_address(url: &Url) -> (String, String) {
    let version = url.query().map(|query| format!("?{query}"));
    let mut base = url.clone();
    base.set_query(None);
    let address = base.as_str().trim_end_matches('/').to_owned();
    (address, version.unwrap_or_default())
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
        for url in [
            "ftp://a",
            "https://a:b@c",
            "a",
            r"https://good\@evil/v1",
            "https://a/v1?key=k",
            "https://a/v1?api-version=1&key=k",
            "https://a/v1?",
        ] {
            assert_eq!(origin(url).unwrap_err().kind(), "bad_endpoint", "{url}");
        }
    }

    #[test]
    fn a_version_of_azure_stands_behind_every_route() {
        let of = |text: &str| base_address(&parse_base_url(text).unwrap());
        let azure = "https://x.openai.azure.com/openai/deployments/small/?api-version=2024-10-21";
        let (address, version) = of(azure);
        assert_eq!(
            address,
            "https://x.openai.azure.com/openai/deployments/small"
        );
        assert_eq!(version, "?api-version=2024-10-21");
        assert_eq!(
            of("http://a/v1/"),
            ("http://a/v1".to_owned(), String::new())
        );
    }
}
