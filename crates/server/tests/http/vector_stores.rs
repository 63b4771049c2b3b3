//! Vector stores as clients of OpenAI's API have them: names, attributes of files, batches, contents.

use std::sync::atomic::Ordering;

use ken_testing::{cases, has};
use serde_json::{Value, json};

use crate::client::run_python;
use crate::fixture::{OIL, Running, wait_for};
use crate::library::{FILES, attached, found, ingested, uploaded};

const STORES: &str = "/v1/vector_stores";

/// Makes a store and returns its id.
fn made(server: &Running, body: &Value) -> String {
    let made = server.post(STORES, body);
    assert_eq!(made.status, 200, "{}", made.text());
    made.json()["id"].as_str().unwrap().to_owned()
}

/// The batch, once none of its files is in progress.
fn over(server: &Running, path: &str) -> Value {
    wait_for("the batch is over", || {
        server.get(path).json()["status"] != "in_progress"
    });
    server.get(path).json()
}

/// The names of the files with passages that fit a filter, and the attributes of the first.
fn filtered(server: &Running, store: &str, filter: &Value) -> (Vec<String>, Value) {
    let body = json!({"query": "gate", "filters": filter, "max_num_results": 9});
    let page = server.post(&format!("{STORES}/{store}/search"), &body);
    let page = page.json();
    let data = page["data"].as_array().unwrap_or_else(|| panic!("{page}"));
    let mut names: Vec<String> = data
        .iter()
        .map(|hit| hit["filename"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    (names, page["data"][0]["attributes"].clone())
}

#[test]
fn a_name_is_free_and_no_id() {
    let server = Running::start();
    let name = json!({"name": "Team handbook (2026)"});
    let (one, other) = (made(&server, &name), made(&server, &name));
    assert_ne!(one, other);
    let path = format!("{STORES}/{one}");
    let changed = server.post(&path, &json!({"name": "Manuals", "metadata": {"a": "b"}}));
    has!(changed.json(), ["name"]: "Manuals", ["id"]: one);
    let same = json!({"name": null, "metadata": null, "expires_after": null});
    assert_eq!(server.post(&path, &same).json(), changed.json());
    // A search names the store by its id.
    let job = ingested(&server, &one, "gate.md", "The gate is opened by Quirin.");
    assert_eq!(job["status"], "done", "{job}");
    assert_eq!(found(&server, &one, "Quirin").0, ["gate.md"]);
    assert_eq!(found(&server, "Manuals", "Quirin").0, ["unknown_corpus"]);
    let corpora = server.get("/v1/ken/corpora").json();
    let corpora = corpora["corpora"].as_array().unwrap().iter();
    let titles: Vec<&Value> = corpora.map(|corpus| &corpus["title"]).collect();
    let expected = json!([null, null, "Manuals", "Team handbook (2026)"]);
    assert_eq!(json!(titles), expected);
    // Without a name, and if a corpus was made in another way, it is the id.
    let unnamed = made(&server, &json!({}));
    assert!(filtered(&server, &unnamed, &Value::Null).0.is_empty());
    for id in [unnamed.as_str(), "notes"] {
        assert_eq!(server.get(&format!("{STORES}/{id}")).json()["name"], id);
    }
    // Of several, an empty one is left out.
    let both = json!({"query": "Quirin", "corpus": [unnamed, one]});
    let both = server.post("/v1/ken/search", &both).json();
    has!(both, ["corpus"]["name"]: one, ["hits"][0]["doc_id"]: "gate.md");
    let server = server.again();
    assert_eq!(server.get(&path).json()["name"], "Manuals");

    let many: Value = (0..17)
        .map(|key| (key.to_string(), json!("x")))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let long = "x".repeat(257);
    for path in [STORES, path.as_str()] {
        for (body, param) in [
            (json!({ "name": long }), "name"),
            (json!({ "metadata": many }), "metadata"),
            (json!({ "metadata": {"a": "x".repeat(513)} }), "metadata"),
        ] {
            let refused = server.post(path, &body);
            refused.refuses_param(400, "invalid_value", param);
        }
        let expires = json!({"expires_after": {"anchor": "last_active_at", "days": 7}});
        let refused = server.post(path, &expires);
        refused.refuses_param(400, "unsupported_parameter", "expires_after");
    }
    let settings = server.post(&format!("{STORES}/notes"), &json!({"name": "x"}));
    settings.refuses(403, "corpus_of_settings");
}

#[test]
fn attributes_of_a_file_are_found_and_filtered_by_and_can_be_changed() {
    let server = Running::start();
    let store = made(&server, &json!({"name": "Gates"}));
    let files = format!("{STORES}/{store}/files");
    let old = uploaded(&server, "old.md", "The old gate is of iron.");
    let records = "{\"id\": \"r\", \"contents\": \"The new gate is of oak.\", \"year\": 1999, \"town\": \"Quillby\"}";
    let new = uploaded(&server, "new.jsonl", records);
    let attributes = json!({"year": 2020, "team": "north", "open": true});
    let body = json!({"file_id": new, "attributes": attributes});
    let response = server.post(&files, &body).json();
    assert_eq!(response["attributes"], attributes, "{response}");
    server.post(
        &files,
        &json!({"file_id": old, "attributes": {"year": 1950}}),
    );
    for file in [&new, &old] {
        assert_eq!(attached(&server, &store, file)["status"], "completed");
    }
    has!(server.get(&format!("{files}/{new}")).json(), ["attributes"]: attributes);
    // The attributes take precedence over the record's own metadata, which has the rest.
    let since = |year: u64| json!({"type": "gte", "key": "year", "value": year});
    let (names, attributes) = filtered(&server, &store, &since(2000));
    assert_eq!(names, ["new.jsonl"]);
    assert_eq!(
        attributes,
        json!({"year": 2020, "team": "north", "open": true, "town": "Quillby"})
    );

    let path = format!("{files}/{new}");
    let changed = server.post(&path, &json!({"attributes": {"team": "south"}}));
    assert_eq!(
        (changed.status, &changed.json()["attributes"]),
        (200, &json!({"team": "south"}))
    );
    assert_eq!(changed.json()["status"], "completed");
    assert_eq!(
        filtered(&server, &store, &since(2000)).0,
        Vec::<String>::new()
    );
    let south = json!({"type": "eq", "key": "team", "value": "south"});
    let (names, attributes) = filtered(&server, &store, &south);
    assert_eq!(names, ["new.jsonl"]);
    assert_eq!(
        attributes,
        json!({"team": "south", "year": 1999, "town": "Quillby"})
    );
    // The other file stays as it is, and all of it goes with the file.
    assert_eq!(
        filtered(
            &server,
            &store,
            &json!({"type": "eq", "key": "year", "value": 1950})
        )
        .0,
        ["old.md"]
    );
    assert_eq!(server.delete(&path).json()["deleted"], true);
    assert_eq!(filtered(&server, &store, &south).0, Vec::<String>::new());
    for wrong in [json!({"a": null}), json!({"a": [1]}), json!({"": 1})] {
        for (path, body) in [
            (files.clone(), json!({"file_id": new, "attributes": wrong})),
            (format!("{files}/{old}"), json!({"attributes": wrong})),
            (
                format!("{STORES}/{store}/file_batches"),
                json!({"file_ids": [new], "attributes": wrong}),
            ),
        ] {
            let refused = server.post(&path, &body);
            refused.refuses_param(400, "invalid_value", "attributes");
        }
    }
}

#[test]
fn documents_that_others_replaced_are_not_brought_back() {
    let server = Running::start();
    let file = uploaded(
        &server,
        "a.jsonl",
        "{\"id\": \"g\", \"contents\": \"A gate of iron.\"}",
    );
    let files = format!("{STORES}/notes/files");
    server.post(&files, &json!({"file_id": file}));
    attached(&server, "notes", &file);
    ingested(
        &server,
        "notes",
        "b.jsonl",
        "{\"id\": \"g\", \"contents\": \"A gate of brass.\"}",
    );
    let path = format!("{files}/{file}");
    let refused = server.post(&path, &json!({"attributes": {"a": 1}}));
    refused.refuses(400, "documents_replaced");
    assert_eq!(server.get(&path).json()["attributes"], json!({}));
    assert_eq!(found(&server, "notes", "brass").0, ["g"]);
}

#[test]
fn what_is_less_relevant_than_the_threshold_is_left_out() {
    let server = Running::start();
    let scores = |options: Value| -> Vec<f64> {
        let body = json!({"query": "Who changes the oil of the car?", "ranking_options": options});
        let page = server.post(&format!("{STORES}/notes/search"), &body).json();
        let hits = page["data"].as_array().unwrap_or_else(|| panic!("{page}"));
        hits.iter()
            .map(|hit| hit["score"].as_f64().unwrap())
            .collect()
    };
    let all = scores(json!({"score_threshold": 1e-9}));
    assert_eq!(all.len(), 3);
    assert!(
        all.is_sorted_by(|one, other| one >= other) && all[0] <= 1.0,
        "{all:?}"
    );
    assert!(all[1] < all[0], "{all:?}");
    let between = f64::midpoint(all[0], all[1]);
    assert_eq!(scores(json!({"score_threshold": between})), all[..1]);
    assert_eq!(scores(json!({"score_threshold": 1.0})), Vec::<f64>::new());
    // Without one, scores are those of the search.
    for none in [
        json!({}),
        json!({"score_threshold": 0.0}),
        json!({"score_threshold": null}),
    ] {
        assert_eq!(scores(none).len(), 3);
    }
    let tool = |threshold: Value| {
        let options = json!({"score_threshold": threshold});
        let tool = json!({"type": "file_search", "max_num_results": 3, "ranking_options": options});
        json!({"model": "ken/always", "input": OIL, "tools": [tool],
               "include": ["file_search_call.results"]})
    };
    let found = |threshold: Value| {
        let response = server.post("/v1/responses", &tool(threshold)).json();
        let results = response["output"][0]["results"].as_array().cloned();
        results.unwrap_or_else(|| panic!("{response}"))
    };
    let all = found(json!(1e-9));
    let scores = [&all[0], &all[1]].map(|hit| hit["score"].as_f64().unwrap());
    let few = found(json!(f64::midpoint(scores[0], scores[1])));
    assert_eq!(few, all[..1]);
    assert!(found(json!(1)).is_empty());
    for wrong in [json!(1.5), json!(-1), json!("high")] {
        let search = json!({"query": "oil", "ranking_options": {"score_threshold": wrong}});
        for (path, body) in [
            (format!("{STORES}/notes/search"), search),
            ("/v1/responses".to_owned(), tool(wrong.clone())),
        ] {
            let refused = server.post(&path, &body);
            refused.refuses_param(400, "invalid_value", "ranking_options.score_threshold");
        }
    }
}

#[test]
fn a_batch_goes_on_where_one_of_its_files_fails_and_when_the_server_starts_again() {
    let server = Running::start();
    let store = made(&server, &json!({}));
    let good = uploaded(&server, "good.md", "The gate is of iron.");
    let bad = uploaded(&server, "bad.jsonl", "{");
    let last = uploaded(&server, "last.md", "The gate is of oak.");
    let batches = format!("{STORES}/{store}/file_batches");
    server.holding.held.store(true, Ordering::SeqCst);
    let body = json!({"files": [{"file_id": good, "attributes": {"n": 1}}, {"file_id": bad}, {"file_id": last}]});
    let batch = server.post(&batches, &body).json();
    has!(batch, ["object"]: "vector_store.files_batch", ["status"]: "in_progress");
    has!(batch, ["file_counts"]["total"]: 3);
    let server = server.again();
    let path = format!("{batches}/{}", batch["id"].as_str().unwrap());
    let batch = over(&server, &path);
    let counts = &batch["file_counts"];
    assert_eq!(
        (&batch["status"], &counts["completed"], &counts["failed"]),
        (&json!("completed"), &json!(2), &json!(1)),
        "{batch}"
    );
    let listed = server.get(&format!("{path}/files?filter=failed")).json();
    assert_eq!(listed["data"][0]["id"], json!(bad), "{listed}");
    let all = server.get(&format!("{path}/files?filter=")).json();
    assert_eq!(all["data"].as_array().unwrap().len(), 3, "{all}");
    let unknown = server.get(&format!("{path}/files?filter=done"));
    unknown.refuses_param(400, "invalid_value", "filter");
    let page = server
        .get(&format!("{path}/files?limit=2&order=asc"))
        .json();
    assert_eq!(
        (page["data"].as_array().unwrap().len(), &page["has_more"]),
        (2, &json!(true))
    );
    let filter = json!({"type": "eq", "key": "n", "value": 1});
    assert_eq!(filtered(&server, &store, &filter).0, ["good.md"]);
    // The same files again: the ones that are there get other attributes, and the rest stay undone.
    let again = json!({"file_ids": [good, last], "attributes": {"n": 2}});
    let again = server.post(&batches, &again).json();
    over(
        &server,
        &format!("{batches}/{}", again["id"].as_str().unwrap()),
    );
    let two = json!({"type": "eq", "key": "n", "value": 2});
    wait_for("both have it", || {
        filtered(&server, &store, &two).0.len() == 2
    });
    let only = server.post(&batches, &json!({"file_ids": [bad]})).json();
    let only = over(
        &server,
        &format!("{batches}/{}", only["id"].as_str().unwrap()),
    );
    assert_eq!(only["status"], "failed");
    server.delete(&format!("{FILES}/{last}"));
    assert_eq!(server.get(&path).json()["file_counts"]["total"], 2);
    for (body, param) in cases![
        json!({}) => "file_ids";
        json!({"file_ids": []}) => "file_ids";
        json!({"file_ids": [good], "files": [{"file_id": good}]}) => "files";
        json!({"files": [{"file_id": good}, {"file_id": good}]}) => "files";
        json!({"file_ids": vec!["file-1"; 501]}) => "file_ids";
    ] {
        let refused = server.post(&batches, &body);
        let code = refused.code();
        assert!(refused.status == 400 || code == "unknown_file", "{body}");
        if refused.status == 400 {
            refused.refuses_param(400, "invalid_value", param);
        }
    }
    let refused = server.post(&batches, &json!({"file_ids": ["file-1"]}));
    refused.refuses_param(404, "unknown_file", "file_id");
    let refused = server.get(&format!("{batches}/vsfb_none"));
    refused.refuses_param(404, "unknown_batch", "batch_id");
    let chunked = json!({"file_ids": [good], "chunking_strategy": {"type": "static"}});
    let refused = server.post(&batches, &chunked);
    refused.refuses_param(400, "unsupported_parameter", "chunking_strategy");
}

#[test]
fn a_batch_is_cancelled_as_far_as_it_is_not_done() {
    let server = Running::start();
    let store = made(&server, &json!({}));
    let ids: Vec<String> = (0..5)
        .map(|n| uploaded(&server, &format!("{n}.md"), "A gate."))
        .collect();
    server.holding.held.store(true, Ordering::SeqCst);
    let batches = format!("{STORES}/{store}/file_batches");
    let batch = server.post(&batches, &json!({ "file_ids": ids })).json();
    let path = format!("{batches}/{}", batch["id"].as_str().unwrap());
    wait_for("one waits", || server.holding.waits.load(Ordering::SeqCst));
    assert_eq!(
        server.post(&format!("{path}/cancel"), &json!({})).status,
        200
    );
    let batch = over(&server, &path);
    has!(batch, ["status"]: "cancelled", ["file_counts"]["cancelled"]: 5);
    assert_eq!(found(&server, &store, "gate").0, ["empty_corpus"]);
    // A finished file stays what it was.
    server.holding.held.store(false, Ordering::SeqCst);
    let batch = server
        .post(&batches, &json!({ "file_ids": ids[..1] }))
        .json();
    let path = format!("{batches}/{}", batch["id"].as_str().unwrap());
    assert_eq!(over(&server, &path)["status"], "completed");
    let after = server.post(&format!("{path}/cancel"), &json!({})).json();
    assert_eq!(after["status"], "completed");
}

#[test]
fn a_file_is_returned_as_it_came_and_its_text_as_it_is_searched() {
    let server = Running::start();
    let html = format!(
        "<title>T</title><p>The gate of {} is of iron.</p>",
        "Quillby ".repeat(20_000)
    );
    let file = uploaded(&server, "tor ü.html", &html);
    let content = server.get(&format!("{FILES}/{file}/content"));
    assert_eq!((content.status, content.text()), (200, html));
    assert_eq!(content.header("content-type"), Some("text/html"));
    assert_eq!(
        content.header("content-disposition"),
        Some("attachment; filename*=UTF-8''tor%20%C3%BC%2Ehtml")
    );
    let refused = server.get(&format!("{FILES}/file-0/content"));
    refused.refuses_param(404, "unknown_file", "file_id");

    let store = made(&server, &json!({}));
    let lines: Vec<String> = (0..600)
        .map(|n| format!("{{\"id\": \"r{n}\", \"contents\": \"Gate \\\"{n}\\\".\"}}"))
        .collect();
    let records = uploaded(&server, "records.jsonl", &lines.join("\n"));
    let files = format!("{STORES}/{store}/files");
    server.post(&files, &json!({"file_id": records}));
    let path = format!("{files}/{records}/content");
    assert_eq!(attached(&server, &store, &records)["status"], "completed");
    let text = server.get(&path).json();
    let parts = text["data"].as_array().unwrap();
    assert_eq!(
        (
            &text["object"],
            parts.len(),
            &text["has_more"],
            &text["next_page"]
        ),
        (
            &json!("vector_store.file_content.page"),
            600,
            &json!(false),
            &Value::Null
        )
    );
    assert_eq!(parts[7], json!({"type": "text", "text": "Gate \"7\"."}));
    let long = uploaded(
        &server,
        "long.md",
        &"The gate of Quillby is of iron. ".repeat(20_000),
    );
    server.post(&files, &json!({"file_id": long}));
    assert_eq!(attached(&server, &store, &long)["status"], "completed");
    let text = server.get(&format!("{files}/{long}/content")).json();
    let parts = text["data"].as_array().unwrap();
    assert!(parts.len() > 256, "{}", parts.len());
    let words: usize = parts
        .iter()
        .map(|part| part["text"].as_str().unwrap().matches("Quillby").count())
        .sum();
    assert_eq!(words, 20_000);
    // A file without passages in the corpus has no text.
    let bad = uploaded(&server, "bad.jsonl", "{");
    let empty = made(&server, &json!({"file_ids": [bad]}));
    attached(&server, &empty, &bad);
    has!(server.get(&format!("{STORES}/{empty}/files/{bad}/content")).json(), ["data"]: json!([]));
}

#[test]
fn the_official_client_for_python_fills_stores_and_goes_on_from_responses() {
    let server = Running::start();
    let url = format!("http://{}/v1", server.address);
    run_python("openai", "openai_stores.py", &url);
}
