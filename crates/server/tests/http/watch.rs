//! A guarantee that is watched: on drawn questions, off the path of the callers.

use std::sync::Arc;

use ken_language::LanguageModel;
use ken_policy::{Guarantee, Ranks};
use ken_server::{Keys, NotGuaranteed, Scope};
use ken_testing::{TableModel, has, says};
use serde_json::{Value, json};

use crate::client::{exchange, request};
use crate::fixture::{FRANCE, LIMITS, OIL, Running, facts, grant, served_by, wait_for};

const POLICY: &str = "certainty@0.5";

/// A guarantee for the fixture's server. A question about oil certainly loses, and the one about France never does.
pub(crate) fn guarantee(model: &str, corpus: &str) -> Guarantee {
    Guarantee {
        policy: POLICY.to_owned(),
        ..ken_testing::guarantee(model, corpus)
    }
}

/// A server that watches the guarantee on all questions.
pub(crate) fn watched(keys: &Keys) -> Running {
    Running::guaranteed(keys, guarantee)
}

fn ask(server: &Running, question: &str) -> Value {
    server
        .post("/v1/ken/ask", &json!({"question": question}))
        .json()
}

/// The findings so far: how many questions, and their mean loss.
pub(crate) fn found(server: &Running, test: usize) -> (u64, Value) {
    let report = server.get("/v1/ken/guarantee").json();
    let test = &report["tests"][test];
    (test["observed"].as_u64().unwrap(), test["mean"].clone())
}

pub(crate) fn events(server: &Running, name: &str) -> Vec<Value> {
    let log = server.log.lock().unwrap();
    let named = log.iter().filter(|entry| entry["event"] == name);
    named.cloned().collect()
}

/// Waits for a line of the metrics: some things are counted after they are visible elsewhere.
pub(crate) fn has_line(server: &Running, line: &str) {
    wait_for(line, || {
        let metrics = server.get("/metrics").text();
        metrics.lines().any(|one| one == line)
    });
}

#[test]
fn a_drawn_question_is_answered_with_retrieval_as_well() {
    let server = watched(&Keys::default());
    let answer = ask(&server, OIL);
    // The caller sees nothing of it, except that it was drawn.
    has!(answer, ["answer"]: "Bob", ["route"]: "self", ["searches"]: 0, ["drawn"]: 1.0);
    has!(answer, ["guarantee"]["standing"]: "holds");
    assert_eq!(answer["guarantee"]["max_loss"], 0.05);
    assert_eq!(answer["guarantee"]["questions"], 300);
    wait_for("both answers", || found(&server, 0).0 == 1);
    assert_eq!(found(&server, 0).1, 1.0);
    ask(&server, FRANCE);
    wait_for("both answers", || found(&server, 0).0 == 2);
    assert_eq!(found(&server, 0).1, 0.5);
    // Neither is an answer, nor costs the caller anything.
    has_line(
        &server,
        "ken_answers_total{policy=\"certainty\",source=\"self\"} 2",
    );
    has_line(&server, "ken_watched_total{outcome=\"differs\"} 1");
    has_line(&server, "ken_watched_total{outcome=\"agrees\"} 1");
    has_line(
        &server,
        "ken_guarantee{policy=\"certainty@0.5\",standing=\"holds\"} 1",
    );
    let logged = events(&server, "watched");
    has!(logged, [0]["request_id"]: answer["request_id"], [0]["propensity"]: 1.0, [0]["number"]: 1);
    has!(logged, [0]["outcome"]: "differs");
    assert!(!serde_json::to_string(&logged).unwrap().contains("oil"));
    let body = json!({"question": FRANCE, "policy": POLICY});
    let knows = server.post("/v1/ken/knows", &body).json();
    assert_eq!(knows["guarantee"]["standing"], "holds");
    let body = json!({"question": FRANCE, "policy": "certainty@0.4"});
    has!(server.post("/v1/ken/knows", &body).json(), ["guarantee"]: Value::Null);
}

#[test]
fn only_questions_that_the_guarantee_is_for_are_drawn() {
    let server = watched(&Keys::default());
    for options in [
        json!({"policy": "certainty@0.4"}),
        json!({"corpus": "boats"}),
        json!({"k": 1}),
        json!({"mode": "lexical"}),
    ] {
        let body = json!({"question": OIL, "ken": options});
        let answer = server.post("/v1/ken/ask", &body).json();
        assert_eq!(answer["answer"], "Bob", "{answer}");
        assert_eq!(answer["guarantee"], Value::Null, "{options}");
        assert_eq!(answer["drawn"], Value::Null, "{options}");
    }
    let body = json!({"question": OIL, "ken": {"policy": POLICY, "corpus": "notes"}});
    assert_eq!(server.post("/v1/ken/ask", &body).json()["drawn"], 1.0);
    assert_eq!(ask(&server, "Hi!")["drawn"], Value::Null);
}

#[test]
fn more_losses_than_guaranteed_have_everything_retrieved_also_after_a_restart() {
    let server = watched(&Keys::default());
    let mut asked = 0;
    while events(&server, "lapsed").is_empty() {
        asked += 1;
        assert!(asked < 50, "it is never noticed");
        ask(&server, OIL);
        let enough = || found(&server, 0).0 >= asked || !events(&server, "lapsed").is_empty();
        wait_for("both answers", enough);
    }
    let told = &events(&server, "lapsed")[0];
    has!(told, ["policy"]: POLICY, ["test"]: "agreement");
    says!(told["advice"].as_str().unwrap() => "calibrate certainty@0.5");
    let check = |server: &Running| {
        let answer = ask(server, OIL);
        has!(answer, ["answer"]: "Ida", ["policy"]: "always", ["guarantee"]["standing"]: "lapsed");
        let reason = answer["reason"].as_str().unwrap();
        assert!(reason.contains("in the place of certainty@0.5"), "{reason}");
        assert_eq!(server.get("/v1/ken/guarantee").json()["standing"], "lapsed");
        has_line(
            server,
            "ken_guarantee{policy=\"certainty@0.5\",standing=\"lapsed\"} 1",
        );
        has_line(
            server,
            "ken_guarantee{policy=\"certainty@0.5\",standing=\"holds\"} 0",
        );
    };
    check(&server);
    assert_eq!(events(&server, "lapsed").len(), 1);
    // A caller that names a policy gets it.
    let body = json!({"question": OIL, "ken": {"policy": POLICY}});
    let named = server.post("/v1/ken/ask", &body).json();
    has!(named, ["answer"]: "Bob", ["guarantee"]["standing"]: "lapsed");
    check(&server.again());
}

#[test]
fn right_answers_count_once_and_from_whoever_asked() {
    let mut keys = Keys::default();
    let mut key = |scopes: &[Scope]| format!("Bearer {}", keys.make(grant(scopes, None), 0));
    let (mine, other) = (key(&[Scope::Ask]), key(&[Scope::Ask]));
    let admin = key(&[Scope::Ask, Scope::Admin]);
    let server = watched(&keys);
    let post =
        |key: &str, path: &str, body: &Value| server.post_as(&[("authorization", key)], path, body);
    let ask = |question: &str| {
        let answer = post(&mine, "/v1/ken/ask", &json!({"question": question})).json();
        answer["request_id"].as_str().unwrap().to_owned()
    };
    let says = |key: &str, request_id: &str, answers: Value| {
        let body = json!({"request_id": request_id, "answers": answers});
        post(key, "/v1/ken/feedback", &body)
    };
    let report = || {
        let headers = [("authorization", admin.as_str())];
        let get = request("GET", "/v1/ken/guarantee", &headers, "");
        exchange(server.address, &get).json()["tests"][1].clone()
    };
    let (oil, france) = (ask(OIL), ask(FRANCE));
    assert_eq!(says(&other, &oil, json!(["Ida"])).code(), "unknown_trace");
    assert_eq!(says(&mine, &oil, json!(["Ida"])).json()["counts"], true);
    assert_eq!(says(&mine, &oil, json!(["Ida"])).json()["counts"], false);
    wait_for("a loss", || report()["observed"] == 1);
    assert_eq!(report()["mean"], 1.0);
    has!(says(&admin, &france, json!(["Paris"])).json(), ["counts"]: true);
    wait_for("no loss", || report()["observed"] == 2);
    assert_eq!(report()["mean"], 0.5);
    let unknown = says(&mine, "req_none", json!(["Ida"]));
    unknown.refuses(404, "unknown_trace");
    for bad in [
        json!([]),
        json!([" "]),
        json!(["x".repeat(1001)]),
        json!(vec!["x"; 21]),
    ] {
        assert_eq!(says(&mine, &oil, bad).code(), "invalid_value");
    }
    let body = json!({"request_id": oil});
    assert_eq!(post(&mine, "/v1/ken/feedback", &body).status, 400);
    let without = Running::start();
    assert_eq!(without.get("/v1/ken/guarantee").code(), "no_guarantee");
    let request_id = self::ask(&without, OIL)["request_id"].clone();
    let body = json!({"request_id": request_id, "answers": ["Ida"]});
    let said = without.post("/v1/ken/feedback", &body).json();
    assert_eq!(said["counts"], false);
}

/// A server whose guarantee has the scores of its calibration: uniform ones, of which the fixture's questions have
/// the lowest.
pub(crate) fn scored(keys: &Keys) -> Running {
    Running::guaranteed(keys, |model, corpus| Guarantee {
        scores: Ranks::of((0..300).map(|score| f64::from(score) / 300.0), 1),
        ..guarantee(model, corpus)
    })
}

#[test]
fn questions_that_differ_from_those_of_calibration_are_told_of_and_nothing_else() {
    let server = scored(&Keys::default());
    let drift = |server: &Running| server.get("/v1/ken/guarantee").json()["drift"].clone();
    assert_eq!(drift(&server)["observed"], 0);
    for _ in 0..60 {
        ask(&server, FRANCE);
    }
    // Other policies, and greetings, do not count.
    server.chat("never", FRANCE, &json!({}));
    ask(&server, "Hi!");
    wait_for("all scores", || drift(&server)["observed"] == 60);
    let found = drift(&server);
    assert_eq!(found["drifted"], true, "{found}");
    let after = found["after"].as_u64().unwrap();
    assert!((5..50).contains(&after), "{after}");
    assert_eq!(found["shares"][0][1], 1.0);
    let told = events(&server, "drifted");
    assert_eq!((told.len(), &told[0]["questions"]), (1, &json!(after)));
    assert_eq!(told[0]["policy"], POLICY);
    has_line(&server, "ken_guarantee_drift{policy=\"certainty@0.5\"} 1");
    // Drift alone loses nothing.
    assert_eq!(server.get("/v1/ken/guarantee").json()["standing"], "holds");
    let answer = ask(&server, OIL);
    assert_eq!(answer["policy"], POLICY);
    let again = server.again();
    assert_eq!(drift(&again)["after"], after);
    let without = watched(&Keys::default());
    assert_eq!(drift(&without), Value::Null);
}

#[test]
fn a_guarantee_of_something_else_is_not_served() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |model: Option<&str>, corpus: Option<&str>| {
        let table = TableModel::new(facts()).unwrap();
        let own = table.fingerprint().to_owned();
        let policy = POLICY.parse().unwrap();
        let served = served_by(policy, &folder, table, LIMITS, Arc::default());
        let first = served.corpora()[0].retriever.back_end().fingerprint();
        let corpus = corpus.map_or(first, str::to_owned);
        let guarantee = guarantee(model.unwrap_or(&own), &corpus);
        served.with_guarantee(guarantee, (1.0, 5), None).err()
    };
    assert_eq!(refusal(None, None), None);
    assert_eq!(refusal(Some("x"), None), Some(NotGuaranteed::OtherModel));
    assert_eq!(refusal(None, Some("x")), Some(NotGuaranteed::OtherCorpus));
}

#[test]
fn what_cannot_be_kept_is_told_of_and_watched_in_memory() {
    let server = watched(&Keys::default());
    // A folder in the file's place: nothing replaces it.
    let file = server.folder.path().join("watch.json");
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir_all(file.join("in the way")).unwrap();
    ask(&server, OIL);
    wait_for("both answers", || found(&server, 0).0 == 1);
    has_line(&server, "ken_unwritten_total{what=\"watch\"} 1");
    wait_for("the event", || !events(&server, "unwritten").is_empty());
    let told = events(&server, "unwritten");
    assert_eq!((told.len(), &told[0]["what"]), (1, &json!("watch")));
    assert!(told[0]["detail"].as_str().unwrap().contains("watch.json"));
    std::fs::remove_dir_all(&file).unwrap();
    ask(&server, OIL);
    wait_for("both answers", || found(&server, 0).0 == 2);
    assert_eq!(events(&server, "unwritten").len(), 1);
    assert_eq!(found(&server.again(), 0).0, 2);
}
