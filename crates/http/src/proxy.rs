//! The proxy that the environment names for a server, by the conventions of curl: `http_proxy` for `http://`,
//! `https_proxy` for `https://`, `all_proxy` for both, none for the hosts in `no_proxy`; each also in capitals.

use std::net::IpAddr;

use ureq::{Proxy, ProxyProtocol};
use url::Url;

use crate::address::{is_loopback, without_secrets};

/// The configured proxy cannot be used.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[diagnostic(
    kind = "bad_proxy",
    remedy = "name an HTTP proxy, such as http://proxy.example.org:3128, or except the host by NO_PROXY"
)]
#[error("the proxy {address} of {variable} cannot be used: {reason}")]
pub struct BadProxy {
    /// The proxy, without its password.
    pub address: String,
    /// The variable that names it.
    pub variable: &'static str,
    /// The reason.
    pub reason: &'static str,
}

/// The proxy on the way to a server; none if the server is on this machine. `variable` reads the environment.
///
/// # Errors
/// A proxy of a kind that ken does not speak, which must not be passed by.
pub fn proxy_of(
    url: &Url,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Proxy>, BadProxy> {
    let value =
        |name: &&'static str| Some((*name, variable(name).filter(|text| !text.is_empty())?));
    let excepted = ["no_proxy", "NO_PROXY"].iter().find_map(value);
    if is_loopback(url) || excepted.is_some_and(|(_, list)| is_excepted(url, &list)) {
        return Ok(None);
    }
    let own = match url.scheme() {
        "https" => ["https_proxy", "HTTPS_PROXY"],
        _ => ["http_proxy", "HTTP_PROXY"],
    };
    let mut named = own.iter().chain(&["all_proxy", "ALL_PROXY"]);
    let Some((variable, address)) = named.find_map(value) else {
        return Ok(None);
    };
    let bad = |reason| BadProxy {
        address: without_secrets(&address).to_owned(),
        variable,
        reason,
    };
    let proxy = Proxy::new(&address).map_err(|_| bad("it is not the address of a proxy"))?;
    match proxy.protocol() {
        ProxyProtocol::Http | ProxyProtocol::Https => Ok(Some(proxy)),
        _ => Err(bad("ken speaks to HTTP proxies only")),
    }
}

/// Whether a list of hosts, domains and blocks of addresses holds a URL's host. A domain stands for those below it, too.
fn is_excepted(url: &Url, list: &str) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address: Option<IpAddr> = host.parse().ok();
    list.split([',', ' ']).map(str::trim).any(|entry| {
        let domain = entry.trim_start_matches('*').trim_start_matches('.');
        let domain = domain.to_ascii_lowercase();
        let ends_with = |domain: &str| {
            let before = host.strip_suffix(domain);
            before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
        };
        match (entry, address) {
            ("", _) => false,
            ("*", _) => true,
            (_, Some(address)) => domain == host || is_within(address, entry),
            (_, None) => ends_with(&domain),
        }
    })
}

/// Whether a block of addresses, such as `10.0.0.0/8`, holds an address.
fn is_within(address: IpAddr, block: &str) -> bool {
    let Some((first, bits)) = block.split_once('/') else {
        return false;
    };
    let (Ok(first), Ok(bits)) = (first.parse::<IpAddr>(), bits.parse::<u32>()) else {
        return false;
    };
    let (differing, width) = match (address, first) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (u128::from(a.to_bits() ^ b.to_bits()), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits(), 128),
        _ => return false,
    };
    bits <= width && differing.checked_shr(width - bits).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The proxy's host for a URL, with these variables.
    fn proxy(url: &str, variables: &[(&str, &str)]) -> Result<Option<String>, BadProxy> {
        let variable = |name: &str| {
            let named = variables.iter().find(|(own, _)| *own == name);
            named.map(|(_, value)| (*value).to_owned())
        };
        let proxy = proxy_of(&Url::parse(url).unwrap(), variable)?;
        Ok(proxy.map(|proxy| format!("{}:{}", proxy.host(), proxy.port())))
    }

    #[test]
    fn each_scheme_has_its_proxy() {
        let both = [
            ("http_proxy", "http://plain:3128"),
            ("HTTPS_PROXY", "tls:3129"),
        ];
        let of = |url: &str, variables: &[(&str, &str)]| proxy(url, variables).unwrap();
        assert_eq!(
            of("http://a.example/v1", &both).as_deref(),
            Some("plain:3128")
        );
        assert_eq!(
            of("https://a.example/v1", &both).as_deref(),
            Some("tls:3129")
        );
        assert_eq!(of("http://a.example/v1", &both[1..]), None);
        assert_eq!(of("http://127.0.0.1:8000/v1", &both), None);
        let all = [("ALL_PROXY", "http://every"), ("http_proxy", "")];
        assert_eq!(of("http://a.example/v1", &all).as_deref(), Some("every:80"));
        assert_eq!(of("https://a.example/v1", &[]), None);
    }

    #[test]
    fn hosts_domains_and_blocks_of_addresses_are_excepted() {
        for (url, list, excepted) in [
            ("http://models.example.org", "example.org", true),
            ("http://models.example.org", "a, .Example.org", true),
            ("http://example.org", "*.example.org", true),
            ("http://badexample.org", "example.org", false),
            ("http://models.example.org", "*", true),
            ("http://10.1.2.3:8000", "10.0.0.0/8", true),
            ("http://11.1.2.3:8000", "10.0.0.0/8,localhost", false),
            ("http://10.1.2.3", "10.1.2.3", true),
            ("http://10.1.2.3", "2.3", false),
            ("http://[fd00::7]/v1", "fd00::/8", true),
            ("http://10.1.2.3", "0.0.0.0/0", true),
            ("http://10.1.2.3", "10.0.0.0/99", false),
            ("http://a", "", false),
        ] {
            let variables = [("HTTP_PROXY", "http://proxy"), ("NO_PROXY", list)];
            let named = proxy(url, &variables).unwrap();
            assert_eq!(named.is_none(), excepted, "{url} {list}");
        }
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_not_passed_by() {
        for address in ["socks5://me:secret@proxy:1080", "ftp://me:secret@proxy"] {
            let error = proxy("http://a", &[("all_proxy", address)]).unwrap_err();
            assert_eq!(error.kind(), "bad_proxy");
            let message = error.to_string();
            assert!(
                message.contains("proxy") && message.contains("all_proxy"),
                "{message}"
            );
            assert!(!message.contains("secret"), "{message}");
        }
    }
}
