//! What gateways and hosted services do otherwise: failures told with status 200, events labelled as JSON, redirects,
//! lists without `data`, accounts without credit, and Azure's addresses.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ken_language::ModelError;
use ken_model::remote::{ApiKey, Endpoint, RemoteModel};
use ken_testing::{fails, has, holds, with};
use serde_json::{Value, json};

use super::faults::{event, model_list, prompt, scripted, settings, text_of};
use super::loopback::{Reply, Server};

/// The event with which an answer ends.
fn end() -> Value {
    json!({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]})
}

/// A choice in the place of which a gateway tells that a server behind it failed.
fn failed_choice() -> Value {
    let error = json!({"code": 502, "message": "the provider is gone"});
    json!({"choices": [{"index": 0, "text": "", "finish_reason": "error", "error": error}]})
}

/// The error with a server that always gives the same response, and the number of requests.
fn outcome(reply: impl Fn() -> Reply + Send + Sync + 'static) -> (ModelError, usize) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let (_server, model) = scripted(move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        reply()
    });
    let error = text_of(&model, &prompt()).unwrap_err();
    (error, asked.load(Ordering::SeqCst))
}

#[test]
fn a_failure_that_is_told_with_status_200_is_retried() {
    let limited = json!({"error": {"code": 429, "message": "limited upstream"}});
    let (_server, model) = scripted(move |_, number| match number {
        0 => Reply::json(&limited),
        1 => Reply::json(&failed_choice()),
        _ => Reply::events(&[event(" bc"), end()]),
    });
    assert_eq!(text_of(&model, &prompt()).unwrap(), " bc");

    let asked = AtomicUsize::new(0);
    let server = Server::start(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        0 => Reply::json(&json!({"error": {"code": 503, "message": "waking up"}})),
        _ => model_list(&["small"]),
    });
    let endpoint = with!(Endpoint::new(&server.url), settings: settings());
    endpoint.reach().unwrap();
}

#[test]
fn a_choice_that_failed_is_an_error() {
    let (error, asked) = outcome(|| Reply::events(&[failed_choice()]));
    assert_eq!((error.kind(), asked), ("endpoint_status", 3));
    // With a piece of the answer out, there is no second attempt.
    let (error, asked) = outcome(|| Reply::events(&[event(" b"), failed_choice()]));
    assert_eq!((error.kind(), asked), ("endpoint_status", 1));
    let message = error.to_string();
    holds!("{message}" => message.ends_with("HTTP status 502: the provider is gone"));
}

#[test]
fn events_may_be_labelled_as_json() {
    let (_server, model) = scripted(|_, _| {
        let events = format!(
            ": hello\r\n\r\ndata: {}\r\n\r\ndata: {}\r\n\r\n",
            event(" b"),
            end()
        );
        Reply::text(200, "application/json", &events)
    });
    assert_eq!(text_of(&model, &prompt()).unwrap(), " b");
}

#[test]
fn a_whole_message_may_be_the_only_event() {
    let server = Server::start(|request| match request.path.as_str() {
        "/v1/models" => model_list(&["gateway"]),
        "/v1/chat/completions" => {
            let message = json!({"role": "assistant", "content": "Oslo"});
            let whole =
                json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
            match request.body["stream"] == true {
                true => Reply::events(&[whole]),
                false => Reply::json(&whole),
            }
        }
        _ => Reply::refusal(404, "Not Found"),
    });
    let model = RemoteModel::connect(Endpoint::new(&server.url)).unwrap();
    assert_eq!(text_of(&model, &prompt()).unwrap(), "Oslo");
}

#[test]
fn an_account_without_credit_is_not_asked_again() {
    let error =
        json!({"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}});
    let (error, asked) = outcome(move || Reply::status(429, &error));
    assert_eq!((error.kind(), asked), ("endpoint_quota_exceeded", 1));
    assert!(error.remedy().unwrap().mentions("credit"));
}

#[test]
fn a_redirect_says_where_to() {
    let server = Server::start(|_| {
        let to = "Location: https://models.example.org/v1/models?ticket=secret";
        Reply::text(307, "text/html", "<p>Moved").with_header(to)
    });
    let error = RemoteModel::connect(Endpoint::new(&server.url)).unwrap_err();
    let expected = format!(
        "{}/models redirects to https://models.example.org/v1/models",
        server.url
    );
    has!(error, kind(): "endpoint_redirects", to_string(): expected);
}

#[test]
fn a_list_may_be_bare_and_a_base_url_wrong() {
    let server = Server::start(|request| match request.path.as_str() {
        "/v1/models" => Reply::json(&json!([{"id": "only"}])),
        "/v1/completions" => Reply::json(&json!({"choices": [{"text": "x"}]})),
        _ => Reply::refusal(404, "Not Found"),
    });
    let model = RemoteModel::connect(Endpoint::new(&server.url)).unwrap();
    assert_eq!(model.name(), "only");
    let base = server.url.trim_end_matches("/v1");
    fails!(RemoteModel::connect(Endpoint::new(base)) => "unknown_model"; "ends in /v1");
}

#[test]
fn azure_gets_its_version_and_its_header() {
    const CHAT: &str = "/openai/deployments/small/chat/completions?api-version=2024-10-21";
    let server = Server::start(|request| match request.path.as_str() {
        CHAT => {
            let message = json!({"role": "assistant", "content": "Oslo"});
            Reply::json(
                &json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}),
            )
        }
        _ => Reply::refusal(404, "Resource not found"),
    });
    let root = server.url.trim_end_matches("/v1");
    let url = format!("{root}/openai/deployments/small?api-version=2024-10-21");
    let endpoint = with!(Endpoint::new(&url), model: Some("small".to_owned()),
        key: Some(ApiKey::new("azure-key").unwrap()));
    let model = RemoteModel::connect(endpoint).unwrap();
    assert_eq!(text_of(&model, &prompt()).unwrap(), "Oslo");
    let asked = server.requests(CHAT);
    has!(asked.last().unwrap(), api_key.as_deref(): Some("azure-key"), authorization: None);
}
