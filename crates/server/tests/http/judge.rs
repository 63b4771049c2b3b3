//! A judge behind an endpoint, asked about drawn questions whose answers differ.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ken_language::LanguageModel;
use ken_policy::Promise;
use ken_setup::{Settings, Setup};
use serde_json::{Value, json};

use crate::fixture::{FRANCE, OIL, Running, wait_for};
use crate::loopback::{Reply, Request, Server};
use crate::watch::{events, found, guarantee, has_line};

/// An endpoint of a chat model that calls the answers in `right` right, or fails.
pub(crate) fn endpoint(right: &'static [&'static str]) -> Server {
    Server::start(move |request: &Request| match request.path.as_str() {
        "/v1/models" => Reply::json(&json!({"object": "list", "data": [{"id": "judge"}]})),
        "/v1/chat/completions" => {
            let turns = request.body["messages"].as_array().unwrap();
            let asked = turns.last().unwrap()["content"].as_str().unwrap();
            if asked.contains("Question:") && right.is_empty() {
                return Reply::refusal(400, "it does not judge");
            }
            let is = right
                .iter()
                .any(|answer| asked.contains(&format!("Answer: {answer}\n")));
            let verdict = if is { "True" } else { "False" };
            let usage = json!({"prompt_tokens": 9, "completion_tokens": 1});
            if request.body["stream"] == true {
                let delta = |delta: Value, end: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": end}]});
                return Reply::events(&[
                    delta(
                        json!({"role": "assistant", "content": verdict}),
                        Value::Null,
                    ),
                    delta(json!({}), json!("stop")),
                    json!({"choices": [], "usage": usage}),
                ]);
            }
            let message = json!({"role": "assistant", "content": verdict});
            Reply::json(&json!({
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": usage,
            }))
        }
        _ => Reply::refusal(404, "Not Found"),
    })
}

/// The judge as settings name it.
pub(crate) fn judge(endpoint: &Server) -> Arc<dyn LanguageModel> {
    let mut settings = Settings::resolve(None, []).unwrap();
    settings.watch_judge = Some(format!("{}#judge", endpoint.url).parse().unwrap());
    let setup = Setup {
        settings: &settings,
        stop: &Arc::new(AtomicBool::new(false)),
        watch: &|| Box::new(|_| {}),
        withheld: &|_| {},
    };
    let judge = settings.watch_judge.as_ref().unwrap();
    setup.other_language_model(judge).unwrap()
}

fn ask(server: &Running, question: &str) -> String {
    let answer = server.post("/v1/ken/ask", &json!({"question": question}));
    answer.json()["request_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_judge_says_which_of_two_answers_is_right() {
    let endpoint = endpoint(&["Ida"]);
    let server = Running::judged(guarantee, judge(&endpoint));
    let before = endpoint.requests("chat/completions").len();
    let oil = ask(&server, OIL);
    wait_for("a verdict", || found(&server, 2) == (1, json!(1.0)));
    // One request for each answer, with the passages read and nothing about the caller.
    let asked = endpoint.requests("chat/completions");
    assert_eq!(asked.len() - before, 2);
    let last = asked.last().unwrap().body.to_string();
    assert!(
        last.contains("Ida changes it") && last.contains(OIL),
        "{last}"
    );
    ask(&server, FRANCE);
    wait_for("no loss", || found(&server, 2) == (2, json!(0.5)));
    assert_eq!(endpoint.requests("chat/completions").len() - before, 2);
    has_line(&server, "ken_judged_total{verdict=\"lost\"} 1");
    let trace = server.get(&format!("/v1/ken/traces/{oil}")).json();
    assert_eq!(trace["judge"], json!({"without": false, "with": true}));
    assert_eq!(events(&server, "judged")[0]["verdict"], "lost");
    // Feedback counts for itself.
    assert_eq!(found(&server, 1), (0, Value::Null));
}

#[test]
fn two_answers_that_are_both_right_lose_nothing() {
    let endpoint = endpoint(&["Ida", "Bob"]);
    let server = Running::judged(guarantee, judge(&endpoint));
    ask(&server, OIL);
    wait_for("a verdict", || found(&server, 2) == (1, json!(0.0)));
    // They differ all the same.
    assert_eq!(found(&server, 0), (1, json!(1.0)));
    has_line(&server, "ken_judged_total{verdict=\"kept\"} 1");
}

#[test]
fn losses_that_a_judge_sees_have_the_guarantee_lapse() {
    let endpoint = endpoint(&["Ida"]);
    let lenient = |model: &str, corpus: &str| {
        let mut guarantee = guarantee(model, corpus);
        // So that the test of agreement does not reject.
        if let Promise::Loss { measured, .. } = &mut guarantee.promise {
            measured.disagreement_bound = 1.0;
        }
        guarantee
    };
    let server = Running::judged(lenient, judge(&endpoint));
    for asked in 1..50 {
        ask(&server, OIL);
        wait_for("a verdict", || {
            found(&server, 0).0 >= asked || !events(&server, "lapsed").is_empty()
        });
        if !events(&server, "lapsed").is_empty() {
            break;
        }
    }
    assert_eq!(events(&server, "lapsed")[0]["test"], "judge");
}

#[test]
fn a_judge_that_fails_costs_its_verdict_alone() {
    let endpoint = endpoint(&[]);
    let server = Running::judged(guarantee, judge(&endpoint));
    ask(&server, OIL);
    wait_for("no verdict", || !events(&server, "judged").is_empty());
    has_line(&server, "ken_judged_total{verdict=\"failed\"} 1");
    assert_eq!(found(&server, 0).0, 1);
    let judged = events(&server, "judged");
    assert_eq!(judged[0]["verdict"], "failed");
    assert!(
        judged[0]["detail"]
            .as_str()
            .unwrap()
            .contains("does not judge")
    );
    assert_eq!(found(&server, 2), (0, Value::Null));
}
