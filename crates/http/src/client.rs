//! Setting up connections, and requests that follow redirects.

use std::path::PathBuf;
use std::time::Duration;

use ureq::http::Response;
use ureq::{Agent, Body, Error, Proxy};
use url::Url;

use crate::certificates::{self, BadCertificates};
use crate::line::Lines;
use crate::names::NameLookup;
use crate::proxy::{BadProxy, proxy_of};
use crate::tls_failure::{TlsFailure, tls_failure};

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
/// scheme, host and port. Each address is reached by the proxy that the environment, which `variable` reads, names for it.
///
/// # Errors
/// A proxy that cannot be used; within the result, a failed request or too many redirects.
pub fn get(
    agent: &Agent,
    url: &Url,
    token: Option<&str>,
    headers: &[(&str, &str)],
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Result<Response<Body>, Error>, BadProxy> {
    let mut current = url.clone();
    for _ in 0..=MOST_REDIRECTS {
        let proxy = proxy_of(&current, &variable)?;
        let mut request = agent.get(current.as_str()).config().proxy(proxy).build();
        if let Some(token) = token.filter(|_| current.origin() == url.origin()) {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = match request.call() {
            Ok(response) => response,
            Err(error) => return Ok(Err(error)),
        };
        let location = response.headers().get("location");
        let (301..=303 | 307 | 308, Some(location)) = (response.status().as_u16(), location) else {
            return Ok(Ok(response));
        };
        let next = location.to_str().ok().and_then(|to| current.join(to).ok());
        let next = next.filter(|next| matches!(next.scheme(), "http" | "https"));
        let Some(next) = next else {
            let reason = "a redirect to an invalid address".to_owned();
            return Ok(Err(Error::BadUri(reason)));
        };
        current = next;
    }
    Ok(Err(Error::TooManyRedirects))
}

/// The message of an error, without the library's prefix.
#[must_use]
pub fn explained(error: &Error) -> String {
    match (tls_failure(error), error) {
        (Some(TlsFailure::Certificate(reason)), _) => {
            format!("its certificate is not trusted: {reason}")
        }
        (Some(TlsFailure::Handshake(reason)), _) => reason,
        (_, Error::HostNotFound) => "the host name is unknown (no network?)".to_owned(),
        (_, Error::Io(error)) => error.to_string(),
        (_, other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::{SocketAddr, TcpListener};
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    fn an_agent() -> Agent {
        let within = Duration::from_secs(20);
        let agent = agent(&Settings {
            certificates: None,
            proxy: None,
            connect: within,
            silence: within,
            answer: None,
            connections: 1,
        });
        agent.unwrap()
    }

    #[test]
    fn a_name_without_an_address_is_an_unknown_host() {
        // A label of more than 63 letters, for which no name server is asked.
        let url = format!("http://{}.invalid", "a".repeat(64));
        let error = an_agent().get(&url).call().unwrap_err();
        assert!(matches!(error, Error::HostNotFound), "{error}");
    }

    /// A server with one response, and the first lines of the requests to it.
    fn answering(response: &'static str) -> (SocketAddr, Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, asked) = channel();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let lines = BufReader::new(&stream).lines().map_while(Result::ok);
                let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
                let _ = tell.send(head.first().cloned().unwrap_or_default());
                let _ = stream.write_all(response.as_bytes());
            }
        });
        (address, asked)
    }

    #[test]
    fn each_address_is_reached_by_its_own_proxy() {
        let (hub, asked) = answering(
            "HTTP/1.1 302 X\r\nLocation: http://files.invalid/m\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        );
        let (proxy, tunnels) =
            answering("HTTP/1.1 403 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        let url = Url::parse(&format!("http://{hub}/m")).unwrap();
        let variable = |name: &str| (name == "http_proxy").then(|| format!("http://{proxy}"));
        let answered = get(&an_agent(), &url, None, &[], variable).unwrap();
        let error = answered.unwrap_err();
        assert!(matches!(error, Error::ConnectProxyFailed(_)), "{error}");
        // No proxy leads to this machine, and one to the host to which it redirects.
        assert_eq!(asked.recv().unwrap(), "GET /m HTTP/1.1");
        assert_eq!(tunnels.recv().unwrap(), "CONNECT files.invalid:80 HTTP/1.1");
        let bad = |name: &str| (name == "all_proxy").then(|| "socks5://proxy".to_owned());
        let elsewhere = Url::parse("http://files.invalid/m").unwrap();
        assert!(get(&an_agent(), &elsewhere, None, &[], bad).is_err());
    }

    #[test]
    fn an_untrusted_certificate_is_explained() {
        let unknown = rustls::CertificateError::UnknownIssuer;
        let error = Error::Rustls(rustls::Error::InvalidCertificate(unknown));
        assert_eq!(
            explained(&error),
            "its certificate is not trusted: no authority that is known here signed it"
        );
    }
}
