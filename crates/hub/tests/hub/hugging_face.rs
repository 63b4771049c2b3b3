//! `hf:` references against a server that speaks the part of the hub's protocol that ken uses.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ken_hub::{HubError, Stage, open_models};

use super::loopback::{Reply, Request, Server};
use super::wheels::{Bench, noise, only_entry, parse, sha256, tree};

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

const WEIGHTS: &str = "model.safetensors";
const REPOSITORY: &str = "hf:org/repo/model.safetensors";

/// A hub that answers requests for the weights with `answer`.
fn files(weights: &[u8], answer: impl Fn(&Request) -> Reply + Send + 'static) -> Server {
    let listing = listing(weights);
    Server::start(move |request| match request.path.starts_with("/api/") {
        true => Reply::text(listing.clone()),
        false => answer(request),
    })
}

fn bench(server: &Server) -> Bench {
    let mut bench = Bench::new();
    bench.set("HF_ENDPOINT", &server.url);
    bench
}

#[test]
fn a_repository_is_pulled_resumed_and_recorded() {
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

    // The second pull sends no request.
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
fn an_open_model_is_fetched_by_its_short_name_and_held_to_its_checksum() {
    for model in open_models() {
        let known = model.known;
        let weights = noise(1000);
        let listing = serde_json::json!({
            "sha": COMMIT,
            "siblings": [{
                "rfilename": known.weights,
                "size": weights.len(),
                "lfs": { "sha256": sha256(&weights), "size": weights.len(), "pointerSize": 134 }
            }],
        });
        let server = Server::start(move |request| match request.path.starts_with("/api/") {
            true => Reply::text(listing.to_string()),
            false => Reply::file(&weights),
        });
        let error = bench(&server).pull(known.name).unwrap_err();
        assert_eq!(error.kind(), "checksum_mismatch", "{error}");
        assert!(error.to_string().contains(known.sha256), "{error}");
        assert_eq!(server.requests(known.weights).len(), 1);
    }
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
fn being_offline_is_a_network_error() {
    let mut bench = Bench::new();
    bench.set("HF_ENDPOINT", "http://127.0.0.1:1");
    let error = bench.pull("hf:org/repo").unwrap_err();
    assert_eq!(error.kind(), "network", "{error}");
    assert!(error.to_string().contains("127.0.0.1"), "{error}");
    assert!(error.remedy().unwrap().mentions("local copy"));
}

#[test]
fn the_proxy_of_the_environment_leads_to_the_hub() {
    let proxy = Server::start(|_| Reply::status(403));
    let mut bench = Bench::new();
    bench.set("HF_ENDPOINT", "http://hub.invalid");
    bench.set("HTTP_PROXY", &proxy.url);
    let error = bench.pull("hf:org/repo").unwrap_err();
    assert_eq!(error.kind(), "network", "{error}");
    assert!(!proxy.requests("hub.invalid:80").is_empty());
    bench.set("HTTP_PROXY", "socks5://127.0.0.1:1080");
    let error = bench.pull("hf:org/repo").unwrap_err();
    assert_eq!(error.kind(), "bad_proxy", "{error}");
}

#[test]
fn a_hub_without_encryption_is_asked_once() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut bench = Bench::new();
    let url = format!("https://{}", listener.local_addr().unwrap());
    bench.set("HF_ENDPOINT", &url);
    let met = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&met);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::SeqCst);
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let error = bench.pull("hf:org/repo").unwrap_err().to_string();
    let message = "cannot download from 127.0.0.1: it does not speak TLS";
    assert_eq!((error.as_str(), met.load(Ordering::SeqCst)), (message, 1));
}

#[test]
fn a_broken_connection_is_resumed_within_the_pull() {
    let weights = noise(1_500_000);
    let half = weights.len() / 2;
    let body = weights.clone();
    let cut = AtomicBool::new(false);
    let server = files(&weights, move |_| {
        let reply = Reply::file(&body);
        if cut.swap(true, Ordering::SeqCst) {
            reply
        } else {
            reply.cut_after(half)
        }
    });
    let bench = bench(&server);
    let mut seen = Vec::new();
    let record = bench
        .cache()
        .pull(
            &parse(REPOSITORY),
            &mut |p| seen.push(p),
            &AtomicBool::new(false),
        )
        .unwrap();
    assert_eq!(record.files[0].sha256, sha256(&weights));
    let requests = server.requests(WEIGHTS);
    assert_eq!(requests.len(), 2);
    assert_eq!((requests[0].from, requests[1].from), (None, Some(half)));
    for stage in [Stage::Downloading, Stage::Verifying] {
        assert!(seen.iter().any(|p| p.stage == stage), "{stage:?}");
    }
    let total = Some(weights.len() as u64);
    assert!(
        seen.iter()
            .any(|p| p.bytes_total == total && Some(p.bytes_done) == total)
    );
}

#[test]
fn a_pull_that_failed_half_way_is_resumed_by_the_next() {
    let weights = noise(1_500_000);
    let half = weights.len() / 2;
    let body = weights.clone();
    let healed = Arc::new(AtomicBool::new(false));
    let state = healed.clone();
    let server = files(&weights, move |request| {
        if state.load(Ordering::SeqCst) {
            Reply::file(&body)
        } else if request.from.is_some() {
            Reply::status(503)
        } else {
            Reply::file(&body).cut_after(half)
        }
    });
    let bench = bench(&server);
    let error = bench.pull(REPOSITORY).unwrap_err();
    assert_eq!(error.kind(), "network", "{error}");
    assert!(
        error
            .remedy()
            .unwrap()
            .mentions("continues where it stopped")
    );
    assert!(bench.cache().list().unwrap().is_empty());
    healed.store(true, Ordering::SeqCst);
    bench.pull(REPOSITORY).unwrap();
    assert_eq!(server.requests(WEIGHTS).last().unwrap().from, Some(half));
}

#[test]
fn a_cancelled_pull_keeps_its_bytes() {
    let weights = noise(1_500_000);
    let body = weights.clone();
    let server = files(&weights, move |_| Reply::file(&body));
    let bench = bench(&server);
    let cancel = AtomicBool::new(false);
    let error = bench
        .cache()
        .pull(
            &parse(REPOSITORY),
            &mut |p| cancel.store(p.bytes_done > 300_000, Ordering::SeqCst),
            &cancel,
        )
        .unwrap_err();
    assert!(matches!(error, HubError::Cancelled), "{error}");
    bench.pull(REPOSITORY).unwrap();
    assert!(
        server.requests(WEIGHTS)[1]
            .from
            .is_some_and(|from| from > 0)
    );
}

#[test]
fn stale_bytes_of_an_earlier_run_do_not_spoil_the_next() {
    let weights = noise(1_500_000);
    let body = weights.clone();
    let cut = AtomicBool::new(false);
    let server = files(&weights, move |_| {
        if cut.swap(true, Ordering::SeqCst) {
            Reply::file(&body)
        } else {
            Reply::file(&vec![7; body.len()]).cut_after(5000)
        }
    });
    let bench = bench(&server);
    bench.pull(REPOSITORY).unwrap();
    let froms: Vec<_> = server.requests(WEIGHTS).iter().map(|r| r.from).collect();
    assert_eq!(froms, [None, Some(5000), None]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_link_in_the_place_of_a_download_is_refused() {
    let weights = noise(1_500_000);
    let body = weights.clone();
    let fail = AtomicBool::new(true);
    let server = files(&weights, move |_| {
        if fail.swap(false, Ordering::SeqCst) {
            Reply::status(404)
        } else {
            Reply::file(&body)
        }
    });
    let bench = bench(&server);
    // Find the path of the partial download, then put a link there.
    let cancel = AtomicBool::new(false);
    let _ = bench.cache().pull(
        &parse(REPOSITORY),
        &mut |_| cancel.store(true, Ordering::SeqCst),
        &cancel,
    );
    let partial = only_entry(&bench.home().join("partial"));
    let part = partial.join(COMMIT).join(format!("{WEIGHTS}.part"));
    std::os::unix::fs::symlink("/dev/full", &part).unwrap();
    let error = loop {
        let error = bench.pull(REPOSITORY).unwrap_err();
        if error.kind() != "http_status" {
            break error;
        }
    };
    assert_eq!(error.kind(), "io", "{error}");
    assert!(error.to_string().contains(WEIGHTS), "{error}");
}

#[test]
fn a_token_is_sent_only_to_its_own_origin() {
    let weights = noise(1000);
    let body = weights.clone();
    let store = Server::start(move |_| Reply::file(&body));
    // The same host, another port.
    let elsewhere = format!("{}/{WEIGHTS}", store.url);
    let server = files(&weights, move |request| match request.path.as_str() {
        "/moved" => Reply::redirect(elsewhere.clone()),
        _ => Reply::redirect("/moved".to_owned()),
    });
    let mut bench = bench(&server);
    bench.set("HF_TOKEN", "hf_abc");
    bench.pull(REPOSITORY).unwrap();
    for request in [&server.requests("/main")[0], &server.requests("/moved")[0]] {
        assert_eq!(request.authorization.as_deref(), Some("Bearer hf_abc"));
    }
    assert_eq!(store.requests(WEIGHTS)[0].authorization, None);
}

#[test]
fn a_busy_hub_is_retried() {
    let weights = noise(1000);
    let listing = listing(&weights);
    let asked = AtomicBool::new(false);
    let server = Server::start(move |request| match request.path.starts_with("/api/") {
        true if !asked.swap(true, Ordering::SeqCst) => Reply::status(503),
        true => Reply::text(listing.clone()),
        false => Reply::file(&weights),
    });
    bench(&server).pull(REPOSITORY).unwrap();
    assert_eq!(server.requests("/main").len(), 2);
}
