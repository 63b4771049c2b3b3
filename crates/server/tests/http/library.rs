//! What clients upload, change and remove: files, documents, corpora.

use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ken_server::{Keys, Scope};
use ken_testing::{TableModel, has};
use serde_json::{Value, json};

use crate::client::{Response, connect, exchange, read, upload};
use crate::fixture::{LIMITS, OIL, Running, facts, grant, wait_for};

pub(crate) const FILES: &str = "/v1/files";

pub(crate) fn send(server: &Running, path: &str, name: &str, content: &str) -> Response {
    let request = upload(path, &[], &[(name, content.as_bytes())], &[]);
    exchange(server.address, &request)
}

/// Uploads a file and returns its id.
pub(crate) fn uploaded(server: &Running, name: &str, content: &str) -> String {
    let response = send(server, FILES, name, content);
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()["id"].as_str().unwrap().to_owned()
}

/// Uploads documents into a corpus and waits for the end of the job.
pub(crate) fn ingested(server: &Running, corpus: &str, name: &str, content: &str) -> Value {
    let path = format!("/v1/ken/corpora/{corpus}/documents");
    let response = send(server, &path, name, content);
    assert_eq!(response.status, 202, "{}", response.text());
    ended(server, response.json()["id"].as_str().unwrap())
}

/// A job once it is over.
pub(crate) fn ended(server: &Running, id: &str) -> Value {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let job = server.get(&format!("/v1/ken/jobs/{id}")).json();
        if !["waiting", "running"].contains(&job["status"].as_str().unwrap()) {
            return job;
        }
        assert!(Instant::now() < deadline, "{job}");
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// The file of a corpus once it is no longer in progress.
pub(crate) fn attached(server: &Running, corpus: &str, file: &str) -> Value {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let path = format!("/v1/vector_stores/{corpus}/files/{file}");
        let member = server.get(&path).json();
        if member["status"] != "in_progress" {
            return member;
        }
        assert!(Instant::now() < deadline, "{member}");
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// The documents found for a query, and the generation in which.
pub(crate) fn found(server: &Running, corpus: &str, query: &str) -> (Vec<String>, u64) {
    let body = json!({"corpus": corpus, "query": query, "mode": "lexical"});
    let response = server.post("/v1/ken/search", &body);
    if response.status != 200 {
        return (vec![response.code()], 0);
    }
    let value = response.json();
    let hits = value["hits"].as_array().unwrap().iter();
    let hits = hits.map(|hit| hit["doc_id"].as_str().unwrap().to_owned());
    (
        hits.collect(),
        value["corpus"]["generation"].as_u64().unwrap(),
    )
}

#[test]
fn a_file_is_searched_when_it_is_completed_and_gone_when_it_is_deleted() {
    let server = Running::start();
    let file = uploaded(&server, "well.md", "The well of Quillby is dug by Orsolo.");
    let body = json!({"name": "The town (2026)", "file_ids": [file], "metadata": {"a": "b"}});
    let made = server.post("/v1/vector_stores", &body).json();
    has!(made, ["name"]: "The town (2026)", ["file_counts"]["total"]: 1);
    has!(made, ["metadata"]: json!({"a": "b"}));
    let town = made["id"].as_str().unwrap();
    assert!(town.starts_with("vs_"), "{town}");
    let member = attached(&server, town, &file);
    assert_eq!(member["status"], "completed", "{member}");
    let document = format!("{file}/well.md");
    assert_eq!(found(&server, town, "Quillby"), (vec![document], 1));
    let body = json!({"query": ["Quillby", "well"], "max_num_results": 5});
    let page = server
        .post(&format!("/v1/vector_stores/{town}/search"), &body)
        .json();
    assert_eq!(page["data"].as_array().unwrap().len(), 1);
    let result = &page["data"][0];
    has!(result, ["file_id"]: file, ["filename"]: "well.md");
    assert!(
        result["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("Orsolo")
    );

    // One more, which is then taken out again.
    let other = uploaded(&server, "mill.md", "The mill of Quillby grinds oats.");
    let path = &format!("/v1/vector_stores/{town}/files");
    let again = json!({"file_id": other});
    assert_eq!(server.post(path, &again).status, 200);
    assert_eq!(attached(&server, town, &other)["status"], "completed");
    assert_eq!(server.post(path, &again).code(), "file_exists");
    let listed = server
        .get(&format!("{path}?filter=completed&limit=1"))
        .json();
    assert_eq!(
        (
            &listed["has_more"],
            listed["data"].as_array().unwrap().len()
        ),
        (&json!(true), 1)
    );
    let gone = server.delete(&format!("{path}/{other}")).json();
    has!(gone, ["deleted"]: true, ["generation"]: 3);
    let (hits, generation) = found(&server, town, "Quillby");
    assert_eq!((hits.len(), generation), (1, 3));
    // The file itself stays until it is deleted, which removes everything made from it.
    assert_eq!(server.get(&format!("{FILES}/{other}")).status, 200);
    has!(server.delete(&format!("{FILES}/{file}")).json(), ["deleted"]: true);
    assert_eq!(
        server.get(&format!("{FILES}/{file}")).code(),
        "unknown_file"
    );
    assert_eq!(found(&server, town, "Quillby").0, ["empty_corpus"]);
    let left = server.get(FILES).json();
    assert_eq!(left["data"][0]["id"], json!(other));
    assert_eq!(left["data"].as_array().unwrap().len(), 1);
    has!(server.delete(&format!("/v1/vector_stores/{town}")).json(), ["deleted"]: true);
    assert_eq!(found(&server, town, "Quillby").0, ["unknown_corpus"]);
}

#[test]
fn each_change_of_a_corpus_tells_from_which_generation_it_holds() {
    let server = Running::start();
    let job = ingested(
        &server,
        "notes",
        "roof.md",
        "The roof is mended by Kasimir.",
    );
    has!(job, ["status"]: "done", ["generation"]: 2, ["progress"]["added"]: 1);
    assert_eq!(
        found(&server, "notes", "Kasimir"),
        (vec!["roof.md".to_owned()], 2)
    );
    let job = ingested(
        &server,
        "notes",
        "roof.md",
        "The roof is mended by Leokadia.",
    );
    has!(job, ["generation"]: 3, ["progress"]["replaced"]: 1);
    assert_eq!(found(&server, "notes", "Kasimir"), (Vec::new(), 3));
    let same = ingested(
        &server,
        "notes",
        "roof.md",
        "The roof is mended by Leokadia.",
    );
    has!(same, ["generation"]: 3, ["progress"]["unchanged"]: 1);
    let path = "/v1/ken/corpora/notes";
    let gone = server.delete(&format!("{path}/documents/roof.md"));
    assert_eq!((gone.status, &gone.json()["generation"]), (200, &json!(4)));
    let again = server.delete(&format!("{path}/documents/cars/none.md"));
    again.refuses(404, "unknown_document");
    let back = server.post(&format!("{path}/rollback"), &json!({"generation": 2}));
    assert_eq!((back.status, &back.json()["generation"]), (200, &json!(5)));
    assert_eq!(
        found(&server, "notes", "Kasimir"),
        (vec!["roof.md".to_owned()], 5)
    );
    let never = server.post(&format!("{path}/rollback"), &json!({"generation": 77}));
    never.refuses(404, "unknown_generation");
    let details = server.get(path).json();
    let history = details["history"].as_array().unwrap();
    let changes: Vec<&str> = history
        .iter()
        .map(|change| change["change"].as_str().unwrap())
        .collect();
    assert_eq!(changes.last(), Some(&"rollback"), "{details}");
    has!(details, ["generation"]: 5, ["passages"]: 4);
    // An answer rests on the newest generation.
    let answer = server.chat("always", OIL, &json!({"ken": {"generation": 5}}));
    assert_eq!(answer.json()["ken"]["corpus"]["generation"], 5);
}

#[test]
fn a_corpus_is_made_filled_and_removed() {
    let server = Running::start();
    let corpora = "/v1/ken/corpora";
    let made = server.post(corpora, &json!({"name": "hill"}));
    assert_eq!((made.status, &made.json()["generation"]), (201, &json!(0)));
    assert_eq!(
        server.post(corpora, &json!({"name": "hill"})).code(),
        "corpus_exists"
    );
    assert_eq!(
        server.post(corpora, &json!({"name": "notes"})).code(),
        "corpus_exists"
    );
    for bad in ["", "../hill", "a/b", ".x", "a.json"] {
        let refused = server.post(corpora, &json!({ "name": bad }));
        refused.refuses_for(&bad, 400, "invalid_value");
    }
    assert_eq!(found(&server, "hill", "goat").0, ["empty_corpus"]);
    let job = ingested(
        &server,
        "hill",
        "a.jsonl",
        "{\"id\": \"g\", \"contents\": \"A goat.\"}",
    );
    has!(job, ["status"]: "done", ["generation"]: 1);
    let (hits, _) = found(&server, "hill", "goat");
    assert_eq!(hits, ["g"]);
    // Corpora of the settings stay.
    let stays = server.delete(&format!("{corpora}/notes"));
    stays.refuses(403, "corpus_of_settings");
    has!(server.delete(&format!("{corpora}/hill")).json(), ["status"]: "done");
    assert_eq!(
        server.get(&format!("{corpora}/hill")).code(),
        "unknown_corpus"
    );
    assert!(!server.folder.path().join("data/corpora/hill").exists());
}

#[test]
fn hostile_documents_harm_nobody() {
    let server = Running::start();
    let path = "/v1/ken/corpora/notes/documents";
    for (name, content, status, code) in [
        ("a.exe", "MZ", 415, "unsupported_format"),
        ("README", "x", 415, "unsupported_format"),
        (".hidden.md", "x", 400, "invalid_filename"),
        ("..", "x", 400, "invalid_filename"),
    ] {
        for path in [path, FILES] {
            let refused = send(&server, path, name, content);
            refused.refuses_for(&format_args!("{name} {path}"), status, code);
        }
    }
    assert_eq!(send(&server, FILES, "a.md", "").code(), "empty_file");
    let two = upload(FILES, &[], &[("a.md", b"x"), ("b.md", b"y")], &[]);
    assert_eq!(exchange(server.address, &two).code(), "missing_file");
    let same = upload(path, &[], &[("a.md", b"x"), ("a.md", b"y")], &[]);
    assert_eq!(exchange(server.address, &same).code(), "invalid_filename");
    assert_eq!(server.post(FILES, &json!({})).code(), "not_multipart");
    let no_parts = upload(path, &[], &[], &[]);
    assert_eq!(exchange(server.address, &no_parts).code(), "missing_file");
    let unknown = send(&server, "/v1/ken/corpora/none/documents", "a.md", "x");
    unknown.refuses(404, "unknown_corpus");

    // Content that is broken inside fails as a job, and nothing of it is published, not even the good line.
    let good = "{\"id\": \"good\", \"contents\": \"Basilisk.\"}";
    for (name, content) in [
        ("lines.jsonl", format!("{good}\n{{\"id\": ")),
        ("table.csv", "id,contents\n1,\"open".to_owned()),
        ("paper.pdf", "%PDF-1.7\nnothing".to_owned()),
        ("rows.parquet", "PAR1nonsensePAR1".to_owned()),
        ("packed.txt.gz", "no gzip".to_owned()),
        ("dump.xml", "<mediawiki><page>".to_owned()),
        ("twice.jsonl", format!("{good}\n{good}")),
    ] {
        let job = ingested(&server, "notes", name, &content);
        assert_eq!(
            (&job["status"], &job["generation"]),
            (&json!("failed"), &json!(1)),
            "{name}: {job}"
        );
        let message = job["error"]["message"].as_str().unwrap();
        assert!(
            !message.contains("/data/jobs") && !message.is_empty(),
            "{message}"
        );
    }
    assert_eq!(found(&server, "notes", "Basilisk"), (Vec::new(), 1));
    // As one of a vector store.
    let file = uploaded(&server, "broken.jsonl", "{");
    let attach = json!({"file_id": file});
    assert_eq!(
        server.post("/v1/vector_stores/notes/files", &attach).status,
        200
    );
    let member = attached(&server, "notes", &file);
    has!(member, ["status"]: "failed", ["last_error"]["code"]: "invalid_file");

    // A body that is cut off.
    let mut request = upload(path, &[], &[("a.md", b"half")], &[]);
    request.truncate(request.len() - 30);
    let mut client = connect(server.address);
    client.write_all(&request).unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(read(client).code(), "body_cut");
    wait_for("nothing is left of any job", || {
        let left = ken_storage::names(&server.folder.path().join("data/jobs"));
        left.unwrap().is_empty()
    });
    assert_eq!(server.chat("always", OIL, &json!({})).status, 200);
}

#[test]
fn questions_do_not_wait_for_documents_and_a_job_can_be_cancelled() {
    let server = Running::start();
    server.holding.held.store(true, Ordering::SeqCst);
    let path = "/v1/ken/corpora/notes/documents";
    let running = send(&server, path, "a.md", "The vane is of copper.").json();
    let id = running["id"].as_str().unwrap();
    wait_for("it waits", || server.holding.waits.load(Ordering::SeqCst));
    let job = server.get(&format!("/v1/ken/jobs/{id}")).json();
    let progress = &job["progress"];
    assert_eq!(
        (&job["status"], &progress["bytes_total"], &progress["place"]),
        (&json!("running"), &json!(22), &Value::Null)
    );
    let waiting = send(&server, path, "b.md", "The bell is of bronze.").json();
    assert_eq!(waiting["progress"]["place"], 1);
    // Meanwhile, the generation before is searched and answered from.
    assert_eq!(found(&server, "notes", "oil").1, 1);
    assert_eq!(server.chat("always", OIL, &json!({})).status, 200);
    let cancel = |job: &Value| {
        let path = format!("/v1/ken/jobs/{}/cancel", job["id"].as_str().unwrap());
        server.post(&path, &json!({}))
    };
    assert_eq!(cancel(&waiting).json()["status"], "cancelled");
    assert_eq!(cancel(&running).status, 200);
    assert_eq!(ended(&server, id)["status"], "cancelled");
    server.holding.held.store(false, Ordering::SeqCst);
    assert_eq!(found(&server, "notes", "copper bronze"), (Vec::new(), 1));
    let listed = server.get("/v1/ken/jobs").json();
    assert_eq!(listed["data"].as_array().unwrap().len(), 2);
    assert_eq!(server.get("/v1/ken/jobs/job_none").code(), "unknown_job");
    // A file that waits can be taken out.
    server.holding.held.store(true, Ordering::SeqCst);
    let file = uploaded(&server, "c.md", "The gate is of iron.");
    let attach = json!({"file_id": file});
    server.post("/v1/vector_stores/notes/files", &attach);
    wait_for("it waits", || server.holding.waits.load(Ordering::SeqCst));
    let gone = server.delete(&format!("/v1/vector_stores/notes/files/{file}"));
    assert_eq!(gone.json()["deleted"], true);
    assert_eq!(found(&server, "notes", "iron"), (Vec::new(), 1));
}

#[test]
fn a_server_that_ends_goes_on_with_its_jobs_when_it_starts_again() {
    let server = Running::start();
    server.holding.held.store(true, Ordering::SeqCst);
    assert_eq!(
        server
            .post("/v1/ken/corpora", &json!({"name": "moor"}))
            .status,
        201
    );
    let file = uploaded(&server, "fen.md", "The fen is crossed by Ottilie.");
    let attach = json!({"file_id": file});
    assert_eq!(
        server.post("/v1/vector_stores/moor/files", &attach).status,
        200
    );
    let path = "/v1/ken/corpora/notes/documents";
    let job = send(&server, path, "a.md", "The vane is of copper.").json();
    wait_for("it waits", || server.holding.waits.load(Ordering::SeqCst));
    let server = server.again();
    let job = ended(&server, job["id"].as_str().unwrap());
    assert_eq!(job["status"], "done");
    assert_eq!(found(&server, "notes", "copper").0, ["a.md"]);
    assert_eq!(attached(&server, "moor", &file)["status"], "completed");
    let document = format!("{file}/fen.md");
    assert_eq!(found(&server, "moor", "Ottilie"), (vec![document], 1));
    wait_for("nothing is left of any job", || {
        let left = ken_storage::names(&server.folder.path().join("data/jobs"));
        left.unwrap().is_empty()
    });
}

#[test]
fn who_may_write_writes_where_they_may() {
    let mut keys = Keys::default();
    let asks = keys.make(grant(&[Scope::Ask, Scope::Search], None), 0);
    let writes = keys.make(grant(&[Scope::Write], Some(&["notes"])), 0);
    let other = keys.make(grant(&[Scope::Write], Some(&["boats"])), 0);
    let all = keys.make(grant(&[Scope::Write], None), 0);
    let server = Running::over(TableModel::new(facts()).unwrap(), LIMITS, &keys);
    let bearer = |key: &str| format!("Bearer {key}");
    let send = |key: &str, path: &str| {
        let headers = [("authorization", bearer(key))];
        let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let request = upload(path, &headers, &[("a.md", b"The vane is of copper.")], &[]);
        exchange(server.address, &request)
    };
    let get = |key: &str, path: &str| {
        let key = bearer(key);
        let request = crate::client::request("GET", path, &[("authorization", &key)], "");
        exchange(server.address, &request)
    };
    let path = "/v1/ken/corpora/notes/documents";
    for (key, status) in [(&asks, 403), (&other, 403), (&writes, 202), (&all, 202)] {
        assert_eq!(send(key, path).status, status);
    }
    assert_eq!(send(&asks, FILES).code(), "insufficient_scope");
    let file = send(&writes, FILES).json()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let file = format!("{FILES}/{file}");
    for (key, status) in [(&asks, 403), (&other, 404), (&writes, 200), (&all, 200)] {
        assert_eq!(get(key, &file).status, status);
    }
    assert_eq!(get(&other, FILES).json()["data"], json!([]));
    let jobs = |key: &str| {
        get(key, "/v1/ken/jobs").json()["data"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!((jobs(&other), jobs(&writes)), (0, 2));
    let make = |key: &str| {
        let headers = [("authorization", bearer(key))];
        let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
        server
            .post_as(&headers, "/v1/ken/corpora", &json!({"name": "mine"}))
            .status
    };
    assert_eq!([make(&asks), make(&writes), make(&all)], [403, 403, 201]);
}

#[test]
fn a_server_without_a_folder_for_it_takes_nothing_in() {
    let server = Running::read_only();
    for response in [
        send(&server, FILES, "a.md", "x"),
        send(&server, "/v1/ken/corpora/notes/documents", "a.md", "x"),
        server.get(FILES),
        server.post("/v1/vector_stores", &json!({})),
        server.post("/v1/ken/corpora", &json!({"name": "x"})),
        server.post("/v1/ken/corpora/notes/rollback", &json!({"generation": 1})),
        server.delete("/v1/ken/corpora/notes"),
    ] {
        response.refuses(403, "read_only");
    }
    assert_eq!(server.get("/v1/ken/corpora/notes").json()["generation"], 1);
}

#[test]
fn a_corpus_that_is_removed_while_it_is_asked_answers_to_the_end() {
    let (server, reading) = Running::slow(LIMITS);
    let made = server.post("/v1/ken/corpora", &json!({"name": "town"}));
    assert_eq!(made.status, 201);
    let job = ingested(&server, "town", "oil.md", "Ida changes the oil.");
    assert_eq!(job["status"], "done", "{job}");
    let body = json!({"question": OIL, "ken": {"corpus": "town"}});
    let asked = std::thread::scope(|scope| {
        let asked = scope.spawn(|| server.post("/v1/ken/ask", &body));
        wait_for("the prompt is read", || {
            reading.now.load(Ordering::SeqCst) == 1
        });
        assert_eq!(server.delete("/v1/ken/corpora/town").status, 200);
        let refused = server.post("/v1/ken/ask", &body);
        refused.refuses(404, "unknown_corpus");
        reading.released.store(true, Ordering::SeqCst);
        asked.join().unwrap()
    });
    let answer = asked.json();
    has!(answer, ["answer"]: "Ida", ["corpus"]["name"]: "town");
    has!(answer, ["citations"][0]["doc_id"]: "oil.md");
}

#[test]
fn a_name_is_taken_once_however_many_ask_for_it() {
    let server = Running::start();
    let file = uploaded(&server, "well.md", "The well is deep.");
    let make = || {
        server
            .post("/v1/ken/corpora", &json!({"name": "well"}))
            .status
    };
    let path = "/v1/vector_stores/well/files";
    let attach = || server.post(path, &json!({ "file_id": file })).status;
    let at_once = |ask: &(dyn Fn() -> u16 + Sync)| {
        std::thread::scope(|scope| {
            let asked: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            let mut statuses: Vec<u16> = asked.into_iter().map(|one| one.join().unwrap()).collect();
            statuses.sort_unstable();
            statuses
        })
    };
    let made = at_once(&make);
    assert_eq!((made[0], &made[1..]), (201, &[409; 7][..]));
    let attached = at_once(&attach);
    assert_eq!((attached[0], &attached[1..]), (200, &[409; 7][..]));
}
