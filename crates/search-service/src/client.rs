//! HTTP requests to a search service, retried after transient failures.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ken_http::{
    Failed, Retry, TlsFailure, UntrustedCertificate, certificates_of, explained, is_passing,
    proxy_of, requested_wait, tls_failure,
};
use serde_json::Value;
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body, Error, RequestBuilder};

use crate::address::ServiceAddress;
use crate::error::ServiceError;
use crate::key::Key;
use crate::kind::Kind;

/// The longest time without a byte from a service.
const SILENCE: Duration = Duration::from_secs(30);
/// The longest answer in bytes.
const LARGEST: u64 = 64 << 20;
/// Characters of an answer that an error message shows.
const SHOWN: usize = 300;

#[derive(Clone)]
pub(crate) struct Client {
    agent: Agent,
    /// The name and the value of the header with the key.
    authorization: Option<(&'static str, String)>,
}

impl Client {
    pub(crate) fn new(address: &ServiceAddress, key: Option<&Key>) -> Result<Self, ServiceError> {
        let variable = |name: &str| std::env::var(name).ok();
        let agent = ken_http::agent(&ken_http::Settings {
            certificates: certificates_of(variable),
            proxy: proxy_of(&address.url, variable)?,
            connect: Duration::from_secs(10),
            silence: SILENCE,
            answer: Some(SILENCE),
            connections: 8,
        })?;
        let authorization = match key {
            Some(key) => Some(header(address.kind, key.text(address)?)),
            None => None,
        };
        Ok(Self {
            agent,
            authorization,
        })
    }

    /// The JSON at a path below the service's URL, or the answer to `body` there.
    pub(crate) fn call(
        &self,
        address: &ServiceAddress,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, ServiceError> {
        let url = format!("{}{path}", address.url);
        let retry = Retry {
            retries: 2,
            backoff: Duration::from_millis(200),
            in_all: Some(Duration::from_secs(10)),
        };
        retry.persist(&AtomicBool::new(false), || {
            let answered = self.send(&url, body);
            let failed = |error| failure(address, &error);
            let mut response = answered.map_err(failed)?;
            let (status, wait) = (response.status(), requested_wait(response.headers()));
            let text = response.body_mut().with_config().limit(LARGEST);
            let text = text.read_to_string().map_err(failed)?;
            read(address, status, &text).map_err(|error| Failed {
                error,
                passing: is_passing(status.as_u16()),
                wait,
            })
        })
    }

    fn send(&self, url: &str, body: Option<&Value>) -> Result<Response<Body>, Error> {
        match body {
            Some(body) => {
                let request = self.authorized(self.agent.post(url));
                let request = request.header("Content-Type", "application/json");
                request.send(body.to_string())
            }
            None => self.authorized(self.agent.get(url)).call(),
        }
    }

    fn authorized<B>(&self, request: RequestBuilder<B>) -> RequestBuilder<B> {
        match &self.authorization {
            Some((name, value)) => request.header(*name, value),
            None => request,
        }
    }
}

/// How a kind of service takes its key.
fn header(kind: Kind, key: &str) -> (&'static str, String) {
    match kind {
        Kind::Qdrant => ("api-key", key.to_owned()),
        Kind::Elasticsearch | Kind::OpenSearch if key.contains(':') => {
            ("authorization", format!("Basic {}", STANDARD.encode(key)))
        }
        Kind::Elasticsearch | Kind::OpenSearch => ("authorization", format!("ApiKey {key}")),
        _ => ("authorization", format!("Bearer {key}")),
    }
}

fn read(address: &ServiceAddress, status: StatusCode, text: &str) -> Result<Value, ServiceError> {
    let value: Option<Value> = serde_json::from_str(text).ok();
    if !status.is_success() {
        let message = value.as_ref().and_then(message);
        let message = message.unwrap_or_else(|| text.trim().to_owned());
        return Err(ServiceError::Status {
            address: address.to_string(),
            status: status.as_u16(),
            message: message.chars().take(SHOWN).collect(),
        });
    }
    value.ok_or_else(|| other_service(address))
}

/// The error for an answer that no service of this kind gives.
pub(crate) fn other_service(address: &ServiceAddress) -> ServiceError {
    ServiceError::OtherService {
        address: address.to_string(),
        expected: address.kind.said(),
    }
}

/// The message of an error, from the places where these services put it.
fn message(answer: &Value) -> Option<String> {
    const PLACES: [&str; 6] = [
        "/error/root_cause/0/reason",
        "/error/reason",
        "/error/message",
        "/status/error",
        "/detail",
        "/error",
    ];
    let message = PLACES
        .into_iter()
        .find_map(|place| answer.pointer(place)?.as_str());
    message.map(str::to_owned)
}

fn failure(address: &ServiceAddress, error: &Error) -> Failed<ServiceError> {
    let server = address.server();
    match (tls_failure(error), error) {
        (Some(TlsFailure::Certificate(reason)), _) => {
            ServiceError::from(UntrustedCertificate { server, reason }).into()
        }
        (_, Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve)) => {
            Failed::passing(ServiceError::Unreachable {
                server,
                reason: "no connection was made in time".to_owned(),
            })
        }
        (_, Error::Timeout(_)) => Failed::lasting(ServiceError::Timeout {
            server,
            seconds: SILENCE.as_secs(),
        }),
        (_, Error::BodyExceedsLimit(_)) => Failed::lasting(other_service(address)),
        (handshake, other) => Failed {
            passing: handshake.is_none()
                && matches!(
                    other,
                    Error::Io(_) | Error::Protocol(_) | Error::ConnectionFailed
                ),
            ..Failed::lasting(ServiceError::Unreachable {
                server,
                reason: explained(other),
            })
        },
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use ken_testing::cases;
    use tokio_rustls::rustls::crypto::ring;
    use tokio_rustls::rustls::pki_types::PrivateKeyDer;
    use tokio_rustls::rustls::{ServerConfig, ServerConnection};

    use super::*;

    /// The error of a request by HTTPS to a server that meets connections so, and how many it met.
    fn refusal(meet: impl Fn(TcpStream) + Send + 'static) -> (ServiceError, usize) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let met = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&met);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                meet(stream);
            }
        });
        let address = format!("qdrant+https://localhost:{port}/notes");
        let address = address.parse().unwrap();
        let client = Client::new(&address, None).unwrap();
        let error = client.call(&address, "", None).unwrap_err();
        (error, met.load(Ordering::SeqCst))
    }

    #[test]
    fn what_cannot_be_encrypted_is_not_tried_again() {
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key)
            .unwrap();
        let config = Arc::new(config);
        let (untrusted, met) = refusal(move |mut stream| {
            let mut connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            // The client ends the handshake.
            while connection.is_handshaking() && connection.complete_io(&mut stream).is_ok() {}
        });
        assert_eq!((untrusted.kind(), met), ("untrusted_certificate", 1));
        let message = untrusted.to_string();
        assert!(
            message.starts_with("the certificate of localhost:"),
            "{message}"
        );
        let (plain, met) = refusal(|mut stream| {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        });
        assert_eq!((plain.kind(), met), ("search_service_unreachable", 1));
        let message = plain.to_string();
        assert!(message.ends_with(": it does not speak TLS"), "{message}");
    }

    #[test]
    fn keys_and_errors_are_worded_as_each_service_does() {
        let header = |kind, key| header(kind, key).1;
        assert_eq!(header(Kind::Elasticsearch, "abc"), "ApiKey abc");
        assert_eq!(header(Kind::OpenSearch, "me:word"), "Basic bWU6d29yZA==");
        assert_eq!(header(Kind::Qdrant, "abc"), "abc");
        assert_eq!(header(Kind::VectorStore, "abc"), "Bearer abc");
        for (text, said) in cases![
            r#"{"error":{"root_cause":[{"reason":"no such index"}],"reason":"x"}}"# => "no such index";
            r#"{"error":{"message":"unknown store"}}"# => "unknown store";
            r#"{"status":{"error":"Not found"}}"# => "Not found";
            r#"{"detail":"nothing here"}"# => "nothing here";
        ] {
            let value = serde_json::from_str(text).unwrap();
            assert_eq!(message(&value).as_deref(), Some(said));
        }
    }
}
