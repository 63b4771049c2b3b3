//! Conversations: follow-ups become questions of their own, and greetings retrieve nothing.

use ken_testing::has;
use serde_json::{Value, json};

use crate::fixture::{FOLLOW_UP, OIL, REWRITTEN, Running};

fn asked(server: &Running, messages: &Value) -> Value {
    let body = json!({"model": "ken/always", "messages": messages, "ken": {"trace": true}});
    server.post("/v1/chat/completions", &body).json()
}

#[test]
fn a_follow_up_is_rewritten_before_it_is_routed() {
    let server = Running::start();
    let value = asked(
        &server,
        &json!([
            {"role": "user", "content": OIL},
            {"role": "assistant", "content": "Ida"},
            {"role": "user", "content": FOLLOW_UP},
        ]),
    );
    has!(value, ["ken"]["question"]: REWRITTEN, ["choices"][0]["message"]["content"]: "May");
    has!(value, ["ken"]["model_calls"]: 2);
    assert!(value["ken"]["timing_ms"]["rewrite"].as_f64().unwrap() > 0.0);
    // Alone, a follow-up stays as it is.
    let alone = asked(&server, &json!([{"role": "user", "content": FOLLOW_UP}]));
    assert_eq!(alone["ken"]["question"], FOLLOW_UP);
}

#[test]
fn greetings_retrieve_nothing_under_any_policy() {
    let server = Running::start();
    let value = asked(
        &server,
        &json!([
            {"role": "user", "content": OIL},
            {"role": "assistant", "content": "Ida"},
            {"role": "user", "content": "Hi!"},
        ]),
    );
    let trace = &value["ken"];
    has!(trace, ["small_talk"]: true, ["searches"]: 0);
    assert_eq!(value["choices"][0]["message"]["content"], "Hello");
}
