//! Requests to one endpoint, retried after transient failures. Callers know the prompts and completions.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ken_http::{
    Failed, Patience, Retry, TlsFailure, UntrustedCertificate, certificates_of, explained,
    is_loopback, is_passing, proxy_of, requested_wait, tls_failure, without_secrets,
};
use ken_language::CancelToken;
use serde_json::Value;
use ureq::http::Response;
use ureq::{Body, RequestBuilder};

use super::address::{base_address, parse_base_url};
use super::cancellable::{ResponseBody, send_cancellable};
use super::endpoint::Endpoint;
use super::error::{Failure, RemoteError};
use super::error_response::{Refused, error_in};
use super::json::{self, MAX_VALUES, ParseError};
use super::limits::ERROR_BODY_BYTES;

/// Characters of a response in an error message.
const SHOWN_CHARACTERS: usize = 300;

/// The most that a question with a deadline waits in total before repeating requests. Its caller could wait longer
/// without delaying others.
const QUESTION_WAITS: Duration = Duration::from_secs(15);

type Answered<B = ResponseBody> = Result<Response<B>, ureq::Error>;

/// Sends requests to an endpoint. Clones share its connections.
#[derive(Clone)]
pub(super) struct Client {
    agent: ureq::Agent,
    /// Its URL has no trailing slash.
    endpoint: Arc<Endpoint>,
    /// The target of requests: the base URL as parsed, so that host and port are those that the key belongs to.
    address: String,
    /// The version of Azure's API with its `?`; empty for other endpoints.
    version: String,
    host: String,
    cancel: CancelToken,
}

impl Patience for Client {
    fn is_over(&self) -> bool {
        self.cancel.is_set()
    }

    fn left(&self) -> Option<Duration> {
        self.cancel.left()
    }
}

impl Client {
    /// A client, before any request.
    pub(super) fn new(mut endpoint: Endpoint) -> Result<Self, RemoteError> {
        endpoint.url = endpoint.url.trim_end_matches('/').to_owned();
        let url = parse_base_url(&endpoint.url)?;
        let settings = &endpoint.settings;
        let variable = |name: &str| std::env::var(name).ok();
        let agent = ken_http::agent(&ken_http::Settings {
            certificates: certificates_of(variable),
            proxy: proxy_of(&url, variable)?,
            connect: settings.connect_timeout,
            silence: settings.read_timeout,
            answer: Some(settings.answer_time),
            connections: settings.concurrency.max(1),
        })?;
        let name = url.host_str().unwrap_or_default();
        let host = match url.port_or_known_default() {
            Some(port) => format!("{name}:{port}"),
            None => name.to_owned(),
        };
        let private = url.scheme() == "https" || is_loopback(&url);
        let key = endpoint.key.as_ref();
        if !private && key.is_some_and(|key| !key.plaintext_allowed) {
            return Err(RemoteError::KeyInPlainText(host));
        }
        let (address, version) = base_address(&url);
        Ok(Self {
            agent,
            cancel: endpoint.cancel.clone(),
            endpoint: Arc::new(endpoint),
            address,
            version,
            host,
        })
    }

    /// A copy whose calls also end when a token is set.
    pub(super) fn bound(&self, token: &CancelToken) -> Self {
        Self {
            cancel: self.cancel.clone().or(token),
            ..self.clone()
        }
    }

    /// Most requests in flight at a time.
    pub(super) fn concurrency(&self) -> usize {
        self.endpoint.settings.concurrency.max(1)
    }

    /// Whether to ask a thinking model not to think.
    pub(super) fn no_thinking(&self) -> bool {
        self.endpoint.settings.no_thinking
    }

    /// Checks once, within this time, whether the endpoint responds at all.
    ///
    /// # Errors
    /// An endpoint that cannot be reached, is not ready or is too slow.
    pub(super) fn ping(&self, within: Duration) -> Result<(), RemoteError> {
        let bound = self.bound(&CancelToken::default().by(Instant::now() + within));
        let request = bound.authorized(bound.agent.get(bound.api_url("models")));
        let response = bound.send(move || request.call());
        match bound.check_status(&bound.address, response) {
            // It responds, which is all that matters here.
            Ok(_) => Ok(()),
            Err(failed) if failed.error.is_refusal() => Ok(()),
            Err(failed) => Err(failed.error),
        }
    }

    /// The base URL as it was given.
    pub(super) fn base_url(&self) -> &str {
        &self.endpoint.url
    }

    /// The URL of a route of the API.
    pub(super) fn api_url(&self, route: &str) -> String {
        format!("{}/{route}{}", self.address, self.version)
    }

    /// The URL of a route outside the versioned API.
    pub(super) fn root_url(&self, route: &str) -> String {
        let root = self.address.strip_suffix("/v1").unwrap_or(&self.address);
        format!("{root}/{route}")
    }

    /// The JSON at a URL.
    pub(super) fn get(&self, url: &str) -> Result<Value, RemoteError> {
        self.with_retries(|| {
            let request = self.authorized(self.agent.get(url));
            self.json(url, self.send(move || request.call()))
        })
    }

    /// The JSON response to a request.
    pub(super) fn post(&self, url: &str, body: &Value) -> Result<Value, RemoteError> {
        let body = body.to_string();
        self.with_retries(|| self.json(url, self.send_post(url, &body)))
    }

    /// Sends a request once and returns the response's still unread body, and whether it comes as events.
    pub(super) fn open(
        &self,
        url: &str,
        body: &str,
    ) -> Result<(BufReader<ResponseBody>, bool), Failed<RemoteError>> {
        let response = self.check_status(url, self.send_post(url, body))?;
        let media_type = response.headers().get("content-type");
        let media_type = media_type.and_then(|media| media.to_str().ok());
        // Not every endpoint labels its events as such, some label them as JSON, and some label no JSON.
        let is_whole =
            media_type.is_some_and(|media| media.contains("json") || media.contains("html"));
        let mut body = BufReader::new(response.into_body());
        let start = body.fill_buf();
        let start = start.map_err(|error| self.transport_failure(&error.into()))?;
        let is_events = match is_whole {
            true => ["data:", "event:", ":"]
                .iter()
                .any(|line| start.starts_with(line.as_bytes())),
            false => !matches!(start.trim_ascii_start().first(), Some(b'{' | b'<')),
        };
        Ok((body, is_events))
    }

    /// Retries after transient failures, as often as the settings say.
    pub(super) fn with_retries<T>(
        &self,
        mut attempt: impl FnMut() -> Result<T, Failed<RemoteError>>,
    ) -> Result<T, RemoteError> {
        let retry = Retry {
            retries: self.endpoint.settings.retries,
            backoff: self.endpoint.settings.backoff,
            in_all: self.cancel.left().map(|_| QUESTION_WAITS),
        };
        retry.persist(self, || {
            self.check()?;
            attempt().map_err(|failed| match self.check() {
                Ok(()) => failed,
                Err(stopped) => stopped.into(),
            })
        })
    }

    /// An error if the result is no longer wanted.
    pub(super) fn check(&self) -> Result<(), RemoteError> {
        match self.cancel.is_set() {
            true => Err(RemoteError::Interrupted(self.host.clone())),
            false => Ok(()),
        }
    }

    /// The error of a failed exchange.
    pub(super) fn transport_failure(&self, error: &ureq::Error) -> Failed<RemoteError> {
        use ureq::Timeout::{Connect, RecvBody, Resolve};
        let settings = &self.endpoint.settings;
        let unreachable =
            |detail| RemoteError::EndpointUnreachable(Failure::at(&self.host, detail));
        let lost = |detail| RemoteError::EndpointConnectionLost(Failure::at(&self.host, detail));
        let detail = explained(error);
        match tls_failure(error) {
            Some(TlsFailure::Certificate(reason)) => {
                let server = self.host.clone();
                return RemoteError::from(UntrustedCertificate { server, reason }).into();
            }
            Some(TlsFailure::Handshake(reason)) => return unreachable(reason).into(),
            None => {}
        }
        let (error, passing) = match error {
            ureq::Error::Timeout(Connect | Resolve) => {
                let seconds = settings.connect_timeout.as_secs_f32();
                (
                    unreachable(format!("no connection within {seconds} s")),
                    true,
                )
            }
            ureq::Error::Timeout(RecvBody) => {
                let seconds = settings.answer_time.as_secs_f32();
                let detail = format!("it goes on for longer than {seconds} s");
                (self.too_large(detail), false)
            }
            ureq::Error::BodyExceedsLimit(bytes) => (
                self.too_large(format!("it has more than {bytes} bytes")),
                false,
            ),
            ureq::Error::Timeout(_) => {
                let (host, after) = (self.host.clone(), settings.read_timeout);
                (RemoteError::EndpointTimeout { host, after }, true)
            }
            ureq::Error::Tls(_) => (unreachable(detail), false),
            ureq::Error::ConnectionFailed
            | ureq::Error::HostNotFound
            | ureq::Error::ConnectProxyFailed(_) => (unreachable(detail), true),
            ureq::Error::Io(source) if is_unreachable(source) => (unreachable(detail), true),
            ureq::Error::Io(_) | ureq::Error::Protocol(_) => (lost(detail), true),
            _ => (lost(detail), false),
        };
        Failed {
            passing,
            ..error.into()
        }
    }

    /// The error of a response that exceeds a limit.
    pub(super) fn too_large(&self, detail: String) -> RemoteError {
        RemoteError::TooLarge(Failure::at(&self.host, detail))
    }

    /// Parses the JSON of a response. If the endpoint repeats its key, that is redacted first, so that it does not
    /// get into any text, name or record.
    pub(super) fn parse(&self, url: &str, text: &str) -> Result<Value, RemoteError> {
        let url = url.to_owned();
        let text = match &self.endpoint.key {
            Some(key) if key.is_secret() => &*key.redact(text),
            _ => text,
        };
        if text.trim_start().starts_with('<') {
            return Err(RemoteError::WebPage(url));
        }
        match json::parse(text) {
            Ok(value) if error_in(&value).is_some() => {
                Err(self.status_error(&url, 200, text, None))
            }
            Ok(value) => Ok(value),
            Err(ParseError::TooMany) => {
                Err(self.too_large(format!("it holds more than {MAX_VALUES} values")))
            }
            Err(ParseError::NotJson(error)) => Err(RemoteError::BadJson {
                url,
                detail: error.to_string(),
                excerpt: self.excerpt(text),
            }),
        }
    }

    /// The error of an error response, with the wait that its headers request.
    pub(super) fn status_error(
        &self,
        url: &str,
        status: u16,
        text: &str,
        wait: Option<Duration>,
    ) -> RemoteError {
        let refused = Refused::read(text);
        let message = self.excerpt(&refused.message);
        if refused.is_about_length(status) {
            return RemoteError::ContextExceeded(Failure::at(url, message));
        }
        if refused.is_about_quota(status) {
            return RemoteError::EndpointQuotaExceeded(Failure::at(url, message));
        }
        RemoteError::Status {
            url: url.to_owned(),
            status: refused.status(status),
            message,
            param: refused.param,
            wait,
        }
    }

    fn authorized<B>(&self, request: RequestBuilder<B>) -> RequestBuilder<B> {
        match &self.endpoint.key {
            Some(key) if !self.version.is_empty() => request.header("api-key", key.text()),
            Some(key) => request.header("Authorization", key.header()),
            None => request,
        }
    }

    fn send_post(&self, url: &str, body: &str) -> Answered {
        let request = self
            .authorized(self.agent.post(url))
            .content_type("application/json");
        let body = body.to_owned();
        self.send(move || request.send(body))
    }

    fn send(&self, send: impl FnOnce() -> Answered<Body> + Send + 'static) -> Answered {
        let most = self.endpoint.settings.answer_bytes;
        send_cancellable(send, most, self.cancel.clone())
    }

    /// The response, unless it is an error.
    fn check_status(
        &self,
        url: &str,
        response: Answered,
    ) -> Result<Response<ResponseBody>, Failed<RemoteError>> {
        let response = response.map_err(|error| self.transport_failure(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        if let Some(to) = self.redirect(&response) {
            let url = url.to_owned();
            return Err(RemoteError::Redirects { url, to }.into());
        }
        let status = response.status().as_u16();
        let wait = requested_wait(response.headers());
        let text = text(response.into_body().take(ERROR_BODY_BYTES)).unwrap_or_default();
        let error = self.status_error(url, status, &text, wait);
        Err(Failed {
            passing: is_passing(status) && matches!(error, RemoteError::Status { .. }),
            error,
            wait,
        })
    }

    fn json(&self, url: &str, response: Answered) -> Result<Value, Failed<RemoteError>> {
        let response = self.check_status(url, response)?;
        let text = text(response.into_body()).map_err(|error| self.transport_failure(&error))?;
        self.parse(url, &text).map_err(RemoteError::failed)
    }

    /// Where a response redirects to, if it does.
    fn redirect<B>(&self, response: &Response<B>) -> Option<String> {
        let to = response.headers().get("location")?.to_str().ok()?;
        let is_redirect = response.status().is_redirection();
        is_redirect.then(|| self.excerpt(without_secrets(to)))
    }

    /// The start of a response, on one line and without the key.
    fn excerpt(&self, text: &str) -> String {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = match &self.endpoint.key {
            Some(key) => key.redact(&line),
            None => Cow::Borrowed(&*line),
        };
        // Control characters, such as those that color a terminal, could hide text.
        let line = line.replace(char::is_control, "\u{fffd}");
        match line.char_indices().nth(SHOWN_CHARACTERS) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut client = f.debug_struct("Client");
        client
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

/// The whole body of a response.
pub(super) fn text(mut body: impl Read) -> Result<String, ureq::Error> {
    let mut bytes = Vec::new();
    body.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn is_unreachable(error: &io::Error) -> bool {
    use ErrorKind::{AddrNotAvailable, ConnectionRefused, HostUnreachable, NetworkUnreachable};
    matches!(
        error.kind(),
        AddrNotAvailable | ConnectionRefused | HostUnreachable | NetworkUnreachable
    )
}

#[cfg(test)]
mod tests {
    use ken_testing::{cases, with};

    use super::*;
    use crate::remote::settings::ApiKey;

    fn client(base: &str) -> Result<Client, RemoteError> {
        client_with(base, Some(ApiKey::new("sk-secret")?))
    }

    fn client_with(base: &str, key: Option<ApiKey>) -> Result<Client, RemoteError> {
        Client::new(with!(Endpoint::new(base), key: key))
    }

    #[test]
    fn addresses_are_made_from_the_base() {
        let client = client("http://localhost:8000/v1/").unwrap();
        assert_eq!(client.api_url("models"), "http://localhost:8000/v1/models");
        assert_eq!(
            client.root_url("tokenize"),
            "http://localhost:8000/tokenize"
        );
    }

    #[test]
    fn a_key_is_not_sent_in_plain_text_to_another_machine() {
        for base in [
            "http://h/v1",
            "http://10.0.0.1:8000/v1",
            "http://localhost.org/v1",
        ] {
            let error = client(base).unwrap_err();
            assert_eq!(error.kind(), "key_in_plain_text", "{base}");
            assert!(!error.to_string().contains("sk-secret"));
            let key = ApiKey::new("sk-secret").unwrap();
            assert!(client_with(base, Some(key.allowed_in_plain_text(true))).is_ok());
            assert!(client_with(base, None).is_ok());
        }
        for base in ["https://h/v1", "http://127.0.0.1:1/v1", "http://[::1]/v1"] {
            assert!(client(base).is_ok(), "{base}");
        }
    }

    #[test]
    fn requests_go_to_the_host_that_was_parsed() {
        let client = client("https://EXAMPLE.org:443/a/../v1/").unwrap();
        assert_eq!(client.base_url(), "https://EXAMPLE.org:443/a/../v1");
        assert_eq!(client.api_url("models"), "https://example.org/v1/models");
    }

    #[test]
    fn a_key_that_an_endpoint_repeats_is_redacted() {
        let with = |key| client_with("https://h/v1", Some(ApiKey::new(key).unwrap())).unwrap();
        let url = "https://h/v1/x";
        let client = with("sk-secret-of-somebody");
        let answer = client.parse(url, r#"{"text": "got sk-secret-of-somebody"}"#);
        assert_eq!(answer.unwrap()["text"], "got (API key)");
        let error = client.parse(url, "sk-secret-of-somebody\u{1b}[8m");
        let error = error.unwrap_err().to_string();
        assert!(error.ends_with("`(API key)\u{fffd}[8m`"), "{error}");
        // A placeholder is not secret, and may be a word of the response.
        let answer = with("EMPTY").parse(url, r#"{"text": "EMPTY"}"#);
        assert_eq!(answer.unwrap()["text"], "EMPTY");
    }

    #[test]
    fn an_invalid_base_url_is_refused_without_its_password() {
        for base in [
            "8000",
            "ftp://a/v1",
            "http://ada:secret@host/v1",
            "http://h/v1?key=secret",
            "http://ada:secret@host:port/v1",
            "http://ada:se/secret@ho st/v1",
            "http://ada:secret?x@host/v1",
            "http://ada:#secret@host/v1",
            "ada:secret@host/v1",
            "http://h:port/v1?key=secret",
        ] {
            let error = client(base).unwrap_err();
            assert_eq!(error.kind(), "bad_endpoint");
            assert!(error.remedy().unwrap().mentions("/v1"));
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn an_error_response_is_told_without_the_key() {
        let client = client("https://h/v1").unwrap();
        let status_error = |status, body| client.status_error("https://h/v1/x", status, body, None);
        for (status, body, expected) in cases![
            400 => r#"{"error": {"message": "bad key sk-secret", "code": 1}}"#,
                "https://h/v1/x answered with HTTP status 400: bad key (API key)";
            200 => r#"{"error": {"message": "CUDA\nerror", "code": 503}}"#,
                "https://h/v1/x answered with HTTP status 503: CUDA error";
        ] {
            assert_eq!(status_error(status, body).to_string(), expected);
        }
        let long = r#"{"error": {"message": "This model's maximum context length is 8 tokens"}}"#;
        assert!(ken_language::ModelError::from(status_error(400, long)).concerns_input());
    }
}
