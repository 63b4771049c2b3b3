//! Which hosts and origins are answered. A page in a browser must not reach a server on its own machine:
//! neither from another origin, nor by a name that somebody made point there.

use axum::http::{HeaderMap, StatusCode, header};

use crate::wire::refusal::Refusal;

/// Checks where a request is from. Without keys only names of this machine are answered.
///
/// # Errors
/// Another host, or a page of another origin.
pub(crate) fn check(headers: &HeaderMap, has_keys: bool) -> Result<(), Refusal> {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let forbidden = |code, message| Refusal::new(StatusCode::FORBIDDEN, code, message);
    if !has_keys && !host.is_some_and(is_of_this_machine) {
        let message = "without keys only localhost is answered as host";
        return Err(forbidden("other_host", message));
    }
    let Some(origin) = headers.get(header::ORIGIN) else {
        return Ok(());
    };
    let origin = origin
        .to_str()
        .ok()
        .and_then(|origin| origin.split_once("://"));
    match (origin, host) {
        (Some((_, origin)), Some(host)) if origin.eq_ignore_ascii_case(host) => Ok(()),
        _ => {
            let message = "pages of other origins are not answered";
            Err(forbidden("other_origin", message))
        }
    }
}

/// Whether a `Host` names the machine itself, whatever the port.
fn is_of_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, port)) if port.is_empty() || port.starts_with(':') => address,
            _ => return false,
        },
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    let is_loopback = |address: std::net::IpAddr| address.is_loopback();
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(host: &str, origin: Option<&str>, has_keys: bool) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        check(&headers, has_keys)
            .err()
            .map(|refusal| refusal.code())
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
        ] {
            assert_eq!(code(host, None, false), None, "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "10.0.0.1",
            "[::2]",
            "[::1]x",
            "",
            "0.0.0.0",
        ] {
            assert_eq!(code(host, None, false), Some("other_host"), "{host}");
            assert_eq!(code(host, None, true), None, "{host}");
        }
    }

    #[test]
    fn only_pages_of_the_server_are_origins() {
        let host = "localhost:8484";
        assert_eq!(code(host, Some("http://localhost:8484"), false), None);
        for origin in [
            "http://localhost:1",
            "http://evil.example",
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
