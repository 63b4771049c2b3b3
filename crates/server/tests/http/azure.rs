//! Requests as clients of Azure OpenAI send them: their addresses, the deployment as the model, and the key in a header
//! of its own.

use ken_server::{Keys, Scope};
use ken_testing::{TableModel, has};
use serde_json::{Value, json};

use crate::client::{Response, exchange, request};
use crate::fixture::{FRANCE, LIMITS, OIL, Running, facts, grant};

const CHAT: &str = "/openai/deployments/ken/always/chat/completions?api-version=2024-10-21";

/// The request in a question, told without a model.
fn conversation(question: &str) -> Value {
    json!({ "messages": [{ "role": "user", "content": question }] })
}

#[test]
fn the_deployment_in_the_address_is_the_model() {
    let server = Running::start();
    let content = |response: Response| {
        let answer = response.json();
        has!(answer, ["model"]: "ken/always");
        answer["choices"][0]["message"]["content"].clone()
    };
    assert_eq!(content(server.post(CHAT, &conversation(OIL))), "Ida");
    // On Azure, the deployment decides, and clients send any model.
    let mut other = conversation(OIL);
    other["model"] = json!("<ignored>");
    assert_eq!(content(server.post(CHAT, &other)), "Ida");
    other["stream"] = json!(true);
    let events = server.post(CHAT, &other).events();
    assert!(events[0].contains("\"ken/always\""), "{events:?}");
    let unknown = CHAT.replace("ken/always", "gpt-4o");
    let refused = server.post(&unknown, &conversation(OIL));
    refused.refuses_param(404, "model_not_found", "model");
    for (body, code) in [
        ("", "missing_body"),
        ("{", "invalid_json"),
        ("[]", "invalid_value"),
    ] {
        let sent = exchange(server.address, &request("POST", CHAT, &[], body));
        sent.refuses_for(&body, 400, code);
    }
    let embeddings = "/openai/deployments/ken/embedder/embeddings?api-version=2024-10-21";
    let embedded = server.post(embeddings, &json!({ "input": ["the oil", "a lamp"] }));
    assert_eq!(embedded.json()["data"].as_array().unwrap().len(), 2);
}

#[test]
fn routes_without_a_deployment_are_those_of_openai() {
    let server = Running::start();
    let response = json!({ "model": "ken/never", "input": FRANCE });
    for path in [
        "/openai/v1/responses",
        "/openai/responses?api-version=preview",
    ] {
        let answer = server.post(path, &response).json();
        has!(answer, ["status"]: "completed");
    }
    let listed = server.get("/v1/models").json();
    for path in ["/openai/v1/models", "/openai/models?api-version=2024-10-21"] {
        assert_eq!(server.get(path).json(), listed, "{path}");
    }
    for path in [
        "/openai/v1/ken/corpora",
        "/openai/health",
        "/openai/deployments",
    ] {
        server.get(path).refuses_for(&path, 404, "unknown_route");
    }
}

#[test]
fn a_key_in_its_own_header_is_a_key() {
    let mut keys = Keys::default();
    let key = keys.make(grant(&[Scope::Ask], None), 0);
    let key = key.as_str();
    let server = Running::over(TableModel::new(facts()).unwrap(), LIMITS, &keys);
    let ask = |headers: &[(&str, &str)]| server.post_as(headers, CHAT, &conversation(OIL));
    assert_eq!(ask(&[("api-key", key)]).status, 200);
    // What a proxy in between asks for is no key of the server.
    let both = [("authorization", "Basic a2VuOg=="), ("api-key", key)];
    assert_eq!(ask(&both).status, 200);
    ask(&[("api-key", "ken-none")]).refuses(401, "invalid_api_key");
    ask(&[]).refuses(401, "missing_api_key");
    let search = json!({ "query": "oil" });
    let refused = server.post_as(&[("api-key", key)], "/v1/ken/search", &search);
    refused.refuses(403, "insufficient_scope");
}
