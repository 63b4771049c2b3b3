//! Failures of connections and endpoints, and their errors.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ken_language::{
    Examples, GenerateOptions, GenerateRequest, LanguageModel, ModelError, Progress, Prompt,
    Sampling, WorkedExample,
};
use ken_model::remote::{Endpoint, RemoteModel, RemoteSettings};
use ken_testing::{fails, has, with};
use serde_json::{Value, json};

use super::loopback::{Reply, Request, Server};

pub(crate) fn prompt() -> Prompt {
    const EXAMPLES: [WorkedExample<'static>; 1] = [WorkedExample {
        input: "Q: a\nA:",
        output: "b",
    }];
    let input = "Q: c\nA:".to_owned();
    Prompt::new("Answer.", Examples::Fixed(&EXAMPLES), input)
}

pub(crate) fn greedy() -> GenerateOptions {
    GenerateOptions::new(Sampling::Greedy, 5)
}

pub(crate) fn settings() -> RemoteSettings {
    with!(RemoteSettings::default(), concurrency: 3, connect_timeout: Duration::from_secs(2),
        read_timeout: Duration::from_millis(300), retries: 2, backoff: Duration::from_millis(4))
}

pub(crate) fn model_list(names: &[&str]) -> Reply {
    let data: Vec<Value> = names.iter().map(|name| json!({"id": name})).collect();
    Reply::json(&json!({"object": "list", "data": data}))
}

/// A server that handles the requests of connecting, and then responds by a script.
pub(crate) fn serving(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Server {
    Server::start(move |request| match request.path.as_str() {
        "/v1/models" => model_list(&["tiny"]),
        "/tokenize" => Reply::refusal(404, "Not Found"),
        _ if request.body["max_tokens"] == 1 => Reply::json(&json!({"choices": [{"text": "x"}]})),
        _ => script(request),
    })
}

/// As [`serving`], with a model; the script also receives the number of the request, from 0.
pub(crate) fn scripted(
    script: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static,
) -> (Server, RemoteModel) {
    let number = AtomicUsize::new(0);
    let server = serving(move |request| script(request, number.fetch_add(1, Ordering::SeqCst)));
    let model =
        RemoteModel::connect(with!(Endpoint::new(&server.url), settings: settings())).unwrap();
    (server, model)
}

pub(crate) fn text_of(model: &dyn LanguageModel, prompt: &Prompt) -> Result<String, ModelError> {
    let options = greedy();
    let request = GenerateRequest::new(prompt, 1, &options);
    let mut pieces = String::new();
    let written = model.generate(&[request], &mut |progress| {
        if let Progress::Text(piece) = progress {
            pieces.push_str(piece.text);
        }
        ControlFlow::Continue(())
    })?;
    assert_eq!(pieces, written[0][0].text);
    Ok(pieces)
}

pub(crate) fn event(text: &str) -> Value {
    json!({"choices": [{"index": 0, "text": text, "finish_reason": null}]})
}

fn answer() -> Reply {
    let end = json!({"choices": [{"index": 0, "text": "", "finish_reason": "length"}]});
    Reply::events(&[event(" b"), event("c"), end])
}

/// Half a completion, after which the stream ends or the connection is closed.
fn half(pieces: &[&str], whole: bool) -> Reply {
    Reply::Events {
        events: pieces
            .iter()
            .map(|piece| event(piece).to_string())
            .collect(),
        pause: Duration::ZERO,
        whole,
    }
}

/// The error with a server that always gives the same response, and the number of requests.
fn outcome(reply: impl Fn() -> Reply + Send + Sync + 'static) -> (ModelError, usize, String) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let (server, model) = scripted(move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        reply()
    });
    let error = text_of(&model, &prompt()).unwrap_err();
    (error, asked.load(Ordering::SeqCst), server.url)
}

#[test]
fn silence_ends_with_the_timeout() {
    let begun = Instant::now();
    let (error, asked, url) = outcome(|| Reply::Silence(Duration::from_secs(20)));
    assert_eq!((error.kind(), asked), ("endpoint_timeout", 3));
    let host = url.trim_start_matches("http://").trim_end_matches("/v1");
    has!(error, to_string(): format!("{host} did not answer within 0.3 s"));
    assert!(error.remedy().unwrap().mentions("loading its model"));
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_stream_that_falls_silent_ends_with_the_timeout_too() {
    let (error, asked, _) = outcome(|| Reply::Events {
        events: vec![event(" b").to_string(), event("c").to_string()],
        pause: Duration::from_millis(160),
        whole: true,
    });
    // Two pieces each come in time; then the stream ends too early.
    assert_eq!((error.kind(), asked), ("endpoint_stream_cut", 1));
    let (error, asked, _) = outcome(|| Reply::Events {
        events: vec![event(" b").to_string()],
        pause: Duration::from_millis(900),
        whole: true,
    });
    assert_eq!((error.kind(), asked), ("endpoint_timeout", 3));
}

#[test]
fn rate_limited_requests_are_retried() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let log = times.clone();
    let (_server, model) = scripted(move |_, number| {
        log.lock().unwrap().push(Instant::now());
        match number {
            0 => Reply::refusal(429, "slow down").with_header("Retry-After: 1"),
            1 => Reply::refusal(503, "loading"),
            _ => answer(),
        }
    });
    assert_eq!(text_of(&model, &prompt()).unwrap(), " bc");
    let times = times.lock().unwrap();
    assert_eq!(times.len(), 3);
    assert!(times[1] - times[0] >= Duration::from_secs(1));
    assert!(times[2] - times[1] < Duration::from_millis(900));
}

#[test]
fn an_excessive_retry_after_is_an_error() {
    let (error, asked, url) =
        outcome(|| Reply::refusal(429, "come back tomorrow").with_header("Retry-After: 86400"));
    assert_eq!((error.kind(), asked), ("endpoint_status", 1));
    let expected = format!("{url}/completions answered with HTTP status 429: come back tomorrow");
    assert_eq!(error.to_string(), expected);
    assert!(error.remedy().unwrap().mentions("concurrency"));
}

#[test]
fn a_server_that_keeps_failing_is_an_error() {
    let (error, asked, url) = outcome(|| Reply::refusal(500, "out of memory"));
    assert_eq!((error.kind(), asked), ("endpoint_status", 3));
    let expected = format!("{url}/completions answered with HTTP status 500: out of memory");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_refusal_is_not_retried() {
    let (error, asked, url) = outcome(|| Reply::refusal(400, "bad sampling"));
    assert_eq!((error.kind(), asked), ("endpoint_status", 1));
    let expected = format!("{url}/completions answered with HTTP status 400: bad sampling");
    assert_eq!(error.to_string(), expected);
    assert!(!error.concerns_input());
}

#[test]
fn a_prompt_that_is_too_long_has_its_own_error() {
    let words = "This model's maximum context length is 8 tokens. However, you requested 20.";
    let (error, asked, url) = outcome(move || Reply::refusal(400, words));
    assert_eq!((error.kind(), asked), ("context_exceeded", 1));
    let expected = format!(
        "the prompt does not fit into the context of the model at {url}/completions: {words}"
    );
    assert_eq!(error.to_string(), expected);
    assert!(error.concerns_input());
}

#[test]
fn a_lost_connection_is_retried_and_then_an_error() {
    let (error, asked, _) = outcome(|| Reply::HangUp);
    assert_eq!((error.kind(), asked), ("endpoint_connection_lost", 3));
    assert!(
        error
            .to_string()
            .starts_with("the connection to 127.0.0.1:"),
        "{error}"
    );

    let (_server, model) = scripted(|_, number| match number {
        0 => Reply::HangUp,
        _ => answer(),
    });
    assert_eq!(text_of(&model, &prompt()).unwrap(), " bc");
}

#[test]
fn a_web_page_is_an_error() {
    let (error, asked, url) = outcome(|| Reply::text(200, "text/html", "<!doctype html><p>Hi"));
    assert_eq!((error.kind(), asked), ("endpoint_web_page", 1));
    let expected = format!("{url}/completions answered with a web page instead of JSON");
    assert_eq!(error.to_string(), expected);
    assert!(error.remedy().unwrap().mentions("ends in /v1"));

    let server = Server::start(|_| Reply::text(200, "text/html", "<html>"));
    fails!(RemoteModel::connect(Endpoint::new(&server.url)) => "endpoint_web_page");
}

#[test]
fn what_is_not_json_is_shown() {
    let (error, _, url) = outcome(|| Reply::text(200, "application/json", "{\"choices\": [Hi"));
    assert_eq!(error.kind(), "endpoint_bad_json");
    let message = error.to_string();
    let beginning = format!("{url}/completions answered with what is not JSON (");
    assert!(message.starts_with(&beginning), "{message}");
    assert!(message.ends_with("`{\"choices\": [Hi`"), "{message}");
}

#[test]
fn a_response_without_choices_is_an_error() {
    for body in [
        "{}",
        "{\"choices\": []}",
        "{\"choices\": [{\"index\": 0}]}",
        "[]",
    ] {
        let (error, _, url) = outcome(move || Reply::text(200, "application/json", body));
        assert_eq!(error.kind(), "endpoint_missing_field");
        let expected = format!("the answer of {url}/completions has no usable `choices`");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_truncated_stream_is_an_error() {
    for whole in [true, false] {
        let (error, asked, url) = outcome(move || half(&[" b", "cd"], whole));
        assert_eq!((error.kind(), asked), ("endpoint_stream_cut", 1));
        let expected = format!(
            "the stream of {url}/completions ended in the middle of the answer, after 4 bytes of it"
        );
        assert_eq!(error.to_string(), expected);
        // Nothing was emitted yet, so it can be retried.
        let (_server, model) = scripted(move |_, number| match number {
            0 => half(&[""], whole),
            _ => answer(),
        });
        assert_eq!(text_of(&model, &prompt()).unwrap(), " bc");
    }
}

#[test]
fn a_finished_completion_needs_no_end_of_its_stream() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let (_server, model) = scripted(move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        let end = json!({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]});
        Reply::Events {
            events: vec![event(" b").to_string(), end.to_string()],
            pause: Duration::ZERO,
            whole: false,
        }
    });
    // The connection is lost after it.
    assert_eq!(text_of(&model, &prompt()).unwrap(), " b");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[test]
fn an_error_in_a_stream_is_returned() {
    let (error, _, _) = outcome(|| {
        Reply::events(&[
            event(" b"),
            json!({"error": {"message": "CUDA error", "code": 500}}),
        ])
    });
    assert_eq!(error.kind(), "endpoint_status");
    assert!(error.to_string().ends_with("CUDA error"), "{error}");
}

/// A response that goes on for longer than any test.
pub(crate) fn endless() -> Reply {
    Reply::Events {
        events: vec![event("x").to_string(); 10_000],
        pause: Duration::from_millis(5),
        whole: true,
    }
}
