//! URLs: which are local, and which parts may be shown.

use url::{Host, Url};

/// The part of a text, possibly a URL, that a message may show: neither user info nor query.
pub fn without_secrets(text: &str) -> &str {
    let (address, query) = text.split_at(text.find(['?', '#']).unwrap_or(text.len()));
    match address.rsplit_once('@') {
        // A password may contain a `?` too.
        _ if query.contains('@') => "…",
        Some((_, host)) => host,
        None => address,
    }
}

/// Whether the server is on this machine, which needs neither proxy nor encryption.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Whether an endpoint's URL has no query, or only the version of Azure's API, which may be shown.
pub fn has_open_query(url: &Url) -> bool {
    let names_version = |query: &str| query.starts_with("api-version=") && !query.contains('&');
    url.query().is_none_or(names_version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_are_local() {
        let here = |url: &str| is_loopback(&Url::parse(url).unwrap());
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
