//! Where API keys are sent, and where they are not.

use ken_model::remote::{ApiKey, Endpoint, RemoteModel};
use ken_testing::with;
use serde_json::json;

use super::faults::{model_list, prompt, settings, text_of};
use super::loopback::{Reply, Server};

const KEY: &str = "sk-0123456789abcdef";

fn keyed(url: &str) -> Endpoint {
    with!(Endpoint::new(url), key: Some(ApiKey::new(KEY).unwrap()), settings: settings())
}

#[test]
fn a_redirect_is_not_followed() {
    let elsewhere = Server::start(|_| model_list(&["tiny"]));
    let target = elsewhere.url.clone();
    for status in [301, 302, 303, 307, 308] {
        let location = format!("Location: {target}/models");
        let server = Server::start(move |_| {
            Reply::text(status, "text/plain", "moved").with_header(&location)
        });
        let error = RemoteModel::connect(keyed(&server.url)).unwrap_err();
        assert_eq!(error.kind(), "endpoint_redirects", "{status}");
        assert!(error.remedy().unwrap().mentions("redirects"), "{status}");
        let asked = server.requests("/v1/models");
        assert_eq!(asked[0].authorization, Some(format!("Bearer {KEY}")));
    }
    assert!(elsewhere.requests("").is_empty());
}

#[test]
fn a_key_that_the_endpoint_repeats_is_redacted_from_texts_and_names() {
    let server = Server::start(|request| {
        let sent = request.authorization.clone().unwrap_or_default();
        match request.path.as_str() {
            "/v1/models" => model_list(&[&sent]),
            "/v1/completions" if request.body["stream"] == true => {
                Reply::events(&[json!({"choices": [{"text": sent, "finish_reason": "stop"}]})])
            }
            "/v1/completions" => Reply::json(&json!({"choices": [{"text": sent}]})),
            _ => Reply::refusal(404, &sent),
        }
    });
    let model = RemoteModel::connect(keyed(&server.url)).unwrap();
    assert_eq!(model.name(), "Bearer (API key)");
    assert_eq!(text_of(&model, &prompt()).unwrap(), "Bearer (API key)");
    let log = format!("{model:?}");
    assert!(!log.contains(KEY), "{log}");
}
