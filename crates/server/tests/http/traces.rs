//! How the last questions were answered, the feedback on the answers, and the questions to evaluate on that come from
//! these.

use ken_server::{Keys, Scope};
use ken_testing::{cases, extended, has, says};
use serde_json::{Value, json};

use crate::client::{Response, exchange, request};
use crate::fixture::{FRANCE, OIL, Running, grant};

const QUESTIONS: &str = "/v1/ken/evals/questions";

fn ask(server: &Running, question: &str, policy: &str) -> String {
    let body = json!({"question": question, "ken": {"policy": policy}});
    let answer = server.post("/v1/ken/ask", &body).json();
    answer["request_id"].as_str().unwrap().to_owned()
}

/// The ids on a page of traces.
fn listed(server: &Running, query: &str) -> Vec<String> {
    let page = server.get(&format!("/v1/ken/traces{query}")).json();
    let all = page["data"].as_array().unwrap_or_else(|| panic!("{page}"));
    all.iter()
        .map(|trace| trace["id"].as_str().unwrap().to_owned())
        .collect()
}

fn lines(response: &Response) -> Vec<Value> {
    assert_eq!(
        (response.status, response.header("content-type")),
        (200, Some("application/jsonl"))
    );
    let text = response.text();
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

fn says(server: &Running, id: &str, more: &Value) -> Response {
    let body = extended(json!({"request_id": id}), more);
    server.post("/v1/ken/feedback", &body)
}

#[test]
fn an_answer_is_known_by_its_own_id() {
    let server = Running::start();
    let chat = server.chat("always", OIL, &json!({})).json();
    let body = json!({"model": "ken/always", "input": OIL});
    let response = server.post("/v1/responses", &body).json();
    for answer in [chat, response] {
        let id = answer["id"].as_str().unwrap();
        let request = &answer["ken"]["request_id"];
        let said = says(&server, id, &json!({"rating": "bad"})).json();
        assert_eq!(said["request_id"], *request, "{said}");
        let trace = server.get(&format!("/v1/ken/traces/{id}")).json();
        has!(trace, ["id"]: request, ["feedback"]["rating"]: "bad");
    }
    let unknown = says(&server, "chatcmpl-0", &json!({"rating": "bad"}));
    unknown.refuses_param(404, "unknown_trace", "request_id");
}

#[test]
fn traces_are_listed_newest_first_and_by_what_is_wanted() {
    let server = Running::keeping(&Keys::default());
    let oil = ask(&server, OIL, "always");
    let sure = ask(&server, FRANCE, "certainty@0.4");
    let unsure = ask(&server, OIL, "certainty@0.9");
    let greeting = ask(&server, "Hi!", "always");
    let [oil, sure, unsure, greeting] = [&oil, &sure, &unsure, &greeting].map(String::as_str);
    let all = [greeting, unsure, sure, oil];
    assert_eq!(listed(&server, ""), all);
    assert_eq!(listed(&server, "?limit=2"), all[..2]);
    assert_eq!(
        listed(&server, &format!("?limit=2&after={unsure}")),
        all[2..]
    );
    for (query, wanted) in [
        ("?policy=certainty", vec![unsure, sure]),
        ("?policy=certainty%400.9", vec![unsure]),
        ("?policy=certainty&order=asc", vec![sure, unsure]),
        ("?route=corpus", vec![oil]),
        ("?corpus=notes", all.to_vec()),
        ("?corpus=boats", vec![]),
        ("?slower_than_ms=0", all.to_vec()),
        ("?slower_than_ms=60000", vec![]),
        ("?rating=bad", vec![]),
    ] {
        assert_eq!(listed(&server, query), wanted, "{query}");
    }
    assert_eq!(says(&server, sure, &json!({"rating": "good"})).status, 200);
    assert_eq!(says(&server, oil, &json!({"rating": "bad"})).status, 200);
    assert_eq!(listed(&server, "?rating=bad"), [oil]);
    assert_eq!(listed(&server, "?rating=good&route=self"), [sure]);
    for (query, code, param) in [
        ("?slow=1", "unknown_parameter", "slow"),
        ("?rating=ugly", "invalid_value", "rating"),
        ("?slower_than_ms=-1", "invalid_value", "slower_than_ms"),
        ("?slower_than_ms=NaN", "invalid_value", "slower_than_ms"),
        ("?limit=0", "invalid_value", "limit"),
        ("?%ff", "unknown_parameter", "\u{fffd}"),
    ] {
        let refused = server.get(&format!("/v1/ken/traces{query}"));
        refused.refuses_param(400, code, param);
    }
    let metrics = server.get("/metrics").text();
    assert!(metrics.contains("ken_feedback_total{rating=\"bad\"} 1"));
}

#[test]
fn a_trace_says_how_the_answer_came_about_and_has_its_texts_where_they_are_kept() {
    let server = Running::keeping(&Keys::default());
    let answer = server.post("/v1/ken/ask", &json!({"question": OIL})).json();
    let id = answer["request_id"].as_str().unwrap();
    let path = format!("/v1/ken/traces/{id}");
    let trace = server.get(&path).json();
    let names =
        "request_id question policy route reason corpus answer truncated timing_ms searches";
    for name in names.split(' ') {
        assert_eq!(trace[name], answer[name], "{name}");
    }
    has!(trace, ["id"]: id, ["object"]: "trace");
    assert!(trace["ms"].as_f64().unwrap() > 0.0 && trace["prompt_tokens"].as_u64().unwrap() > 0);
    // The texts of passages are in the corpus, and gone when they are deleted there.
    let found = &trace["retrieved"][0];
    assert_eq!(found["passage_id"], answer["retrieved"][0]["passage_id"]);
    has!(found, ["text"]: "");
    has!(trace, ["feedback"]: Value::Null);
    // What a client did not ask to see is there, too.
    let body = json!({"question": OIL, "ken": {"trace": false}});
    let brief = server.post("/v1/ken/ask", &body).json();
    assert_eq!(brief["retrieved"], Value::Null);
    let brief = brief["request_id"].as_str().unwrap();
    let full = server.get(&format!("/v1/ken/traces/{brief}")).json();
    assert_eq!(full["retrieved"], trace["retrieved"]);
    let server = server.again();
    assert_eq!(server.get(&path).json(), trace);
    let unknown = server.get("/v1/ken/traces/req_0");
    unknown.refuses(404, "unknown_trace");
}

#[test]
fn without_being_told_to_a_server_keeps_no_texts() {
    let server = Running::start();
    let oil = ask(&server, OIL, "always");
    let said = says(&server, &oil, &json!({"rating": "bad", "answers": ["Ida"]}));
    assert_eq!(said.json()["eval_question"], false);
    let trace = server.get(&format!("/v1/ken/traces/{oil}")).json();
    has!(trace, ["question"]: "", ["answer"]: Value::Null, ["route"]: "corpus");
    has!(trace, ["feedback"]["rating"]: "bad");
    let of_trace = server.post(QUESTIONS, &json!({"trace": oil, "golden_answers": ["Ida"]}));
    of_trace.refuses(403, "not_kept");
    assert_eq!(server.get("/v1/ken/traces/questions").code(), "not_kept");
    assert!(lines(&server.get(QUESTIONS)).is_empty());
    let folder = server.folder.path().join("data");
    let mut read = 0;
    for name in std::fs::read_dir(folder.join("traces")).unwrap() {
        let text = std::fs::read_to_string(name.unwrap().path()).unwrap();
        read += text.lines().count();
        for secret in ["oil", "Ida", "May", "Notes"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
    assert_eq!(read, 2);
}

#[test]
fn right_answers_make_questions_to_evaluate_on() {
    let server = Running::keeping(&Keys::default());
    let (oil, france) = (ask(&server, OIL, "never"), ask(&server, FRANCE, "always"));
    // A bad answer without a right one makes no question yet.
    let said = says(&server, &oil, &json!({"rating": "bad"})).json();
    assert_eq!(
        said,
        json!({"request_id": oil, "counts": false, "eval_question": false})
    );
    let none = server.post(QUESTIONS, &json!({"trace": oil}));
    none.refuses(400, "invalid_value");
    // By feedback, and by someone who watches the server.
    let said = says(&server, &oil, &json!({"answers": ["Ida", "ida"]})).json();
    assert_eq!(said["eval_question"], true);
    let made = server.post(
        QUESTIONS,
        &json!({"trace": france, "golden_answers": ["Paris"]}),
    );
    assert_eq!(made.status, 201);
    let own = server.post(
        QUESTIONS,
        &json!({"question": "Who rows?", "golden_answers": ["Zoe"]}),
    );
    let own = own.json()["id"].as_str().unwrap().to_owned();
    let all = lines(&server.get(QUESTIONS));
    assert_eq!(
        all[0],
        json!({
            "id": oil, "question": OIL, "golden_answers": ["Ida", "ida"],
            "metadata": {"policy": "never", "route": "self", "answer": "Bob", "rating": "bad"},
        })
    );
    assert_eq!(all[1], made.json());
    has!(all[2], ["id"]: own, ["metadata"]: json!({}));
    // Later feedback replaces it.
    let body = json!({"trace": oil, "golden_answers": ["Ida"]});
    assert_eq!(server.post(QUESTIONS, &body).status, 201);
    has!(lines(&server.get(QUESTIONS)), [0]["golden_answers"]: json!(["Ida"]));
    let gone = server.delete(&format!("{QUESTIONS}/{own}"));
    assert_eq!(gone.json()["deleted"], true);
    assert_eq!(
        server.delete(&format!("{QUESTIONS}/{own}")).code(),
        "unknown_question"
    );
    let server = server.again();
    assert_eq!(lines(&server.get(QUESTIONS)).len(), 2);
    // All questions, for probing: greetings are not questions.
    ask(&server, "Hi!", "never");
    let asked = lines(&server.get("/v1/ken/traces/questions"));
    let questions: Vec<&Value> = asked.iter().map(|line| &line["question"]).collect();
    assert_eq!(questions, [OIL, FRANCE]);
    has!(asked, [0]["golden_answers"]: json!(["Ida", "ida"]), [1]["golden_answers"]: json!([]));
    let wanted = lines(&server.get("/v1/ken/traces/questions?route=self"));
    assert_eq!(wanted.len(), 1);
    for (body, status, code) in cases![
        json!({"trace": "req_0", "golden_answers": ["x"]}) => 404, "unknown_trace";
        json!({"golden_answers": ["x"]}) => 400, "invalid_value";
        json!({"trace": oil, "question": "x", "golden_answers": ["x"]}) => 400, "invalid_value";
        json!({"question": " ", "golden_answers": ["x"]}) => 400, "invalid_value";
        json!({"question": "x".repeat(65537), "golden_answers": ["x"]}) => 400, "invalid_value";
        json!({"question": "x", "golden_answers": []}) => 400, "invalid_value";
        json!({"question": "x", "golden_answers": [" "]}) => 400, "invalid_value";
    ] {
        let refused = server.post(QUESTIONS, &body);
        refused.refuses_for(&body, status, code);
    }
}

#[test]
fn a_key_sees_what_came_by_it_and_one_that_watches_sees_all() {
    let mut keys = Keys::default();
    let mut key = |scopes: &[Scope], corpora: Option<&[&str]>| {
        format!("Bearer {}", keys.make(grant(scopes, corpora), 0))
    };
    let (mine, other) = (key(&[Scope::Ask], None), key(&[Scope::Ask], None));
    let (all, boats) = (
        key(&[Scope::Admin], None),
        key(&[Scope::Admin], Some(&["boats"])),
    );
    let searches = key(&[Scope::Search], None);
    let server = Running::keeping(&keys);
    let body = json!({"question": OIL});
    let asked = server
        .post_as(&[("authorization", &mine)], "/v1/ken/ask", &body)
        .json();
    let id = asked["request_id"].as_str().unwrap();
    let get = |key: &str, path: &str| {
        exchange(
            server.address,
            &request("GET", path, &[("authorization", key)], ""),
        )
    };
    let path = format!("/v1/ken/traces/{id}");
    for (key, sees) in [
        (&mine, true),
        (&other, false),
        (&all, true),
        (&boats, false),
    ] {
        let count = get(key, "/v1/ken/traces").json()["data"]
            .as_array()
            .unwrap()
            .len();
        assert_eq!(count, usize::from(sees));
        assert_eq!(get(key, &path).status, if sees { 200 } else { 404 });
        let asked = lines(&get(key, "/v1/ken/traces/questions"));
        assert_eq!(asked.len(), usize::from(sees));
    }
    assert_eq!(
        get(&searches, "/v1/ken/traces").code(),
        "insufficient_scope"
    );
    for key in [&mine, &searches] {
        assert_eq!(get(key, QUESTIONS).code(), "insufficient_scope");
        let body = json!({"trace": id, "golden_answers": ["Ida"]});
        let made = server.post_as(&[("authorization", key)], QUESTIONS, &body);
        assert_eq!(made.code(), "insufficient_scope");
    }
    let body = json!({"trace": id, "golden_answers": ["Ida"]});
    let made = |key: &str| server.post_as(&[("authorization", key)], QUESTIONS, &body);
    assert_eq!((made(&all).status, made(&boats).status), (201, 404));
}

#[test]
fn a_disk_that_takes_nothing_costs_no_answer() {
    let server = Running::keeping(&Keys::default());
    ask(&server, OIL, "always");
    let evals = server.folder.path().join("data/evals");
    std::fs::remove_dir_all(&evals).unwrap();
    std::fs::write(&evals, "in the way").unwrap();
    let france = ask(&server, FRANCE, "always");
    let said = says(&server, &france, &json!({"answers": ["Paris"]}));
    assert_eq!(
        (said.status, &said.json()["eval_question"]),
        (200, &json!(false))
    );
    let body = json!({"question": "x", "golden_answers": ["x"]});
    assert_eq!(server.post(QUESTIONS, &body).status, 500);
    let metrics = server.get("/metrics").text();
    says!(metrics => "ken_unwritten_total{what=\"evals\"} 1");
    assert_eq!(listed(&server, "").len(), 2);
}
