//! Links in the folder of uploads, made while the server runs: no route follows them.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::fixture::{Running, wait_for};
use crate::library::{FILES, ingested, send, uploaded};

/// Everything below a folder, with the content of files.
fn held(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.extend(held(&path)),
            false => drop(all.insert(path.clone(), std::fs::read(&path).unwrap())),
        }
        all.entry(path).or_default();
    }
    all
}

#[test]
fn no_route_writes_or_deletes_through_a_link() {
    let server = Running::start();
    let data = server.folder.path().join("data");
    let outside = server.folder.path().join("outside");
    server.post("/v1/ken/corpora", &json!({"name": "made"}));
    let id = uploaded(&server, "oil.md", "The oil is changed in May.");
    ingested(
        &server,
        "made",
        "tires.md",
        "The tires are changed in October.",
    );
    for name in ["files", "jobs", "corpora", "corpora/made/corpus/marks"] {
        let place = data.join(name);
        // The original moves outside, and reads as before.
        std::fs::rename(&place, &outside).unwrap();
        symlink(&outside, &place).unwrap();
        let before = held(&outside);
        let calls = [
            send(&server, FILES, "new.md", "A new file."),
            server.delete(&format!("{FILES}/{id}")),
            send(
                &server,
                "/v1/ken/corpora/made/documents",
                "more.md",
                "More.",
            ),
            server.post("/v1/ken/corpora", &json!({"name": "another"})),
            server.delete("/v1/ken/corpora/another"),
            server.post("/v1/vector_stores/made/files", &json!({"file_id": id})),
        ];
        let is_refused = calls.iter().any(|call| call.status >= 500);
        assert!(is_refused || name.ends_with("marks"), "{name}");
        wait_for("the jobs to end", || {
            let jobs = server.get("/v1/ken/jobs").text();
            !jobs.contains("\"running\"") && !jobs.contains("\"waiting\"")
        });
        assert_eq!(held(&outside), before, "{name}");
        std::fs::remove_file(&place).unwrap();
        std::fs::rename(&outside, &place).unwrap();
    }
}
