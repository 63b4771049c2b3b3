//! The tokens of a key for answers that break off: what a client was told is spent, so that leaving before the end is
//! not free.

use std::io::{Read, Write};
use std::time::Duration;

use ken_server::{Grant, Keys, Scope};
use ken_testing::extended;
use serde_json::{Value, json};

use crate::client::{connect, exchange, request};
use crate::endpoints::{Front, PASSED, event};
use crate::fixture::{LIMITS, OIL, chat, grant, wait_for};
use crate::loopback::Reply;

/// A stream of ten seconds.
fn slow(events: impl Iterator<Item = Value>) -> Reply {
    Reply::Events {
        events: events.map(|event| event.to_string()).collect(),
        pause: Duration::from_millis(100),
        whole: false,
    }
}

#[test]
fn an_answer_that_its_client_leaves_is_paid_for() {
    let mut keys = Keys::default();
    let mut key = || {
        let grant = Grant {
            tokens_per_day: Some(1),
            ..grant(&[Scope::Ask], None)
        };
        format!("Bearer {}", keys.make(grant, 0))
    };
    let all = [key(), key(), key()];
    let front = Front::locked(LIMITS, &keys);
    front.says(|request| match request.path.as_str() {
        "/v1/completions" => {
            slow((0..100).map(|n| json!({"choices": [{"index": 0, "text": format!("Ida {n} ")}]})))
        }
        _ => slow((0..100).map(|n| event(&json!({"content": format!("Ida {n} ")}), &Value::Null))),
    });
    let own = chat(
        "never",
        OIL,
        &json!({"stream": true, "ken": {"style": "full"}}),
    );
    let passed = chat("never", OIL, &json!({"stream": true, "n": 2}));
    let text = json!({"model": "ken", "prompt": PASSED, "max_tokens": 9, "stream": true});
    for (key, (path, body)) in all.iter().zip([
        ("/v1/chat/completions", own),
        ("/v1/chat/completions", passed),
        ("/v1/completions", text),
    ]) {
        let authorization = [("authorization", key.as_str())];
        let asked = request("POST", path, &authorization, &body.to_string());
        let mut client = connect(front.server.address);
        client.write_all(&asked).unwrap();
        let (mut said, mut piece) = (Vec::new(), [0; 4096]);
        while !said.windows(3).any(|three| three == b"Ida") {
            let length = client.read(&mut piece).unwrap();
            assert!(length > 0, "{}", String::from_utf8_lossy(&said));
            said.extend_from_slice(&piece[..length]);
        }
        drop(client);
        // This takes no tokens itself.
        let models = request("GET", "/v1/models", &authorization, "");
        wait_for("the tokens of the key are spent", || {
            let refused = exchange(front.server.address, &models);
            refused.status == 429 && refused.code() == "token_quota"
        });
    }
}

#[test]
fn the_largest_limit_of_tokens_is_a_limit() {
    let front = Front::start(LIMITS);
    let body = chat(
        "never",
        OIL,
        &json!({"max_tokens": u64::MAX, "user": "ada"}),
    );
    for more in [json!({}), json!({"n": 2})] {
        let body = extended(body.clone(), &more);
        let answered = front.server.post("/v1/chat/completions", &body);
        assert_eq!(answered.status, 200, "{}", answered.text());
    }
}
