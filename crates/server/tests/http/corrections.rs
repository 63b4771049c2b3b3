//! Corrections of the source that a question is answered from: with a datastore that votes, and without.

use std::ops::ControlFlow;
use std::path::PathBuf;

use ken_answer::datastore::{By, Entry, KeyedBy};
use ken_answer::{Datastore, prompt};
use ken_language::{
    GenerateRequest, Generation, LanguageModel, ModelError, Progress, Prompt, Score, ScoreRequest,
    SourceChoice, SourceChooser,
};
use ken_server::{Keys, Scope};
use ken_testing::{TableModel, cases, has};
use serde_json::{Value, json};

use crate::client::{Response, exchange, request};
use crate::delegated::delegated;
use crate::fixture::{FRANCE, OIL, Running, facts, grant};

/// The numbers of a state.
const HIDDEN: usize = 64;

/// Answers as a table does, and would always choose the corpus: only votes speak against that. Its state is the words
/// of the question.
pub(crate) struct Chooser(TableModel);

impl Chooser {
    pub(crate) fn new() -> Self {
        Self(TableModel::new(facts()).unwrap())
    }
}

fn state(text: &str) -> Vec<f32> {
    let mut state = vec![0.0; HIDDEN];
    for word in text.split_whitespace() {
        let hash = word
            .bytes()
            .fold(7_usize, |hash, byte| hash * 31 % 1009 + usize::from(byte));
        state[hash % HIDDEN] += 1.0;
    }
    state
}

impl LanguageModel for Chooser {
    delegated!(0);

    fn generate(
        &self,
        requests: &[GenerateRequest<'_, Prompt>],
        on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Generation>>, ModelError> {
        self.0.generate(requests, on_progress)
    }

    fn score(&self, requests: &[ScoreRequest<'_, Prompt>]) -> Result<Vec<Vec<Score>>, ModelError> {
        self.0.score(requests)
    }

    fn source_chooser(&self) -> Result<&dyn SourceChooser, ModelError> {
        Ok(self)
    }
}

impl SourceChooser for Chooser {
    fn corpora(&self) -> Vec<&str> {
        vec!["notes"]
    }

    fn verbalizes(&self) -> bool {
        false
    }

    fn threshold(&self) -> Option<f64> {
        None
    }

    fn choose_sources(
        &self,
        prompts: &[&Prompt],
        _layer: usize,
    ) -> Result<Vec<SourceChoice>, ModelError> {
        let choices = prompts.iter().map(|prompt| SourceChoice {
            probabilities: vec![0.0, 1.0],
            state: state(&prompt.input),
        });
        Ok(choices.collect())
    }
}

/// A datastore in which all questions are answered from memory; the nearest one votes.
pub(crate) fn make_datastore(folder: &std::path::Path, model: &Chooser) -> Datastore {
    let keyed_by = KeyedBy {
        model: model.fingerprint().to_owned(),
        prompt: prompt::fingerprint(),
        layer: 0,
        center: vec![0.0; HIDDEN],
    };
    let questions = ["Who paints the fence?", "When is the harvest?", FRANCE];
    let entries = questions
        .iter()
        .enumerate()
        .map(|(number, question)| Entry {
            id: format!("q{number}"),
            question: (*question).to_owned(),
            source: "self".to_owned(),
            shares: None,
            by: By::Measured,
        });
    let states = questions.map(state_of);
    Datastore::create(folder, keyed_by, 1, &["notes"], entries.collect(), &states).unwrap()
}

fn state_of(question: &str) -> Vec<f32> {
    state(&prompt::choose_source(question.into()).input)
}

const CORRECTIONS: &str = "/v1/ken/corrections";
const POLICY: &str = "self-route@0.5";

fn correct(server: &Running, body: &Value) -> Response {
    server.post(CORRECTIONS, body)
}

/// Whether a question retrieves.
fn route(server: &Running, question: &str) -> Value {
    let body = json!({"question": question, "ken": {"policy": POLICY}});
    server.post("/v1/ken/ask", &body).json()["route"].clone()
}

fn folder(server: &Running) -> PathBuf {
    server.folder.path().join("datastore")
}

#[test]
fn a_correction_votes_from_the_next_question_on_and_in_the_next_server() {
    let server = Running::voting(&Keys::default());
    has!(server.get("/v1/ken/access").json(), ["sources"]: json!(["self", "notes"]));
    let asked = server
        .post(
            "/v1/ken/ask",
            &json!({"question": OIL, "ken": {"policy": POLICY}}),
        )
        .json();
    assert_eq!(asked["route"], "self", "{asked}");
    let corrected = correct(
        &server,
        &json!({"trace": asked["request_id"], "source": "notes"}),
    );
    assert_eq!(corrected.status, 201, "{}", corrected.text());
    let corrected = corrected.json();
    // The neighbor of the entry's own question is the entry.
    let neighbors = corrected["votes"]["neighbors"].as_array().unwrap();
    assert_eq!(neighbors.len(), 1);
    let own = &neighbors[0];
    has!(own, ["id"]: corrected["id"], ["question"]: OIL, ["source"]: "notes", ["by"]: "person");
    assert!(own["cosine"].as_f64().unwrap() > 0.999, "{own}");
    let shares = &corrected["votes"]["shares"];
    assert!(
        (shares["notes"].as_f64().unwrap() - 2.0 / 3.0).abs() < 1e-9,
        "{shares}"
    );
    assert_eq!(route(&server, OIL), "corpus");
    assert_eq!(route(&server, FRANCE), "self");
    // It is in the trace, and on the disk.
    let id = asked["request_id"].as_str().unwrap();
    let trace = server.get(&format!("/v1/ken/traces/{id}")).json();
    assert_eq!(trace["feedback"]["source"], "notes");
    let store = Datastore::open(&folder(&server)).unwrap();
    assert_eq!(store.entries().len(), 4);
    let nearest = store.nearest(&state_of(OIL)).unwrap();
    assert_eq!(
        (nearest[0].0.question.as_str(), nearest[0].0.source.as_str()),
        (OIL, "notes")
    );

    // An existing entry changes its source; there is no second one.
    let back = correct(&server, &json!({"question": FRANCE, "source": "notes"})).json();
    assert_eq!(back["votes"]["neighbors"][0]["id"], "q2", "{back}");
    assert_eq!(route(&server, FRANCE), "corpus");
    let again = correct(&server, &json!({"question": OIL, "source": "self"}));
    assert_eq!(again.status, 201);
    assert_eq!(route(&server, OIL), "self");
    assert_eq!(
        Datastore::open(&folder(&server)).unwrap().entries().len(),
        4
    );
    let lines = server.get(CORRECTIONS).text();
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    has!(lines[0], ["question"]: OIL, ["source"]: "self");

    let server = server.again();
    assert_eq!(route(&server, FRANCE), "corpus");
    assert_eq!(server.get(CORRECTIONS).text().lines().count(), 2);
    let trace = server.get(&format!("/v1/ken/traces/{id}")).json();
    assert_eq!(trace["feedback"]["source"], "notes");
}

#[test]
fn what_cannot_be_corrected_changes_nothing() {
    let server = Running::voting(&Keys::default());
    for (body, status, code) in cases![
        json!({"question": OIL, "source": "boats"}) => 400, "unknown_source";
        json!({"question": OIL, "source": ""}) => 400, "unknown_source";
        json!({"question": "  ", "source": "self"}) => 400, "invalid_value";
        json!({"question": "x".repeat(70_000), "source": "self"}) => 400, "invalid_value";
        json!({"source": "self"}) => 400, "invalid_value";
        json!({"question": OIL, "trace": "req_0", "source": "self"}) => 400, "invalid_value";
        json!({"trace": "req_0", "source": "self"}) => 404, "unknown_trace";
    ] {
        let refused = correct(&server, &body);
        let what: String = body.to_string().chars().take(80).collect();
        refused.refuses_for(&what, status, code);
    }
    let greeting = server.chat("always", "Hi!", &json!({})).json();
    let body = json!({"trace": greeting["ken"]["request_id"], "source": "self"});
    assert_eq!(correct(&server, &body).code(), "no_question");
    // While another process changes it.
    let lock = std::fs::File::create(folder(&server).join("LOCK")).unwrap();
    lock.lock().unwrap();
    let refused = correct(&server, &json!({"question": OIL, "source": "notes"}));
    refused.refuses(409, "datastore_locked");
    drop(lock);
    assert_eq!(
        Datastore::open(&folder(&server)).unwrap().entries().len(),
        3
    );
    assert_eq!(server.get(CORRECTIONS).text(), "");
    assert_eq!(route(&server, OIL), "self");
}

#[test]
fn without_a_datastore_corrections_are_kept_to_be_imported() {
    let mut keys = Keys::default();
    let asks = format!("Bearer {}", keys.make(grant(&[Scope::Ask], None), 0));
    let admin = format!(
        "Bearer {}",
        keys.make(grant(&[Scope::Admin, Scope::Ask], None), 0)
    );
    let server = Running::keeping(&keys);
    let by_admin = [("authorization", admin.as_str())];
    let by_asker = [("authorization", asks.as_str())];
    let body = json!({"question": OIL, "source": "boats"});
    let refused = server.post_as(&by_asker, CORRECTIONS, &body);
    refused.refuses(403, "insufficient_scope");
    let kept = server.post_as(&by_admin, CORRECTIONS, &body);
    assert_eq!((kept.status, &kept.json()["votes"]), (201, &Value::Null));
    let unknown = server.post_as(
        &by_admin,
        CORRECTIONS,
        &json!({"question": OIL, "source": "none"}),
    );
    assert_eq!(unknown.code(), "unknown_source");
    let get =
        |path: &str, method: &str| exchange(server.address, &request(method, path, &by_admin, ""));
    let id = kept.json()["id"].as_str().unwrap().to_owned();
    let line = json!({"id": id, "question": OIL, "source": "boats"});
    assert_eq!(get(CORRECTIONS, "GET").text(), format!("{line}\n"));
    let gone = get(&format!("{CORRECTIONS}/{id}"), "DELETE");
    assert_eq!((gone.status, &gone.json()["deleted"]), (200, &json!(true)));
    let gone = get(&format!("{CORRECTIONS}/{id}"), "DELETE");
    gone.refuses(404, "unknown_correction");
    assert_eq!(get(CORRECTIONS, "GET").text(), "");
}
