//! The server measures policies on questions: it compares, chooses and refuses them, while other callers go first.

use std::sync::atomic::Ordering;

use ken_server::{Keys, Scope};
use ken_testing::{cases, has};
use serde_json::{Value, json};

use crate::client::Response;
use crate::fixture::{CHIMNEY, FRANCE, OIL, REWRITTEN, Running, SETTINGS, grant, wait_for};

const JOBS: &str = "/v1/ken/evals/jobs";

/// A question that the model knows, and three that only the corpus answers right, repeated for this many lines.
pub(crate) fn questions(count: usize) -> String {
    let known = [
        (FRANCE, "Paris"),
        (OIL, "Ida"),
        (CHIMNEY, "spring"),
        (REWRITTEN, "May"),
    ];
    let lines = known.iter().cycle().take(count).enumerate();
    let lines = lines.map(|(id, (question, answer))| {
        json!({"id": id.to_string(), "question": question, "golden_answers": [answer]}).to_string()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn compare(questions: &str) -> Value {
    json!({"kind": "compare", "policies": ["never", "always"], "questions": questions, "name": "notes"})
}

/// Waits for a job that has begun to end.
fn ended(server: &Running, begun: &Response) -> Value {
    assert_eq!(begun.status, 202, "{}", begun.text());
    let path = format!("/v1/ken/jobs/{}", begun.json()["id"].as_str().unwrap());
    let job = || server.get(&path).json();
    wait_for("it is over", || !job()["ended_at"].is_null());
    job()
}

/// The report of a job that is done.
fn report(server: &Running, job: &Value) -> Value {
    assert_eq!(job["status"], "done", "{job}");
    let study = job["study"].as_str().unwrap();
    server
        .get(&format!("/v1/ken/studies/{study}/page.json"))
        .json()
}

/// The table with a name in a report.
fn table<'r>(report: &'r Value, name: &str) -> &'r Value {
    let sections = report["sections"].as_array().unwrap();
    let tables = sections.iter().map(|section| &section["table"]);
    let mut tables = tables.filter(|table| table["name"] == name);
    tables.next().unwrap_or_else(|| panic!("{report}"))
}

#[test]
fn policies_are_compared_by_what_is_served() {
    let server = Running::showing_studies(&Keys::default());
    let job = ended(&server, &server.post(JOBS, &compare(&questions(4))));
    let progress = &job["progress"];
    // Without evidence, with it, and for signals.
    has!(progress, ["questions_done"]: 12, ["questions_total"]: 12);
    has!(job, ["kind"]: "compare", ["corpus"]: "notes", ["generation"]: 1, ["chosen"]: Value::Null);
    let report = report(&server, &job);
    assert_eq!(report["title"], "Policies on notes");
    let rows = table(&report, "Policies")["rows"].as_array().unwrap();
    let right = |row: &Value| (row[0].clone(), row[1]["value"].clone());
    // Of the four, the model knows one, and the corpus answers all.
    assert_eq!(right(&rows[0]), (json!("never"), json!(0.25)));
    assert_eq!(right(&rows[1]), (json!("always"), json!(1.0)));
    let listed = server.get("/v1/ken/studies").json();
    has!(listed["studies"][0], ["name"]: job["study"], ["kind"]: "comparison");
    // The questions sent with it are deleted.
    let sent = server.folder.path().join("data/measurements");
    assert_eq!(std::fs::read_dir(sent).unwrap().count(), 0);
}

#[test]
fn a_policy_is_chosen_and_used_by_its_name() {
    let server = Running::showing_studies(&Keys::default());
    let asked = json!({"kind": "tune", "questions": questions(40)});
    let job = ended(&server, &server.post(JOBS, &asked));
    let report = report(&server, &job);
    let chosen = job["chosen"].as_str().unwrap();
    let terms = &report["sections"][0]["terms"];
    assert_eq!(terms[0], json!(["chosen", chosen]));
    assert_eq!(
        terms[1],
        json!(["the better of never and always", "always"])
    );
    let answer = server.chat(chosen, OIL, &json!({}));
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "Ida");
    // What `ken tune --write` would write is beside the report.
    let listed = server.get("/v1/ken/studies").json();
    assert_eq!(listed["studies"][0]["chosen"], chosen);
    let study = job["study"].as_str().unwrap();
    let file = |name: &str| server.get(&format!("/v1/ken/studies/{study}/{name}"));
    let lines = file("chosen.toml").text();
    let policy = format!("policy = \"{chosen}\"");
    for line in [policy.as_str(), "tuned = \"tuned.toml\""] {
        assert!(lines.lines().any(|own| own == line), "{lines}");
    }
    let tuned = file("tuned.toml");
    assert_eq!(tuned.header("content-type"), Some("application/toml"));
    for part in [policy.as_str(), "[measured_with]", "k = "] {
        assert!(tuned.text().contains(part), "{}", tuned.text());
    }
    let has_guarantee = file("tuned.guarantee.json").status == 200;
    assert_eq!(lines.contains("calibration"), has_guarantee, "{lines}");
}

#[test]
fn a_policy_that_cannot_be_put_to_use_changes_nothing() {
    let server = Running::showing_studies(&Keys::default());
    let study_of = |asked: &Value| {
        let job = ended(&server, &server.post(JOBS, asked));
        job["study"].as_str().unwrap().to_owned()
    };
    let compared = study_of(&compare(&questions(4)));
    let tuned = study_of(&json!({"kind": "tune", "questions": questions(40)}));
    let outside = format!("../studies/{tuned}");
    for (study, status, code) in [
        (compared.as_str(), 400, "nothing_chosen"),
        (outside.as_str(), 404, "unknown_study"),
        ("none", 404, "unknown_study"),
        // The corpora of this server are in no settings.
        (tuned.as_str(), 409, "corpus_not_named"),
    ] {
        let refused = server.post("/v1/ken/policy", &json!({"study": study}));
        refused.refuses(status, code);
    }
    let settings = std::fs::read_to_string(server.folder.path().join("ken.toml")).unwrap();
    assert_eq!(settings, SETTINGS);
    assert!(!server.folder.path().join("tuned.toml").exists());
    let log = server.log.lock().unwrap();
    let reloads = log.iter().filter(|entry| entry["event"] == "reload");
    assert_eq!(reloads.count(), 1);
}

#[test]
fn collected_questions_are_measured_on() {
    let server = Running::showing_studies(&Keys::default());
    let asked = json!({"kind": "compare", "policies": ["never", "always"], "corpus": "notes"});
    let refused = server.post(JOBS, &asked);
    refused.refuses(400, "no_questions");
    let collected = json!({"question": OIL, "golden_answers": ["Ida"]});
    assert_eq!(
        server.post("/v1/ken/evals/questions", &collected).status,
        201
    );
    let job = ended(&server, &server.post(JOBS, &asked));
    assert_eq!(report(&server, &job)["title"], "Policies on collected");
    assert_eq!(job["progress"]["questions_total"], 3);
}

#[test]
fn what_cannot_be_measured_is_refused_at_once() {
    let server = Running::showing_studies(&Keys::default());
    let without = |field: &str, value: Value| {
        let mut asked = compare(&questions(4));
        asked[field] = value;
        asked
    };
    let unlabeled = json!({"id": "1", "question": OIL, "golden_answers": []}).to_string();
    let refused = cases![
        without("questions", json!(unlabeled)) =>
            400, "no_golden_answers", "no question of questions.jsonl has a golden answer";
        without("questions", json!("{\"id\": 7}")) =>
            400, "not_a_question", "questions.jsonl, line 1";
        without("questions", json!("")) => 400, "no_questions", "collect them";
        without("corpus", json!("none")) => 404, "unknown_corpus", "\"none\"";
        without("policies", json!(["never", "hunch"])) => 400, "unknown_policy", "hunch";
        without("policies", json!(["router"])) => 400, "policy_unavailable", "router";
        without("policies", json!([])) => 400, "invalid_value", "1 to 16";
        without("policies", json!(vec!["never"; 17])) => 400, "invalid_value", "1 to 16";
        without("name", json!("../notes")) => 400, "invalid_value", "letters";
        without("kind", json!("guess")) => 400, "invalid_value", "guess";
        json!({"kind": "tune", "policies": ["never"], "questions": questions(40)}) =>
            400, "invalid_value", "leave them out";
        json!({"kind": "tune", "questions": questions(12)}) =>
            400, "too_few_questions", "give 30 or more; about 200";
        without("questions", json!("x".repeat(5 << 20))) => 413, "body_too_large", "4194304";
    ];
    for (asked, status, code, words) in refused {
        let response = server.post(JOBS, &asked);
        let message = response.json()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        response.refuses_for(&message, status, code);
        assert!(message.contains(words), "{message}");
        assert!(!message.contains("data/"), "{message}");
    }
    assert_eq!(server.get("/v1/ken/jobs").json()["data"], json!([]));
    for (server, code, setting) in [
        (Running::read_only(), "read_only", "server_data"),
        (Running::start(), "no_studies", "studies"),
    ] {
        let response = server.post(JOBS, &compare(&questions(4)));
        assert_eq!(response.code(), code);
        assert!(response.text().contains(setting));
    }
}

#[test]
fn one_runs_at_a_time_behind_whoever_asks_and_can_be_cancelled() {
    let (server, reading) = Running::slow_with_studies();
    let begun = server.post(JOBS, &compare(&questions(8))).json();
    let path = format!("/v1/ken/jobs/{}", begun["id"].as_str().unwrap());
    wait_for("a question is measured", || {
        reading.now.load(Ordering::SeqCst) == 1
    });
    let second = server.post(JOBS, &compare(&questions(4)));
    second.refuses(409, "job_running");
    // It takes one place of several, so that people are still answered.
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| server.chat("always", OIL, &json!({})));
        wait_for("a person asks", || reading.now.load(Ordering::SeqCst) == 2);
        // Changes of corpora do not wait for it, either.
        let changed = server.post(
            "/v1/ken/corpora/notes/prune",
            &json!({"documents": ["house.md"]}),
        );
        assert_eq!(changed.json()["status"], "done");
        assert_eq!(server.get(&path).json()["status"], "running");
        server.post(&format!("{path}/cancel"), &json!({}));
        wait_for("it is over", || {
            server.get(&path).json()["status"] == "cancelled"
        });
        reading.released.store(true, Ordering::SeqCst);
        assert_eq!(asked.join().unwrap().status, 200);
    });
    assert_eq!(server.get("/v1/ken/studies").json()["studies"], json!([]));
    let again = ended(&server, &server.post(JOBS, &compare(&questions(4))));
    assert_eq!(again["status"], "done", "{again}");
}

#[test]
fn a_server_that_ends_goes_on_where_it_was() {
    let (server, reading) = Running::slow_with_studies();
    let begun = server.post(JOBS, &compare(&questions(8))).json();
    wait_for("a question is measured", || {
        reading.now.load(Ordering::SeqCst) == 1
    });
    // The next server answers from a table.
    let server = server.again();
    let path = format!("/v1/ken/jobs/{}", begun["id"].as_str().unwrap());
    wait_for("it is done", || {
        server.get(&path).json()["status"] == "done"
    });
    let job = server.get(&path).json();
    has!(job, ["study"]: begun["study"], ["progress"]["questions_done"]: 24);
    report(&server, &job);
}

#[test]
fn jobs_are_seen_by_those_that_may_have_them_done() {
    let mut keys = Keys::default();
    let mut key = |scopes: &[Scope], corpora: Option<&[&str]>| {
        format!("Bearer {}", keys.make(grant(scopes, corpora), 0))
    };
    let admin = key(&[Scope::Admin], None);
    let writes = key(&[Scope::Write], None);
    let narrow = key(&[Scope::Admin], Some(&["notes"]));
    let server = Running::showing_studies(&keys);
    let begin =
        |key: &str| server.post_as(&[("authorization", key)], JOBS, &compare(&questions(4)));
    for key in [&writes, &narrow] {
        assert_eq!(begin(key).code(), "insufficient_scope");
    }
    let path = format!(
        "/v1/ken/jobs/{}",
        begin(&admin).json()["id"].as_str().unwrap()
    );
    let get = |key: &str, path: &str| {
        let headers = [("authorization", key)];
        let request = crate::client::request("GET", path, &headers, "");
        crate::client::exchange(server.address, &request)
    };
    assert_eq!(get(&admin, &path).status, 200);
    assert_eq!(get(&writes, &path).code(), "unknown_job");
    assert_eq!(get(&writes, "/v1/ken/jobs").json()["data"], json!([]));
    has!(get(&admin, "/v1/ken/jobs").json(), ["data"][0]["kind"]: "compare");
}
