//! HTTP requests to a search service, retried after transient failures.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ken_http::{Failed, Retry, certificates_of, explained, is_passing, proxy_of, requested_wait};
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
    match error {
        Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
            Failed::passing(ServiceError::Unreachable {
                server,
                reason: "no connection was made in time".to_owned(),
            })
        }
        Error::Timeout(_) => Failed::lasting(ServiceError::Timeout {
            server,
            seconds: SILENCE.as_secs(),
        }),
        Error::BodyExceedsLimit(_) => Failed::lasting(other_service(address)),
        other => Failed {
            passing: matches!(
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
    use ken_testing::cases;

    use super::*;

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
