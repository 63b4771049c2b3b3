//! Keys, hosts and origins.

use ken_server::{Access, Keys, Scope, bind};
use ken_testing::{TableModel, cases, says};
use serde_json::json;

use crate::client::{exchange, request};
use crate::fixture::{LIMITS, OIL, Running, chat, facts, grant, wait_for};

const CHAT: &str = "/v1/chat/completions";

fn started(keys: &Keys) -> Running {
    Running::over(TableModel::new(facts()).unwrap(), LIMITS, keys)
}

#[test]
fn a_key_opens_what_it_is_for() {
    let mut keys = Keys::default();
    let asks = keys.make(grant(&[Scope::Ask], Some(&["notes"])), 0);
    let searches = keys.make(grant(&[Scope::Search], None), 0);
    let watches = keys.make(grant(&[Scope::Admin], None), 0);
    let expired = {
        let mut grant = grant(&[Scope::Ask], None);
        grant.expires = Some(1);
        keys.make(grant, 0)
    };
    let server = started(&keys);
    let post = |key: &str, path: &str, body: serde_json::Value| {
        let authorization = format!("Bearer {key}");
        let response = server.post_as(&[("authorization", &authorization)], path, &body);
        match response.status {
            200 => (200, String::new()),
            status => (status, response.code()),
        }
    };
    let refused = |status: u16, code: &str| (status, code.to_owned());
    let good = (200, String::new());
    let question = |options: serde_json::Value| chat("always", OIL, &json!({"ken": options}));
    let query = |corpus: &str| json!({"query": "oil", "corpus": corpus});
    assert_eq!(post(&asks, CHAT, question(json!({}))), good);
    assert_eq!(
        post(&asks, CHAT, question(json!({"corpus": "boats"}))),
        refused(403, "insufficient_scope")
    );
    assert_eq!(
        post(&asks, "/v1/ken/search", query("notes")),
        refused(403, "insufficient_scope")
    );
    assert_eq!(post(&searches, "/v1/ken/search", query("boats")), good);
    assert_eq!(
        post(&searches, CHAT, question(json!({}))),
        refused(403, "insufficient_scope")
    );
    assert_eq!(
        post(&expired, CHAT, question(json!({}))),
        refused(401, "expired_api_key")
    );
    assert_eq!(
        post("ken-wrong", CHAT, question(json!({}))),
        refused(401, "invalid_api_key")
    );
    let get = |path: &str, key: &str| {
        let authorization = format!("Bearer {key}");
        let headers = [("authorization", authorization.as_str())];
        exchange(server.address, &request("GET", path, &headers, ""))
    };
    assert_eq!(server.get("/health").status, 200);
    assert_eq!(server.get("/v1/models").code(), "missing_api_key");
    assert_eq!(get("/v1/models", &searches).status, 200);
    assert_eq!(get("/metrics", &searches).code(), "insufficient_scope");
    assert_eq!(get("/metrics", &watches).status, 200);
    let corpora = get("/v1/ken/corpora", &asks).json();
    assert_eq!(corpora["corpora"].as_array().unwrap().len(), 1);
    // The running server refuses a revoked key, and does not open up when the last one is gone.
    Keys::default().write(&server.keys()).unwrap();
    wait_for("the key is refused", || {
        get("/v1/models", &searches).status == 401
    });
    assert_eq!(server.get("/v1/models").code(), "missing_api_key");
    let log = serde_json::to_string(&*server.log.lock().unwrap()).unwrap();
    assert!(!log.contains(&asks) && !log.contains(&searches));
}

#[test]
fn quotas_are_kept() {
    let mut keys = Keys::default();
    let mut few = grant(&[Scope::Ask, Scope::Search], None);
    few.requests_per_minute = Some(2);
    let mut short = grant(&[Scope::Ask], None);
    short.tokens_per_day = Some(1);
    let (few, short) = (keys.make(few, 0), keys.make(short, 0));
    let server = started(&keys);
    let ask = |key: &str| {
        let authorization = format!("Bearer {key}");
        let body = chat("always", OIL, &json!({}));
        server.post_as(&[("authorization", &authorization)], CHAT, &body)
    };
    assert_eq!([ask(&few).status, ask(&few).status], [200, 200]);
    let third = ask(&few);
    third.refuses(429, "request_quota");
    let wait: u64 = third.header("retry-after-ms").unwrap().parse().unwrap();
    assert!((1..=60_000).contains(&wait) && third.header("x-should-retry") == Some("true"));
    assert_eq!(ask(&short).status, 200);
    assert_eq!(ask(&short).code(), "token_quota");
}

#[test]
fn other_hosts_and_origins_are_refused() {
    let server = Running::start();
    let get = |headers: &[(&str, &str)]| {
        exchange(server.address, &request("GET", "/v1/models", headers, ""))
    };
    assert_eq!(get(&[("host", "rebound.example")]).code(), "other_host");
    assert_eq!(
        get(&[("origin", "http://evil.example")]).code(),
        "other_origin"
    );
    assert_eq!(get(&[("origin", "http://localhost")]).status, 200);
    let asked = exchange(server.address, &request("OPTIONS", CHAT, &[], ""));
    assert_eq!(asked.header("access-control-allow-origin"), None);
}

#[test]
fn an_address_that_others_reach_needs_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    let open = || Access::open(path.clone()).unwrap();
    let any = "0.0.0.0:0".parse().unwrap();
    let refused = bind(any, &open()).unwrap_err();
    assert!(refused.to_string().contains("no keys"), "{refused}");
    let mut keys = Keys::default();
    keys.make(grant(&[Scope::Ask], None), 0);
    keys.write(&path).unwrap();
    assert!(bind(any, &open()).is_ok());
}

#[test]
fn pages_of_allowed_origins_may_use_the_server() {
    const PAGE: &str = "https://chat.example.org";
    let server = Running::allowing(PAGE);
    let ask = |method: &str, origin: &str, more: &[(&str, &str)]| {
        let headers = [&[("origin", origin)], more].concat();
        exchange(
            server.address,
            &request(method, "/v1/models", &headers, &[]),
        )
    };
    let preflight = cases![
        "access-control-request-method" => "POST";
        "access-control-request-headers" => "authorization, content-type";
    ];
    let response = ask("OPTIONS", PAGE, &preflight);
    assert_eq!(response.status, 204);
    assert_eq!(response.header("access-control-allow-origin"), Some(PAGE));
    let allowed = response.header("access-control-allow-headers");
    assert_eq!(allowed, Some("authorization, content-type"));
    let listed = ask("GET", PAGE, &[]);
    assert_eq!(listed.status, 200);
    assert_eq!(listed.header("access-control-allow-origin"), Some(PAGE));
    let exposed = listed.header("access-control-expose-headers").unwrap();
    says!(exposed => "x-request-id", "retry-after-ms", "x-should-retry");
    for (method, more) in [("GET", &[][..]), ("OPTIONS", &preflight)] {
        let refused = ask(method, "https://other.example.org", more);
        refused.refuses(403, "other_origin");
        assert_eq!(refused.header("access-control-allow-origin"), None);
    }
}
