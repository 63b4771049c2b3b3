//! A guarantee of few errors among the given answers, with the others withheld.

use ken_policy::Guarantee;
use ken_server::NotGuaranteed;
use ken_testing::{TableModel, guarantee_of_answers, has, says};
use serde_json::{Value, json};

use crate::fixture::{CHIMNEY, FRANCE, LIMITS, OIL, Running, facts, served_by, wait_for};
use crate::judge::{endpoint, judge};
use crate::watch::{events, found, has_line};

const POLICY: &str = "certainty@0.5";

/// Perplexities are never below 1, so every answer is withheld except those from memory, which the policy itself
/// vouches for.
const ABSTAIN: &str = "uncertainty:perplexity@0.5";

/// At most a tenth of the given answers is wrong. Of the fixture's questions, the model answers the one about oil
/// wrong, the one about France right, and the one about the chimney not at all.
fn guarantee(model: &str, corpus: &str) -> Guarantee {
    Guarantee {
        policy: POLICY.to_owned(),
        ..guarantee_of_answers(model, corpus, Some(ABSTAIN))
    }
}

fn watched() -> Running {
    Running::withholding(guarantee, Some(ABSTAIN), None)
}

fn ask(server: &Running, question: &str, options: &Value) -> Value {
    let body = json!({"question": question, "ken": options});
    server.post("/v1/ken/ask", &body).json()
}

fn says(server: &Running, answer: &Value, right: &str) -> Value {
    let body = json!({"request_id": answer["request_id"], "answers": [right]});
    server.post("/v1/ken/feedback", &body).json()["counts"].clone()
}

#[test]
fn of_answers_that_are_given_those_that_are_wrong_count_and_of_others_none() {
    let server = watched();
    let withheld = ask(&server, CHIMNEY, &json!({}));
    has!(withheld, ["answer"]: "I do not know.", ["withheld"]: "spring", ["drawn"]: Value::Null);
    has!(withheld, ["route"]: "corpus");
    let told = &withheld["guarantee"];
    has!(told, ["max_error"]: 0.1, ["abstain"]: ABSTAIN, ["standing"]: "holds");
    has!(told, ["max_loss"]: Value::Null);
    assert_eq!(says(&server, &withheld, "spring"), false);

    let wrong = ask(&server, OIL, &json!({}));
    has!(wrong, ["answer"]: "Bob", ["drawn"]: 1.0);
    assert_eq!(says(&server, &wrong, "Ida"), true);
    wait_for("an error", || found(&server, 0) == (1, json!(1.0)));
    let right = ask(&server, FRANCE, &json!({}));
    assert_eq!(says(&server, &right, "Paris"), true);
    wait_for("no error", || found(&server, 0) == (2, json!(0.5)));
    // A longer answer is given again in a few words, to be compared with the right ones.
    let long = ask(&server, FRANCE, &json!({"style": "full"}));
    assert_eq!(says(&server, &long, "Rome"), true);
    wait_for("an error", || found(&server, 0).0 == 3);

    let report = server.get("/v1/ken/guarantee").json();
    let tests = report["tests"].as_array().unwrap();
    let names: Vec<&Value> = tests.iter().map(|test| &test["test"]).collect();
    assert_eq!(names, ["correctness", "judge"]);
    has!(tests[0], ["limit"]: 0.1, ["rejects_at"]: 40.0);
    has_line(&server, "ken_watched_total{outcome=\"given\"} 3");
    has_line(&server, "ken_withheld_total{policy=\"certainty\"} 1");
    has_line(
        &server,
        "ken_answers_total{policy=\"certainty\",source=\"self\"} 3",
    );
    let logged = events(&server, "answer");
    let withheld: Vec<&Value> = logged.iter().map(|entry| &entry["withheld"]).collect();
    assert_eq!(
        withheld,
        [&json!(true), &Value::Null, &Value::Null, &Value::Null]
    );
}

#[test]
fn clients_of_other_apis_are_told_that_an_answer_is_withheld() {
    let server = watched();
    let chat = server.chat(POLICY, CHIMNEY, &json!({})).json();
    let message = &chat["choices"][0];
    has!(message, ["message"]["content"]: "I do not know.", ["finish_reason"]: "stop");
    assert_eq!(chat["ken"]["withheld"], "spring");
    let body = json!({"model": format!("ken/{POLICY}"), "input": CHIMNEY});
    let response = server.post("/v1/responses", &body).json();
    assert_eq!(response["ken"]["withheld"], "spring");
    let text = response["output"].to_string();
    assert!(text.contains("I do not know."), "{text}");
    let id = chat["ken"]["request_id"].as_str().unwrap();
    let trace = server.get(&format!("/v1/ken/traces/{id}")).json();
    has!(trace, ["withheld"]: "spring", ["watched"]: Value::Null);
}

#[test]
fn only_questions_withheld_as_the_settings_say_are_drawn() {
    let server = watched();
    let other = json!({"abstain": "uncertainty:perplexity@0.4"});
    assert_eq!(ask(&server, OIL, &other)["guarantee"], Value::Null);
    let same = json!({"abstain": ABSTAIN});
    assert_eq!(ask(&server, OIL, &same)["drawn"], 1.0);
}

#[test]
fn more_errors_than_guaranteed_have_everything_retrieved_and_vouched_for() {
    let server = watched();
    let mut asked = 0;
    while events(&server, "lapsed").is_empty() {
        asked += 1;
        assert!(asked < 50, "it is never noticed");
        let answer = ask(&server, OIL, &json!({}));
        says(&server, &answer, "Ida");
        wait_for("an error", || found(&server, 0).0 == asked);
    }
    let told = &events(&server, "lapsed")[0];
    has!(told, ["test"]: "correctness", ["limit"]: 0.1);
    let check = |server: &Running| {
        let answer = ask(server, OIL, &json!({}));
        // The answer from memory is now found, and withheld like any other that nothing vouches for.
        has!(answer, ["policy"]: "always", ["withheld"]: "Ida");
        has!(answer, ["guarantee"]["standing"]: "lapsed");
        let reason = answer["reason"].as_str().unwrap();
        assert!(reason.contains("in the place of certainty@0.5"), "{reason}");
    };
    check(&server);
    check(&server.again());
}

#[test]
fn a_judge_says_whether_the_answer_that_was_given_is_right() {
    let endpoint = endpoint(&["Paris"]);
    let server = Running::withholding(guarantee, Some(ABSTAIN), Some(judge(&endpoint)));
    let before = endpoint.requests("chat/completions").len();
    ask(&server, CHIMNEY, &json!({}));
    let oil = ask(&server, OIL, &json!({}));
    wait_for("a verdict", || found(&server, 1) == (1, json!(1.0)));
    let asked = endpoint.requests("chat/completions");
    assert_eq!(asked.len() - before, 1);
    let last = asked.last().unwrap().body.to_string();
    says!(last => "Ida changes it", "Bob");
    ask(&server, FRANCE, &json!({}));
    wait_for("a verdict", || found(&server, 1) == (2, json!(0.5)));
    has_line(&server, "ken_judged_total{verdict=\"wrong\"} 1");
    has_line(&server, "ken_judged_total{verdict=\"right\"} 1");
    let id = oil["request_id"].as_str().unwrap();
    let trace = server.get(&format!("/v1/ken/traces/{id}")).json();
    has!(trace, ["judge"]: json!({"right": false}), ["watched"]: "given");
}

#[test]
fn a_guarantee_of_answers_that_are_withheld_otherwise_is_not_served() {
    let folder = tempfile::tempdir().unwrap();
    let table = TableModel::new(facts()).unwrap();
    let model = ken_language::LanguageModel::fingerprint(&table).to_owned();
    let policy = POLICY.parse().unwrap();
    let served = served_by(policy, &folder, table, LIMITS, std::sync::Arc::default());
    let corpus = served.corpora()[0].retriever.back_end().fingerprint();
    let guarantee = guarantee(&model, &corpus);
    let error = served.with_guarantee(guarantee, (1.0, 5), None).err();
    let guaranteed = Some(ABSTAIN.to_owned());
    let abstain = None;
    assert_eq!(
        error,
        Some(NotGuaranteed::Abstention {
            guaranteed,
            abstain
        })
    );
}
