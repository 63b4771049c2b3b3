//! Setting up connections, and requests that follow redirects.

use std::path::PathBuf;
use std::time::Duration;

use ureq::http::Response;
use ureq::{Agent, Body, Error, Proxy};
use url::Url;

use crate::certificates::{self, BadCertificates};
use crate::line::Lines;
use crate::names::NameLookup;

/// The most redirects of one request.
const MOST_REDIRECTS: usize = 10;

/// The settings of an agent.
#[derive(Debug, Clone)]
pub struct Settings {
    /// A PEM bundle of certificates; without one, Mozilla's roots.
    pub certificates: Option<PathBuf>,
    /// The proxy on the way to the server, as [`proxy_of`](crate::proxy_of) finds it.
    pub proxy: Option<Proxy>,
    /// Timeout of a connection.
    pub connect: Duration,
    /// The longest time without a byte from the server.
    pub silence: Duration,
    /// The longest time from the first byte of a response to its last.
    pub answer: Option<Duration>,
    /// Idle connections kept per server.
    pub connections: usize,
}

/// An agent that treats neither a status nor a redirect as an error. Bodies are not compressed, so that
/// ranges count bytes of the file itself.
///
/// # Errors
/// If the bundle of certificates cannot be used.
pub fn agent(settings: &Settings) -> Result<Agent, BadCertificates> {
    let config = Agent::config_builder()
        .proxy(settings.proxy.clone())
        .tls_config(certificates::tls(settings.certificates.as_deref())?)
        .http_status_as_error(false)
        .max_redirects(0)
        .accept_encoding("identity")
        .user_agent(concat!("ken/", env!("CARGO_PKG_VERSION")))
        .max_idle_connections_per_host(settings.connections)
        .timeout_connect(Some(settings.connect))
        .timeout_recv_response(Some(settings.silence))
        .timeout_recv_body(settings.answer)
        .timeout_per_read(Some(settings.silence))
        .timeout_per_write(Some(settings.silence));
    Ok(Agent::with_parts(
        config.build(),
        Lines::default(),
        NameLookup::default(),
    ))
}

/// The response at `url`, following redirects. The token is sent only to the origin of `url`: the same
/// scheme, host and port.
///
/// # Errors
/// A failed request; too many redirects.
pub fn get(
    agent: &Agent,
    url: &Url,
    token: Option<&str>,
    headers: &[(&str, &str)],
) -> Result<Response<Body>, Error> {
    let mut current = url.clone();
    for _ in 0..=MOST_REDIRECTS {
        let mut request = agent.get(current.as_str());
        if let Some(token) = token.filter(|_| current.origin() == url.origin()) {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.call()?;
        let location = response.headers().get("location");
        let (301..=303 | 307 | 308, Some(location)) = (response.status().as_u16(), location) else {
            return Ok(response);
        };
        let next = location.to_str().ok().and_then(|to| current.join(to).ok());
        let next = next.filter(|next| matches!(next.scheme(), "http" | "https"));
        current =
            next.ok_or_else(|| Error::BadUri("a redirect to an invalid address".to_owned()))?;
    }
    Err(Error::TooManyRedirects)
}

/// The message of an error, without the library's prefix.
#[must_use]
pub fn explained(error: &Error) -> String {
    match error {
        Error::HostNotFound => "the host name is unknown (no network?)".to_owned(),
        Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_an_address_is_an_unknown_host() {
        // A label of more than 63 letters, for which no name server is asked.
        let url = format!("http://{}.invalid", "a".repeat(64));
        let within = Duration::from_secs(20);
        let agent = agent(&Settings {
            certificates: None,
            proxy: None,
            connect: within,
            silence: within,
            answer: None,
            connections: 1,
        });
        let error = agent.unwrap().get(&url).call().unwrap_err();
        assert!(matches!(error, Error::HostNotFound), "{error}");
    }
}
