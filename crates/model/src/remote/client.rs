//! Requests to one endpoint, repeated where a failure may pass. It knows neither prompts nor answers.

use std::borrow::Cow;
use std::fmt;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ken_http::{Failed, certificates_of, explained, is_loopback, is_passing, requested_wait};
use serde_json::Value;
use ureq::http::Response;

use super::address::parsed;
use super::bounds::{Absurd, LARGEST_COUNT, REFUSAL_BYTES};
use super::error::RemoteError;
use super::exchange::{Incoming, exchange};
use super::json::{self, MOST_VALUES, Unread};
use super::settings::{ApiKey, RemoteSettings};

/// Characters of an answer that an error message shows.
const SHOWN_CHARACTERS: usize = 300;

/// An endpoint and how it is spoken to.
pub(super) struct Client {
    agent: ureq::Agent,
    /// As it was given, without a slash at its end.
    base: String,
    /// Where requests go: the base as it was understood, so that host and port are those for which
    /// the key was given.
    address: String,
    host: String,
    key: Option<ApiKey>,
    settings: RemoteSettings,
    stop: Arc<AtomicBool>,
}

impl Client {
    /// An endpoint at a base URL; nothing is sent yet.
    pub(super) fn new(
        base: &str,
        key: Option<ApiKey>,
        settings: RemoteSettings,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, RemoteError> {
        let base = base.trim_end_matches('/');
        let url = parsed(base)?;
        let agent = ken_http::agent(&ken_http::Settings {
            certificates: certificates_of(|name| std::env::var(name).ok()),
            through_proxy: !is_loopback(&url),
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
        let encrypted = url.scheme() == "https" || is_loopback(&url);
        if key
            .as_ref()
            .is_some_and(|key| !encrypted && !key.is_allowed_in_plain_text())
        {
            return Err(RemoteError::KeyInPlainText { host });
        }
        Ok(Self {
            agent,
            base: base.to_owned(),
            address: url.as_str().trim_end_matches('/').to_owned(),
            host,
            key,
            settings,
            stop,
        })
    }

    /// Most requests in flight at a time.
    pub(super) fn concurrency(&self) -> usize {
        self.settings.concurrency.max(1)
    }

    /// The base URL.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    /// The address of a route of the API.
    pub(super) fn api(&self, route: &str) -> String {
        format!("{}/{route}", self.address)
    }

    /// The address of a route beside the API.
    pub(super) fn beside(&self, route: &str) -> String {
        let root = self.address.strip_suffix("/v1").unwrap_or(&self.address);
        format!("{root}/{route}")
    }

    /// The JSON at an address.
    pub(super) fn get(&self, url: &str) -> Result<Value, RemoteError> {
        self.persist(|| {
            let request = self.authorized(self.agent.get(url));
            self.json(url, self.carried(move || request.call()))
        })
    }

    /// The JSON that answers a request.
    pub(super) fn post(&self, url: &str, body: &Value) -> Result<Value, RemoteError> {
        let body = body.to_string();
        self.persist(|| self.json(url, self.sent(url, &body)))
    }

    /// Sends a request once and returns the answer's media type and its still unread body.
    pub(super) fn open(
        &self,
        url: &str,
        body: &str,
    ) -> Result<(Option<String>, impl Read + use<>), Failed<RemoteError>> {
        let response = self.accepted(url, self.sent(url, body))?;
        let media = header(&response, "content-type").map(str::to_owned);
        Ok((media, response.into_body()))
    }

    /// Tries again while failures may pass, as often as the settings say.
    pub(super) fn persist<T>(
        &self,
        mut attempt: impl FnMut() -> Result<T, Failed<RemoteError>>,
    ) -> Result<T, RemoteError> {
        self.settings.retry().persist(&self.stop, || {
            self.check().map_err(Failed::lasting)?;
            attempt().map_err(|failed| match self.check() {
                Ok(()) => failed,
                Err(stopped) => Failed::lasting(stopped),
            })
        })
    }

    /// An error once the caller has stopped it. What is in flight is broken off, so that no endpoint
    /// works on for nobody.
    pub(super) fn check(&self) -> Result<(), RemoteError> {
        if self.stop.load(Ordering::Relaxed) {
            self.agent.clone().shutdown();
            return Err(RemoteError::Interrupted {
                host: self.host.clone(),
            });
        }
        Ok(())
    }

    /// What a broken connection means.
    pub(super) fn broken(&self, error: &ureq::Error) -> Failed<RemoteError> {
        use std::io::ErrorKind::{
            AddrNotAvailable, ConnectionRefused, HostUnreachable, NetworkUnreachable,
        };
        use ureq::Timeout::{Connect, Resolve};
        let host = self.host.clone();
        let detail = explained(error);
        match error {
            ureq::Error::Timeout(Connect | Resolve) => Failed::passing(RemoteError::Unreachable {
                host,
                detail: format!(
                    "no connection within {} s",
                    self.settings.connect_timeout.as_secs_f32()
                ),
            }),
            ureq::Error::Timeout(ureq::Timeout::RecvBody) => {
                let seconds = self.settings.answer_time.as_secs_f32();
                Failed::lasting(self.too_large(format!("it goes on for longer than {seconds} s")))
            }
            ureq::Error::BodyExceedsLimit(bytes) => {
                Failed::lasting(self.too_large(format!("it has more than {bytes} bytes")))
            }
            ureq::Error::Timeout(_) => Failed::passing(RemoteError::Timeout {
                host,
                after: self.settings.read_timeout,
            }),
            ureq::Error::HostNotFound | ureq::Error::Tls(_) | ureq::Error::Rustls(_) => {
                Failed::lasting(RemoteError::Unreachable { host, detail })
            }
            ureq::Error::Io(source)
                if matches!(
                    source.kind(),
                    ConnectionRefused | HostUnreachable | NetworkUnreachable | AddrNotAvailable
                ) =>
            {
                Failed::passing(RemoteError::Unreachable { host, detail })
            }
            ureq::Error::ConnectionFailed => {
                Failed::passing(RemoteError::Unreachable { host, detail })
            }
            ureq::Error::Io(_) | ureq::Error::Protocol(_) => {
                Failed::passing(RemoteError::ConnectionLost { host, detail })
            }
            _ => Failed::lasting(RemoteError::ConnectionLost { host, detail }),
        }
    }

    /// An answer that goes beyond all bounds.
    pub(super) fn too_large(&self, detail: String) -> RemoteError {
        RemoteError::TooLarge {
            host: self.host.clone(),
            detail,
        }
    }

    /// The same, of a count that it tells.
    pub(super) fn absurd(&self, absurd: &Absurd) -> RemoteError {
        let Absurd { field, count } = absurd;
        self.too_large(format!(
            "its `{field}` is {count}, and {LARGEST_COUNT} is the most"
        ))
    }

    /// The JSON of a text that an address gave. Where the endpoint repeats its key, that is blotted
    /// out first, so that no answer, name or record can hold it.
    pub(super) fn parsed(&self, url: &str, text: &str) -> Result<Value, RemoteError> {
        let url = url.to_owned();
        let text = match &self.key {
            Some(key) if key.is_secret() => &*key.blotted(text),
            _ => text,
        };
        if text.trim_start().starts_with('<') {
            return Err(RemoteError::WebPage { url });
        }
        let value = json::parse(text).map_err(|unread| match unread {
            Unread::TooMany => self.too_large(format!("it holds more than {MOST_VALUES} values")),
            Unread::NotJson(error) => RemoteError::BadJson {
                url: url.clone(),
                detail: error.to_string(),
                beginning: self.shown(text),
            },
        })?;
        match value.get("error").filter(|error| !error.is_null()) {
            Some(_) => Err(self.refusal(&url, 200, text)),
            None => Ok(value),
        }
    }

    /// What a refusal means.
    pub(super) fn refusal(&self, url: &str, status: u16, text: &str) -> RemoteError {
        let url = url.to_owned();
        let message = self.shown(&message_of(text));
        if matches!(status, 200 | 400 | 413 | 422) && speaks_of_context(&message) {
            return RemoteError::ContextExceeded {
                url,
                detail: message,
            };
        }
        RemoteError::Status {
            url,
            status,
            message,
        }
    }

    fn authorized<B>(&self, request: ureq::RequestBuilder<B>) -> ureq::RequestBuilder<B> {
        match &self.key {
            Some(key) => request.header("Authorization", key.header()),
            None => request,
        }
    }

    fn sent(&self, url: &str, body: &str) -> Result<Response<Incoming>, ureq::Error> {
        let request = self
            .authorized(self.agent.post(url))
            .content_type("application/json");
        let body = body.to_owned();
        self.carried(move || request.send(body))
    }

    fn carried(
        &self,
        send: impl FnOnce() -> Result<Response<ureq::Body>, ureq::Error> + Send + 'static,
    ) -> Result<Response<Incoming>, ureq::Error> {
        exchange(send, self.settings.answer_bytes, self.stop.clone())
    }

    /// The response, unless it is a refusal.
    fn accepted(
        &self,
        url: &str,
        response: Result<Response<Incoming>, ureq::Error>,
    ) -> Result<Response<Incoming>, Failed<RemoteError>> {
        let response = response.map_err(|error| self.broken(&error))?;
        let status = response.status().as_u16();
        if (200..300).contains(&status) {
            return Ok(response);
        }
        let wait = requested_wait(response.headers());
        let text = text(response.into_body().take(REFUSAL_BYTES)).unwrap_or_default();
        Err(Failed {
            error: self.refusal(url, status, &text),
            passing: is_passing(status),
            wait,
        })
    }

    fn json(
        &self,
        url: &str,
        response: Result<Response<Incoming>, ureq::Error>,
    ) -> Result<Value, Failed<RemoteError>> {
        let response = self.accepted(url, response)?;
        let text = text(response.into_body()).map_err(|error| self.broken(&error))?;
        self.parsed(url, &text).map_err(Failed::lasting)
    }

    /// The beginning of what the endpoint said, on one line and without the key.
    fn shown(&self, text: &str) -> String {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        // Others, such as those that colour a terminal, could hide what stands there.
        let line = self.blotted(&line).replace(char::is_control, "\u{fffd}");
        match line.char_indices().nth(SHOWN_CHARACTERS) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }
}

impl Client {
    fn blotted<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.key {
            Some(key) => key.blotted(text),
            None => Cow::Borrowed(text),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base", &self.base)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// The header of an answer, where it has one that is text.
fn header<'a>(response: &'a Response<Incoming>, name: &str) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok()
}

/// The body of an answer to its end.
pub(super) fn text(mut body: impl Read) -> Result<String, ureq::Error> {
    let mut bytes = Vec::new();
    body.read_to_end(&mut bytes)?;
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

/// The endpoint's words in the body of a refusal.
fn message_of(text: &str) -> String {
    if text.trim().is_empty() {
        return "(it does not say why)".to_owned();
    }
    if text.trim_start().starts_with('<') {
        return "(a web page)".to_owned();
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return text.to_owned();
    };
    let words = ["/error/message", "/error", "/message", "/detail"]
        .iter()
        .find_map(|path| value.pointer(path).filter(|found| !found.is_null()));
    match words {
        Some(Value::String(words)) => words.clone(),
        Some(other) => other.to_string(),
        None => text.to_owned(),
    }
}

/// Whether a refusal is because of the length of the prompt.
fn speaks_of_context(message: &str) -> bool {
    let message = message.to_lowercase();
    [
        "context length",
        "context size",
        "context window",
        "context_length",
        "maximum input length",
    ]
    .iter()
    .any(|words| message.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(base: &str) -> Result<Client, RemoteError> {
        let key = ApiKey::new("sk-secret")?;
        let stop = Arc::new(AtomicBool::new(false));
        Client::new(base, Some(key), RemoteSettings::default(), stop)
    }

    #[test]
    fn addresses_are_made_from_the_base() {
        let client = client("http://localhost:8000/v1/").unwrap();
        assert_eq!(client.api("models"), "http://localhost:8000/v1/models");
        assert_eq!(client.beside("tokenize"), "http://localhost:8000/tokenize");
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
            let key = ApiKey::new("sk-secret")
                .unwrap()
                .allowed_in_plain_text(true);
            let settings = RemoteSettings::default();
            assert!(Client::new(base, Some(key), settings.clone(), Arc::default()).is_ok());
            assert!(Client::new(base, None, settings, Arc::default()).is_ok());
        }
        for base in ["https://h/v1", "http://127.0.0.1:1/v1", "http://[::1]/v1"] {
            assert!(client(base).is_ok(), "{base}");
        }
    }

    #[test]
    fn requests_go_to_the_host_that_was_understood() {
        let client = client("https://EXAMPLE.org:443/a/../v1/").unwrap();
        assert_eq!(client.base(), "https://EXAMPLE.org:443/a/../v1");
        assert_eq!(client.api("models"), "https://example.org/v1/models");
    }

    #[test]
    fn a_key_that_an_endpoint_repeats_is_blotted_out_of_its_answer() {
        let with = |key: &str| {
            let key = ApiKey::new(key).unwrap();
            let settings = RemoteSettings::default();
            Client::new("https://h/v1", Some(key), settings, Arc::default()).unwrap()
        };
        let url = "https://h/v1/x";
        let client = with("sk-secret-of-somebody");
        let answer = client.parsed(url, r#"{"text": "got sk-secret-of-somebody"}"#);
        assert_eq!(answer.unwrap()["text"], "got (API key)");
        let error = client.parsed(url, "sk-secret-of-somebody\u{1b}[8m");
        let error = error.unwrap_err().to_string();
        assert!(error.ends_with("`(API key)\u{fffd}[8m`"), "{error}");
        // What stands for no key is no secret, and may be a word of the answer.
        let answer = with("EMPTY").parsed(url, r#"{"text": "EMPTY"}"#);
        assert_eq!(answer.unwrap()["text"], "EMPTY");
    }

    #[test]
    fn what_is_no_base_is_refused_without_its_password() {
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
    fn the_words_of_a_refusal_are_found_wherever_they_stand() {
        let client = client("https://h/v1").unwrap();
        for (body, words) in [
            (
                r#"{"error": {"message": "bad key sk-secret", "code": 1}}"#,
                "bad key (API key)",
            ),
            (r#"{"error": "no such model"}"#, "no such model"),
            (
                r#"{"object": "error", "message": "n must be 1"}"#,
                "n must be 1",
            ),
            (
                r#"{"detail": [{"loc": ["body", "n"]}]}"#,
                r#"[{"loc":["body","n"]}]"#,
            ),
            ("plain\nwords", "plain words"),
            ("<html>", "(a web page)"),
            ("", "(it does not say why)"),
        ] {
            let error = client.refusal("https://h/v1/x", 400, body);
            let expected = format!("https://h/v1/x answered with HTTP status 400: {words}");
            assert_eq!(error.to_string(), expected);
        }
        let long = r#"{"error": {"message": "This model's maximum context length is 8 tokens"}}"#;
        let error = ken_language::ModelError::from(client.refusal("https://h", 400, long));
        assert!(error.concerns_input());
    }
}
