//! A key with all scopes for one corpus only, on every route: no response holds anything of another corpus, and
//! nothing of it can be changed.

use ken_server::{Keys, Scope};
use ken_testing::{cases, has};
use serde_json::{Value, json};

use crate::client::{Response, exchange, request, upload};
use crate::fixture::{FRANCE, Running, grant, wait_for};
use crate::route_table::{Route, Takes, routes};
use crate::{studies, watch};

const SCOPES: [Scope; 4] = [Scope::Ask, Scope::Search, Scope::Write, Scope::Admin];

/// A word in everything that the other corpus has.
const SECRET: &str = "Zorkmund";

/// The default corpus.
const FIRST: &str = "notes";

/// The holder of a key.
struct Holder<'s> {
    server: &'s Running,
    authorization: String,
}

impl Holder<'_> {
    fn send(&self, method: &str, path: &str, body: &str) -> Response {
        let headers = [("authorization", self.authorization.as_str())];
        exchange(self.server.address, &request(method, path, &headers, body))
    }

    fn get(&self, path: &str) -> Response {
        self.send("GET", path, "")
    }

    fn post(&self, path: &str, body: &Value) -> Response {
        self.send("POST", path, &body.to_string())
    }

    fn upload(&self, path: &str, name: &str, text: &str) -> Value {
        let headers = [("authorization", self.authorization.as_str())];
        let request = upload(path, &headers, &[(name, text.as_bytes())], &[]);
        exchange(self.server.address, &request).json()
    }

    fn wait_for_jobs(&self) {
        wait_for("all jobs are over", || {
            let jobs = self.get("/v1/ken/jobs").json();
            let all = jobs["data"].as_array().unwrap().iter();
            let mut states = all.map(|job| job["status"].as_str().unwrap().to_owned());
            states.all(|state| !["waiting", "running"].contains(&state.as_str()))
        });
    }
}

/// Things of a corpus that the key is not for, by the ids under which routes have them.
struct Others {
    trace: String,
    question: String,
    correction: String,
    job: String,
    file: String,
    batch: String,
    response: String,
}

/// Fills the other corpus, and adds things with the secret in their names.
fn fill(all: &Holder<'_>, other: &str) -> Others {
    let text = |value: &Value| {
        value
            .as_str()
            .unwrap_or_else(|| panic!("{value}"))
            .to_owned()
    };
    let options = json!({"corpus": other, "policy": "always"});
    let asked = json!({"question": format!("Where does {SECRET} live?"), "ken": options});
    let trace = text(&all.post("/v1/ken/ask", &asked).json()["request_id"]);
    let judged = json!({"request_id": trace, "rating": "bad", "answers": [SECRET]});
    has!(all.post("/v1/ken/feedback", &judged).json(), ["eval_question"]: true);
    let question = format!("Whom did they let go? {SECRET}?");
    let question = json!({"question": question, "golden_answers": [SECRET]});
    // Of no known corpus, and so only for those who may read all.
    let unknown = all.post("/v1/ken/evals/questions", &question);
    assert_eq!(unknown.status, 201, "{}", unknown.text());
    let correction = json!({"question": format!("Why is {SECRET} gone?"), "source": other});
    let correction = text(&all.post("/v1/ken/corrections", &correction).json()["id"]);
    let documents = format!("/v1/ken/corpora/{other}/documents");
    let job = all.upload(
        &documents,
        &format!("{SECRET}.md"),
        &format!("{SECRET} keeps the {other}."),
    );
    let file = all.upload(
        "/v1/files",
        &format!("{SECRET}-2.md"),
        &format!("{SECRET} again."),
    );
    let file = text(&file["id"]);
    let corpus = json!({"name": SECRET});
    assert_eq!(all.post("/v1/ken/corpora", &corpus).status, 201);
    let title = json!({"name": format!("{SECRET}'s")});
    let store = format!("/v1/vector_stores/{SECRET}");
    assert_eq!(all.post(&store, &title).status, 200);
    let files = json!({"file_ids": [file]});
    let batch = text(&all.post(&format!("{store}/file_batches"), &files).json()["id"]);
    let asked = json!({
        "model": "ken/always", "input": format!("Where is {SECRET}?"), "ken": {"corpus": other},
    });
    let response = text(&all.post("/v1/responses", &asked).json()["id"]);
    all.wait_for_jobs();
    Others {
        trace,
        question: text(&unknown.json()["id"]),
        correction,
        job: text(&job["id"]),
        file,
        batch,
        response,
    }
}

/// Everything that a key for all corpora sees of the other one.
fn seen(all: &Holder<'_>, other: &str, of: &Others) -> Vec<String> {
    let lines = |path: &str| -> Vec<String> {
        let text = all.get(path).text();
        let lines = text.lines().filter(|line| line.contains(SECRET));
        lines.map(str::to_owned).collect()
    };
    let one = |path: String| all.get(&path).text();
    let mut seen = lines("/v1/ken/evals/questions");
    seen.extend(lines("/v1/ken/corrections"));
    assert_eq!(seen.len(), 3, "{seen:?}");
    seen.extend([
        one(format!("/v1/ken/traces/{}", of.trace)),
        one(format!("/v1/ken/jobs/{}", of.job)),
        one(format!("/v1/files/{}", of.file)),
        one(format!("/v1/ken/corpora/{other}")),
        one(format!("/v1/ken/corpora/{SECRET}")),
        one(format!("/v1/vector_stores/{SECRET}/files/{}", of.file)),
        one(format!("/v1/files/{}/content", of.file)),
        one(format!("/v1/responses/{}", of.response)),
    ]);
    // It is about the first corpus, and a key for that adds to it by asking.
    if other == FIRST {
        seen.push(one("/v1/ken/guarantee".to_owned()));
    }
    seen
}

/// Requests to the route by a key for one corpus, with ids that belong to another.
fn requests(route: &Route, own: &str, of: &Others) -> Vec<(String, String)> {
    let path = route.example.replace("notes", own);
    let ids = cases![
        "req_0" => &of.trace;
        "eval_0" => &of.question;
        "corrections/none" => &format!("corrections/{}", of.correction);
        "job_0" => &of.job;
        "file-0" => &of.file;
        "vsfb_0" => &of.batch;
        "resp_0" => &of.response;
    ];
    let path = ids
        .iter()
        .fold(path, |path, (example, id)| path.replace(example, id));
    let body = route
        .body()
        .map_or_else(String::new, |body| body.to_string());
    let body = ids
        .iter()
        .fold(body, |body, (example, id)| body.replace(example, id));
    let mut all = vec![(path.clone(), body.clone())];
    // The same requests, on its own corpus by name.
    for named in [json!({"corpus": own}), json!({"ken": {"corpus": own}})] {
        if let Some(mut body) = route.body() {
            body.as_object_mut()
                .unwrap()
                .extend(named.as_object().unwrap().clone());
            all.push((path.clone(), body.to_string()));
        }
    }
    all
}

fn nothing_of_the_other(own: &str, other: &str) {
    let mut keys = Keys::default();
    let all = keys.make(grant(&SCOPES, None), 0);
    let one = keys.make(grant(&SCOPES, Some(&[own])), 0);
    let server = Running::of_all(&keys, watch::guarantee);
    studies::fill(&server);
    let holder = |key: &str| Holder {
        server: &server,
        authorization: format!("Bearer {key}"),
    };
    let (all, one) = (holder(&all), holder(&one));
    let of = fill(&all, other);
    let before = seen(&all, other, &of);
    let secrets = [SECRET.to_lowercase(), other.to_owned()];
    for route in routes() {
        // It says the same on every server.
        if route.path == "/openapi.json" {
            continue;
        }
        for (path, body) in requests(&route, own, &of) {
            let response = match route.takes {
                Takes::File => {
                    let value = one.upload(&path, "own.md", "A text of its own.");
                    assert!(value["error"].is_null(), "{path}: {value}");
                    continue;
                }
                _ => one.send(&route.method, &path, &body),
            };
            let text = response.text().to_lowercase();
            for secret in &secrets {
                assert!(
                    !text.contains(secret),
                    "{} {path} {body}: {text}",
                    route.method
                );
            }
        }
    }
    one.wait_for_jobs();
    for (path, body) in cases![
        "/v1/ken/ask" => json!({"question": FRANCE, "ken": {"corpus": other}});
        "/v1/ken/decide" => json!({"question": FRANCE, "ken": {"corpus": other}});
        "/v1/ken/search" => json!({"query": "oil", "corpus": other});
        "/v1/ken/evals/questions" =>
            json!({"question": "x", "golden_answers": ["y"], "corpus": other});
        "/v1/ken/evals/questions" => json!({"trace": of.trace, "golden_answers": ["y"]});
        "/v1/ken/corrections" => json!({"question": "x", "source": "self", "corpus": other});
        "/v1/ken/corrections" => json!({"question": "x", "source": other});
        "/v1/ken/corrections" =>
            json!({"question": format!("Why is {SECRET} gone?"), "source": "self"});
        "/v1/ken/corrections" => json!({"trace": of.trace, "source": "self"});
        "/v1/ken/feedback" => json!({"request_id": of.trace, "answers": ["y"]});
        "/v1/ken/reload" => json!({});
        "/v1/ken/policy" => json!({"study": "notes.tune.000000"});
    ] {
        let refused = one.post(path, &body);
        assert!(
            (400..500).contains(&refused.status),
            "{path} {body}: {}",
            refused.text()
        );
    }
    for tool in [
        json!({"name": "search", "arguments": {"query": SECRET, "corpus": other}}),
        json!({"name": "search", "arguments": {"query": "oil"}}),
        json!({"name": "fetch", "arguments": {"id": format!("{other}/{SECRET}.md#0")}}),
        json!({"name": "ask", "arguments": {"question": FRANCE, "corpus": other}}),
        json!({"name": "knows", "arguments": {"question": FRANCE, "policy": "certainty@0.5"}}),
    ] {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool});
        let text = one.post("/mcp", &call).text();
        assert!(!text.contains("keeps the"), "{tool}: {text}");
        assert!(
            tool.to_string().contains(other) || !text.contains(other),
            "{tool}: {text}"
        );
    }
    assert_eq!(seen(&all, other, &of), before);
    // A corpus that the key is not for looks like a missing one.
    for (path, body) in cases![
        "/v1/ken/search" => json!({"query": "oil", "corpus": "CORPUS"});
        "/v1/ken/search" => json!({"query": "oil", "corpus": [own, "CORPUS"]});
        "/v1/embeddings" =>
            json!({"model": "ken/embedder", "input": "x", "ken": {"corpus": "CORPUS"}});
        "/v1/ken/ask" => json!({"question": FRANCE, "ken": {"corpus": "CORPUS", "generation": 9}});
    ] {
        let told = |name: &str| {
            let body = body.to_string().replace("CORPUS", name);
            let response = one.send("POST", path, &body);
            (response.status, response.text().replace(name, "CORPUS"))
        };
        assert_eq!(told(other), told("none"), "{path}");
    }
}

#[test]
fn a_key_for_the_first_corpus_sees_and_changes_nothing_of_another() {
    nothing_of_the_other(FIRST, "boats");
}

#[test]
fn a_key_for_another_corpus_sees_and_changes_nothing_of_the_first() {
    nothing_of_the_other("boats", FIRST);
}

#[test]
fn a_key_for_one_corpus_does_with_it_what_its_scopes_allow() {
    let mut keys = Keys::default();
    let one = keys.make(grant(&SCOPES, Some(&["boats"])), 0);
    let two = keys.make(grant(&SCOPES, Some(&["boats", "notes"])), 0);
    let server = Running::of_all(&keys, watch::guarantee);
    let holder = |key: &str| Holder {
        server: &server,
        authorization: format!("Bearer {key}"),
    };
    let (one, two) = (holder(&one), holder(&two));
    let question = json!({"question": "Who changes it?", "golden_answers": ["Zoe"]});
    let made = one.post("/v1/ken/evals/questions", &question).json();
    let which = two.post("/v1/ken/evals/questions", &question);
    which.refuses(400, "invalid_value");
    let correction = json!({"question": "Who changes it?", "source": "self"});
    let corrected = one.post("/v1/ken/corrections", &correction).json();
    for (path, id) in [
        ("/v1/ken/evals/questions", &made["id"]),
        ("/v1/ken/corrections", &corrected["id"]),
    ] {
        assert_eq!(one.get(path).text().lines().count(), 1);
        assert_eq!(two.get(path).text().lines().count(), 1);
        let gone = one.send("DELETE", &format!("{path}/{}", id.as_str().unwrap()), "");
        assert_eq!(gone.status, 200, "{}", gone.text());
        assert_eq!(one.get(path).text(), "");
    }
    let access = one.get("/v1/ken/access").json();
    has!(access, ["sources"]: json!(["self", "boats"]), ["has_guarantee"]: false);
    has!(access, ["shows_studies"]: false);
    for path in "/metrics /v1/ken/studies /v1/ken/studies/sizes/report.html".split_whitespace() {
        let refused = one.get(path);
        refused.refuses(403, "insufficient_scope");
    }
    let refused = one.post("/v1/ken/reload", &json!({}));
    refused.refuses(403, "insufficient_scope");
    assert_eq!(one.get("/v1/ken/guarantee").code(), "no_guarantee");
    assert_eq!(two.get("/v1/ken/guarantee").status, 200);
}
