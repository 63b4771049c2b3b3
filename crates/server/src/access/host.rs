//! Which hosts and origins the server answers. A page in a browser must not reach a server on its own machine:
//! neither from another origin, nor by a name that an attacker made point there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use axum::http::{HeaderMap, Uri, Version, header};

use ken_setup::Origins;

use crate::wire::refusal::Refusal;

/// Checks where a request comes from. Without keys, the server answers names of this machine only.
///
/// # Errors
/// A malformed host, two hosts, or none in HTTP/1.1; another host, or a page of another origin.
pub(crate) fn check(
    headers: &HeaderMap,
    version: Version,
    target: &Uri,
    has_keys: bool,
    allowed: &Origins,
) -> Result<(), Refusal> {
    let host = host(headers, target)?;
    if host.is_none() && version == Version::HTTP_11 {
        let message = "a request of HTTP/1.1 has to name its host";
        return Err(Refusal::bad("invalid_host", message));
    }
    if !has_keys && !host.is_some_and(|(_, host)| host.is_of_this_machine()) {
        let message = "without keys only localhost is answered as host";
        return Err(Refusal::forbidden("other_host", message));
    }
    let Some(origin) = headers.get(header::ORIGIN) else {
        return Ok(());
    };
    let origin = origin.to_str().ok();
    if origin.is_some_and(|origin| allowed.have(origin)) {
        return Ok(());
    }
    let origin = origin.and_then(|origin| origin.split_once("://"));
    match (origin, host) {
        (Some((_, origin)), Some((host, _))) if origin.eq_ignore_ascii_case(host) => Ok(()),
        _ => {
            let message =
                "pages of other origins are not answered, unless `allowed_origins` names these";
            Err(Refusal::forbidden("other_origin", message))
        }
    }
}

/// The host that a request is for, as text and parsed; `None` if it names none (HTTP/1.0). A host that does not parse
/// to its end is refused, since programs would differ in how they read it (RFC 9112, 3.2).
///
/// # Errors
/// A malformed host, two hosts, or another host in the target of the request.
fn host<'h>(headers: &'h HeaderMap, target: &Uri) -> Result<Option<(&'h str, Host<'h>)>, Refusal> {
    let refused = |message| Refusal::bad("invalid_host", message);
    let mut all = headers.get_all(header::HOST).iter();
    let given = all.next();
    if all.next().is_some() {
        return Err(refused(
            "a request is for one host, and this one has several Host headers",
        ));
    }
    let text = given.map(|host| host.to_str().unwrap_or("\0"));
    let no_host = "the Host header has to be HOST or HOST:PORT";
    let host = text.map(|text| Host::read(text).ok_or_else(|| refused(no_host)));
    let host = host.transpose()?;
    if let Some(authority) = target.authority() {
        let in_target = Host::read(authority.as_str());
        if in_target.is_none()
            || !in_target
                .zip(host)
                .is_some_and(|(target_host, named)| target_host.is(named))
        {
            return Err(refused(
                "the target of the request and its Host header name two hosts",
            ));
        }
    }
    Ok(text.zip(host))
}

/// A host with its port.
#[derive(Clone, Copy)]
struct Host<'h> {
    name: &'h str,
    port: Option<u16>,
}

impl<'h> Host<'h> {
    /// Reads `HOST` or `HOST:PORT` to its end.
    fn read(text: &'h str) -> Option<Self> {
        let end = match text.strip_prefix('[') {
            Some(rest) => {
                let inside = &rest[..rest.find(']')?];
                inside.parse::<Ipv6Addr>().ok()?;
                inside.len() + 2
            }
            None => text.find(':').unwrap_or(text.len()),
        };
        let (name, port) = text.split_at(end);
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~[]:".contains(&byte);
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => None,
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(digits.parse().ok()?)
            }
            _ => return None,
        };
        (name.bytes().all(fits) && (port.is_none() || !name.is_empty()))
            .then_some(Self { name, port })
    }

    /// Whether both are the same server of HTTP.
    fn is(self, other: Self) -> bool {
        const PORT: u16 = 80;
        self.name.eq_ignore_ascii_case(other.name)
            && self.port.unwrap_or(PORT) == other.port.unwrap_or(PORT)
    }

    /// Whether it names the machine itself, whatever the port.
    fn is_of_this_machine(self) -> bool {
        let address = match self.name.strip_prefix('[') {
            Some(rest) => rest.trim_end_matches(']').parse().map(IpAddr::V6),
            None => self.name.parse().map(|address: Ipv4Addr| address.into()),
        };
        self.name.eq_ignore_ascii_case("localhost")
            || address.is_ok_and(|address| address.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal_code(
        hosts: &[&str],
        target: &str,
        origin: Option<&str>,
        has_keys: bool,
    ) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, host.parse().unwrap());
        }
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        let allowed = "https://pages.org".parse().unwrap();
        let target = target.parse().unwrap();
        let refused = check(&headers, Version::HTTP_10, &target, has_keys, &allowed).err();
        refused.map(|refusal| refusal.code())
    }

    fn code(host: &str, origin: Option<&str>, has_keys: bool) -> Option<&'static str> {
        refusal_code(&[host], "/v1/models", origin, has_keys)
    }

    #[test]
    fn only_this_machine_is_a_host_without_keys() {
        for host in [
            "localhost",
            "LOCALHOST:8484",
            "127.0.0.1:1",
            "127.9.9.9",
            "[::1]:8484",
            "[::1]",
            "[0:0:0:0:0:0:0:1]",
        ] {
            assert_eq!(code(host, None, false), None, "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "localhost.",
            "localhost.:8484",
            "127.0.0.1.",
            "127.1",
            "0177.0.0.1",
            "2130706433",
            "10.0.0.1",
            "[::2]",
            "[::ffff:10.0.0.1]",
            "",
            "0.0.0.0",
        ] {
            assert_eq!(code(host, None, false), Some("other_host"), "{host}");
            assert_eq!(code(host, None, true), None, "{host}");
        }
    }

    #[test]
    fn a_host_is_read_to_its_end() {
        for host in [
            "localhost:8912.evil.example",
            "localhost:8912/evil",
            "localhost:80:80",
            "localhost:",
            "localhost:+80",
            "localhost:0x50",
            "localhost:65536",
            "localhost: 80",
            "localhost/evil",
            "localhost?evil",
            "localhost#evil",
            "evil@localhost",
            "localhost@evil",
            "local%68ost",
            "localhost%00.evil",
            "localhost,evil.example",
            "localhost evil.example",
            "localhost\\evil",
            ":8484",
            "::1",
            "[::1",
            "[::1]x",
            "[::1].evil.example",
            "[::1%25eth0]",
            "[localhost]",
            "[]",
            "l\u{f6}calhost",
        ] {
            for has_keys in [false, true] {
                let mut headers = HeaderMap::new();
                headers.insert(
                    header::HOST,
                    axum::http::HeaderValue::from_bytes(host.as_bytes()).unwrap(),
                );
                let none = Origins::default();
                let target = Uri::from_static("/");
                let refused = check(&headers, Version::HTTP_11, &target, has_keys, &none).err();
                let code = refused.map(|refusal| refusal.code());
                assert_eq!(code, Some("invalid_host"), "{host}");
            }
        }
    }

    #[test]
    fn a_request_is_for_one_host() {
        let refused = Some("invalid_host");
        for has_keys in [false, true] {
            let refusal_code = |hosts: &[&str], target| refusal_code(hosts, target, None, has_keys);
            assert_eq!(refusal_code(&["localhost", "evil.example"], "/"), refused);
            assert_eq!(refusal_code(&["localhost", "localhost"], "/"), refused);
            for same in ["http://localhost/", "http://LOCALHOST:80/x"] {
                assert_eq!(refusal_code(&["localhost"], same), None, "{same}");
            }
            assert_eq!(
                refusal_code(&["localhost:8484"], "http://localhost:8484/"),
                None
            );
            for other in [
                "http://evil.example/",
                "http://localhost:8484/",
                "http://evil@localhost/",
            ] {
                assert_eq!(refusal_code(&["localhost"], other), refused, "{other}");
            }
            assert_eq!(refusal_code(&[], "http://localhost/"), refused);
        }
        assert_eq!(refusal_code(&[], "/", None, false), Some("other_host"));
        assert_eq!(refusal_code(&[], "/", None, true), None);
        let (target, none) = (Uri::from_static("/"), Origins::default());
        let nameless = check(&HeaderMap::new(), Version::HTTP_11, &target, true, &none);
        assert_eq!(nameless.unwrap_err().code(), "invalid_host");
    }

    #[test]
    fn only_pages_of_the_server_and_allowed_ones_are_origins() {
        let host = "localhost:8484";
        for origin in ["http://localhost:8484", "https://pages.org"] {
            assert_eq!(code(host, Some(origin), false), None);
        }
        for origin in [
            "http://localhost:1",
            "http://evil.example",
            "http://pages.org",
            "null",
            "file://",
        ] {
            assert_eq!(
                code(host, Some(origin), true),
                Some("other_origin"),
                "{origin}"
            );
        }
    }
}
