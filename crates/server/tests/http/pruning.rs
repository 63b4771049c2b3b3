//! Passages that are left out of every result of a corpus, and restored.

use ken_testing::{cases, has};
use serde_json::json;

use crate::fixture::Running;
use crate::library::found;

#[test]
fn what_is_left_out_is_told_and_restored() {
    let server = Running::start();
    let path = "/v1/ken/corpora/notes";
    let (prune, restore) = (format!("{path}/prune"), format!("{path}/restore"));
    let oil = || found(&server, "notes", "oil");
    assert_eq!(oil(), (vec!["cars/oil.md".to_owned()], 1));
    // A document by hand, and a passage in the form that `ken prune` writes.
    let by_hand = server.post(&prune, &json!({"documents": ["cars/oil.md"]}));
    let job = by_hand.json();
    assert_eq!(
        (
            by_hand.status,
            &job["kind"],
            &job["status"],
            &job["generation"]
        ),
        (200, &json!("prune"), &json!("done"), &json!(2)),
        "{job}"
    );
    assert_eq!(oil(), (Vec::new(), 2));
    let line = json!({"passage_id": "house.md#0", "score": 0.75, "reason": "ken prune: pruner"});
    let planned = server.post(&prune, &json!({"passages": [line]}));
    assert_eq!(planned.json()["generation"], 3);
    // Repeating it changes nothing.
    let again = server.post(&prune, &json!({"passages": [line]}));
    assert_eq!(
        (again.status, &again.json()["generation"]),
        (200, &json!(3))
    );

    let details = server.get(path).json();
    assert_eq!(
        details["prunings"],
        json!([
            {"reason": "by hand", "passages": 1, "documents": 1, "lowest_score": 0.0, "highest_score": 0.0},
            {"reason": "ken prune: pruner", "passages": 1, "documents": 1, "lowest_score": 0.75, "highest_score": 0.75},
        ])
    );
    assert_eq!(details["passages"], 1);
    let listed = server.get(&format!("{path}/pruned?limit=1")).json();
    has!(listed, ["has_more"]: true, ["last_id"]: "house.md");
    let listed = server.get(&format!("{path}/pruned?after=house.md")).json();
    assert_eq!(
        listed["data"],
        json!([{"doc_id": "cars/oil.md", "title": "Notes", "passages": 1, "pruned": [
            {"passage_id": "cars/oil.md#0", "score": 0.0, "reason": "by hand"},
        ]}])
    );

    // A missing item changes nothing, whatever else is named with it.
    for (route, body, code) in cases![
        &prune =>
            json!({"documents": ["none.md"], "passages": [{"passage_id": "cars/tires.md#0"}]}), "unknown_document";
        &prune =>
            json!({"documents": ["cars/tires.md"], "passages": [{"passage_id": "house.md#7"}]}), "unknown_passage";
        &restore => json!({"documents": ["none.md", "house.md"]}), "unknown_document";
        &restore => json!({"passages": ["house.md#0", "none"]}), "unknown_passage";
        &restore => json!({"reasons": ["by hand", "ken prune: "]}), "nothing_pruned";
    ] {
        let refused = server.post(route, &body);
        refused.refuses_for(&body, 404, code);
    }
    let long = "x".repeat(201);
    for (route, body) in cases![
        &prune => json!({});
        &prune => json!({"documents": [], "passages": []});
        &prune => json!({"documents": ["house.md"], "reason": " "});
        &prune => json!({"documents": ["house.md"], "reason": long});
        &prune => json!({"passages": [{"passage_id": "house.md#0", "reason": ""}]});
        &prune => json!({"passages": [{"passage_id": "house.md#0", "scor": 1}]});
        &restore => json!({});
        &restore => json!({"reasons": []});
    ] {
        let refused = server.post(route, &body);
        refused.refuses_for(&body, 400, "invalid_value");
    }
    assert_eq!(oil(), (Vec::new(), 3));

    let back = server
        .post(&restore, &json!({"documents": ["cars/oil.md"]}))
        .json();
    has!(back, ["kind"]: "restore", ["generation"]: 4);
    assert_eq!(oil(), (vec!["cars/oil.md".to_owned()], 4));
    let back = server.post(&restore, &json!({"reasons": ["ken prune: pruner"]}));
    assert_eq!(back.json()["generation"], 5);
    let details = server.get(path).json();
    has!(details, ["passages"]: 3, ["prunings"]: json!([]));
    let kinds = server.get("/v1/ken/jobs?limit=3").json();
    let kinds: Vec<&str> = kinds["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["restore", "restore", "restore"]);
    // A corpus that was never filled.
    server.post("/v1/ken/corpora", &json!({"name": "hill"}));
    let empty = server.post("/v1/ken/corpora/hill/prune", &json!({"documents": ["a"]}));
    empty.refuses(400, "empty_corpus");
    let empty = server.get("/v1/ken/corpora/hill/pruned");
    empty.refuses(400, "empty_corpus");
    has!(server.get("/v1/ken/corpora/hill").json(), ["prunings"]: json!([]));
}

#[test]
fn what_is_left_out_stays_so_when_the_server_starts_again() {
    let server = Running::start();
    let path = "/v1/ken/corpora/notes";
    let body = json!({"documents": ["cars/oil.md"], "reason": "out of date"});
    assert_eq!(server.post(&format!("{path}/prune"), &body).status, 200);
    let server = server.again();
    let details = server.get(path).json();
    assert_eq!(details["prunings"][0]["reason"], "out of date");
    assert_eq!(found(&server, "notes", "oil"), (Vec::new(), 2));
}
