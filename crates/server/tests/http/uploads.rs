//! Uploads of several files, some of which cannot be taken in.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::client::{exchange, upload};
use crate::fixture::{Running, wait_for};
use crate::library::{ended, found, uploaded};

const VANE: (&str, &str) = ("vane.md", "The vane is of copper.");
const BELL: (&str, &str) = ("deep/bell.md", "The bell is of bronze.");
const BROKEN: (&str, &str) = (
    "lines.jsonl",
    "{\"id\": \"good\", \"contents\": \"A basilisk of bronze.\"}\n{\"id\": ",
);

/// Uploads files into a corpus.
fn sent(server: &Running, files: &[(&str, &str)]) -> Value {
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, text)| (*name, text.as_bytes()))
        .collect();
    let request = upload("/v1/ken/corpora/notes/documents", &[], &files, &[]);
    let response = exchange(server.address, &request);
    assert_eq!(response.status, 202, "{}", response.text());
    response.json()
}

/// Uploads files and waits for the end of the job.
fn taken(server: &Running, files: &[(&str, &str)]) -> Value {
    ended(server, sent(server, files)["id"].as_str().unwrap())
}

/// The files that failed, with their codes.
fn failed(job: &Value) -> Vec<(&str, &str)> {
    let files = job["failed"].as_array().unwrap().iter();
    files
        .map(|file| {
            let text = |key: &str| file[key].as_str().unwrap();
            (text("file"), text("code"))
        })
        .collect()
}

/// The documents about copper or bronze.
fn metals(server: &Running) -> Vec<String> {
    let (mut ids, _) = found(server, "notes", "copper bronze");
    ids.sort();
    ids
}

#[test]
fn good_files_are_taken_in_and_each_other_says_why() {
    let server = Running::start();
    let files = [
        BROKEN,
        VANE,
        ("rows/table.csv", "id,contents\n1,\"open"),
        ("settings.json", "{}"),
        ("whole.xyz", "\0\u{1}\u{2}"),
        BELL,
    ];
    let job = taken(&server, &files);
    assert_eq!(
        (&job["status"], &job["generation"], &job["error"]),
        (&json!("done"), &json!(2), &Value::Null),
        "{job}"
    );
    assert_eq!(job["progress"]["added"], 2);
    let expected = [
        ("lines.jsonl", "broken_json"),
        ("rows/table.csv", "open_quote"),
        ("settings.json", "no_documents"),
        ("whole.xyz", "unknown_format"),
    ];
    assert_eq!(failed(&job), expected);
    let message = job["failed"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("lines.jsonl:2: "), "{message}");
    let hint = job["failed"][3]["hint"].as_str().unwrap();
    assert!(hint.contains(".md"), "{hint}");
    // Of a file with a broken line, the good lines are left out as well.
    assert_eq!(metals(&server), ["deep/bell.md", "vane.md"]);

    let again = taken(&server, &files);
    assert_eq!(
        (&again["generation"], &again["progress"]["unchanged"]),
        (&json!(2), &json!(2)),
        "{again}"
    );
    assert_eq!(failed(&again), expected);
}

#[test]
fn an_upload_of_which_every_file_is_broken_fails() {
    let server = Running::start();
    let job = taken(&server, &[BROKEN, ("settings.json", "{}")]);
    assert_eq!(
        (&job["status"], &job["generation"], &job["error"]["code"]),
        (&json!("failed"), &json!(1), &json!("all_files_failed")),
        "{job}"
    );
    let expected = [
        ("lines.jsonl", "broken_json"),
        ("settings.json", "no_documents"),
    ];
    assert_eq!(failed(&job), expected);
    // The error of a single file is that of the job.
    let job = taken(&server, &[BROKEN]);
    assert_eq!(
        (&job["status"], &job["error"]["message"]),
        (&json!("failed"), &job["failed"][0]["message"]),
        "{job}"
    );
    assert_eq!(failed(&job), expected[..1]);
    assert!(metals(&server).is_empty());
}

#[test]
fn a_file_of_records_whose_ids_are_taken_keeps_back_no_other() {
    let server = Running::start();
    let file = uploaded(&server, "well.md", "The well is deep.");
    let record = |id: &str, text: &str| json!({"id": id, "contents": text}).to_string();
    let vane = record("vane", "The vane is of copper.");
    let twice = [
        record("bell", "The bell is of bronze."),
        record("vane", "Another vane of bronze."),
    ]
    .join("\n");
    let forged = record(&format!("{file}/well.md"), "A well of copper.");
    // A good file may repeat the ids of a broken one.
    let broken = format!("{vane}\n{{\"id\": ");
    let files = [
        ("0.jsonl", broken.as_str()),
        ("a.jsonl", vane.as_str()),
        ("b.jsonl", twice.as_str()),
        ("c.jsonl", forged.as_str()),
    ];
    let job = taken(&server, &files);
    assert_eq!(job["status"], "done", "{job}");
    assert_eq!(
        failed(&job),
        [
            ("0.jsonl", "broken_json"),
            ("b.jsonl", "duplicate_id"),
            ("c.jsonl", "forged_id")
        ]
    );
    assert_eq!(metals(&server), ["vane"]);
}

#[test]
fn a_server_that_ends_in_the_middle_goes_on_and_says_what_failed() {
    let server = Running::start();
    server.holding.held.store(true, Ordering::SeqCst);
    let job = sent(&server, &[BROKEN, VANE]);
    wait_for("it waits", || server.holding.waits.load(Ordering::SeqCst));
    let id = job["id"].as_str().unwrap();
    let running = server.get(&format!("/v1/ken/jobs/{id}")).json();
    let expected = [("lines.jsonl", "broken_json")];
    assert_eq!(failed(&running), expected, "{running}");
    let server = server.again();
    let job = ended(&server, id);
    assert_eq!(
        (&job["status"], &job["generation"]),
        (&json!("done"), &json!(2))
    );
    assert_eq!(failed(&job), expected);
    assert_eq!(metals(&server), ["vane.md"]);
}

#[test]
fn files_are_listed_by_purpose_and_do_not_expire() {
    let server = Running::start();
    let send = |name: &str, fields: &[(&str, &str)]| {
        let files = [(name, VANE.1.as_bytes())];
        exchange(server.address, &upload("/v1/files", &[], &files, fields))
    };
    let ids = |query: &str| {
        let listed = server.get(&format!("/v1/files{query}")).json();
        let files = listed["data"].as_array().unwrap().iter();
        let ids = files.map(|file| file["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    let judged = send("judged.md", &[("purpose", "evals")]).json();
    assert_eq!(send("other.md", &[]).status, 200);
    assert_eq!(ids("?purpose=evals"), [judged["id"].as_str().unwrap()]);
    assert_eq!(ids("?purpose=assistants").len(), 1);
    assert!(ids("?purpose=batch").is_empty());
    let expires = [
        ("expires_after[anchor]", "created_at"),
        ("expires_after[seconds]", "3600"),
    ];
    let refused = send("gone.md", &expires);
    refused.refuses_param(400, "unsupported_parameter", "expires_after");
    assert_eq!(ids("").len(), 2);
}
