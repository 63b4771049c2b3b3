//! `hf:` references against a server that speaks the hub's protocol as far as it is used.

use std::sync::atomic::{AtomicBool, Ordering};

use super::loopback::{Reply, Server};
use super::wheels::{Bench, noise, parse, sha256, tree};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const CONFIG: &str = "{\"model_type\": \"llama\"}";

fn listing(weights: &[u8]) -> String {
    serde_json::json!({
        "sha": COMMIT,
        "siblings": [
            { "rfilename": "README.md", "size": 10 },
            { "rfilename": "config.json", "size": CONFIG.len() },
            { "rfilename": "1_Pooling/config.json" },
            {
                "rfilename": "model.safetensors",
                "size": weights.len(),
                "lfs": { "sha256": sha256(weights), "size": weights.len(), "pointerSize": 134 }
            },
        ]
    })
    .to_string()
}

/// A hub with one repository; the first download of its weights is cut half way.
fn hub(weights: &[u8]) -> Server {
    let body = weights.to_vec();
    let listing = listing(weights);
    let cut = AtomicBool::new(false);
    Server::start(move |request| {
        let file = format!("/org/repo/resolve/{COMMIT}/");
        match request.path.as_str() {
            "/api/models/org/repo/revision/main" | "/api/models/org/repo/revision/v1" => {
                Reply::text(listing.clone())
            }
            "/api/models/org/broken/revision/main" => Reply::text("<html>"),
            path => match path.strip_prefix(&file) {
                Some("config.json") => Reply::file(CONFIG.as_bytes()),
                Some("1_Pooling/config.json") => Reply::file(b"{}"),
                Some("model.safetensors") => {
                    let reply = Reply::file(&body);
                    if cut.swap(true, Ordering::SeqCst) {
                        reply
                    } else {
                        reply.cut_after(body.len() / 2)
                    }
                }
                _ => Reply::status(404),
            },
        }
    })
}

fn bench(server: &Server) -> Bench {
    let mut bench = Bench::new();
    bench.set("HF_ENDPOINT", &server.url);
    bench
}

#[test]
fn a_repository_is_pulled_continued_after_a_cut_and_recorded() {
    let weights = noise(700_000);
    let server = hub(&weights);
    let mut bench = bench(&server);
    bench.set("HF_TOKEN", "hf_abc");
    let record = bench.pull("hf:org/repo").unwrap();
    assert_eq!(record.commit.as_deref(), Some(COMMIT));
    assert_eq!(record.file, None);
    let folder = bench.cache().resolve(&parse("hf:org/repo")).unwrap();
    assert_eq!(
        tree(&folder),
        ["1_Pooling/config.json", "config.json", "model.safetensors"]
    );
    assert_eq!(
        std::fs::read(folder.join("model.safetensors")).unwrap(),
        weights
    );
    let requests = server.requests("model.safetensors");
    let froms: Vec<_> = requests.iter().map(|r| r.from).collect();
    assert_eq!(froms, [None, Some(weights.len() / 2)]);
    assert_eq!(requests[0].authorization.as_deref(), Some("Bearer hf_abc"));
    assert_eq!(
        server.requests("/main")[0].authorization.as_deref(),
        Some("Bearer hf_abc")
    );

    // The second pull asks nothing.
    bench.set("HF_ENDPOINT", "http://127.0.0.1:1");
    bench.pull("hf:org/repo").unwrap();
    assert_eq!(server.requests("/main").len(), 1);
}

#[test]
fn one_file_of_a_revision_is_pulled_alone() {
    let server = hub(&noise(1000));
    let bench = bench(&server);
    let record = bench.pull("hf:org/repo/config.json@v1").unwrap();
    assert_eq!(record.files.len(), 1);
    let path = bench.cache().resolve(&record.reference).unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), CONFIG);
    let error = bench.pull("hf:org/repo/model.safetensor").unwrap_err();
    assert_eq!(error.kind(), "file_not_found");
    assert!(error.to_string().contains("model.safetensors"), "{error}");
}

#[test]
fn a_wrong_checksum_is_refused() {
    let weights = noise(1000);
    let listing = listing(&noise(1001)[1..]);
    let server = Server::start(move |request| {
        if request.path.starts_with("/api/") {
            Reply::text(listing.clone())
        } else {
            Reply::file(&weights)
        }
    });
    let error = bench(&server)
        .pull("hf:org/repo/model.safetensors")
        .unwrap_err();
    assert_eq!(error.kind(), "checksum_mismatch", "{error}");
}

#[test]
fn files_of_the_shared_cache_are_not_downloaded_again() {
    let weights = noise(1000);
    let server = hub(&weights);
    let bench = bench(&server);
    let repo = bench.dir.path().join("hf/hub/models--org--repo");
    let snapshot = repo.join("snapshots").join(COMMIT);
    std::fs::create_dir_all(repo.join("refs")).unwrap();
    std::fs::create_dir_all(&snapshot).unwrap();
    std::fs::write(repo.join("refs/main"), COMMIT).unwrap();
    std::fs::write(snapshot.join("model.safetensors"), &weights).unwrap();
    bench.pull("hf:org/repo").unwrap();
    assert!(server.requests("model.safetensors").is_empty());
}

#[test]
fn unknown_repositories_and_unreadable_answers_are_named() {
    let server = hub(&noise(10));
    let bench = bench(&server);
    let error = bench.pull("hf:org/none").unwrap_err();
    assert_eq!(error.kind(), "repository_not_found", "{error}");
    assert!(error.to_string().contains("org/none") && error.to_string().contains("404"));
    assert!(error.remedy().unwrap().mentions("HF_TOKEN"));
    let error = bench.pull("hf:org/broken").unwrap_err();
    assert_eq!(error.kind(), "bad_answer", "{error}");
}

#[test]
fn offline_is_said_plainly() {
    let mut bench = Bench::new();
    bench.set("HF_ENDPOINT", "http://127.0.0.1:1");
    let error = bench.pull("hf:org/repo").unwrap_err();
    assert_eq!(error.kind(), "network", "{error}");
    assert!(error.to_string().contains("127.0.0.1"), "{error}");
    assert!(error.remedy().unwrap().mentions("local copy"));
}
