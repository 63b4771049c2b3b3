//! `pypi:` references through a real pip.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ken_hub::{HubError, Progress, Stage};

use super::loopback::{Reply, Server};
use super::wheels::{Bench, FILE, FOLDER, WHEEL, index, parse, sha256, tree, weights, wheel_bytes};

#[test]
fn a_file_and_a_folder_are_pulled_from_a_local_wheel() {
    let bench = Bench::with_wheel(&wheel_bytes(&[]));
    let record = bench.pull(FILE).unwrap();
    assert_eq!(record.file.as_deref(), Some("weights.gguf"));
    assert_eq!(record.files[0].sha256, sha256(&weights()));
    let path = bench.cache().resolve(&parse(FILE)).unwrap();
    assert!(path.ends_with("files/weights.gguf"));
    assert_eq!(std::fs::read(path).unwrap(), weights());

    bench.pull(FOLDER).unwrap();
    let folder = bench.cache().resolve(&parse(FOLDER)).unwrap();
    assert_eq!(tree(&folder), ["1_Pooling/config.json", "config.json"]);
    assert!(tree(&bench.home().join("partial")).is_empty());
}

#[test]
fn a_second_pull_needs_neither_python_nor_network() {
    let mut bench = Bench::with_wheel(&wheel_bytes(&[]));
    let first = bench.pull(FILE).unwrap();
    bench.set("KEN_PYTHON", "/nonexistent/python");
    assert_eq!(bench.pull(FILE).unwrap(), first);
}

#[test]
fn a_page_of_links_on_disk_works_too() {
    let mut bench = Bench::with_wheel(&wheel_bytes(&[]));
    let page = bench.dir.path().join("page.html");
    let wheel = bench.dir.path().join("links").join(WHEEL);
    std::fs::write(
        &page,
        format!("<a href=\"file://{}\">x</a>", wheel.display()),
    )
    .unwrap();
    bench.set("PIP_FIND_LINKS", &page.to_string_lossy());
    let record = bench.pull(FILE).unwrap();
    assert_eq!(record.files[0].sha256, sha256(&weights()));
}

#[test]
fn a_broken_connection_is_retried_within_the_pull() {
    let wheel = wheel_bytes(&[]);
    let half = wheel.len() / 2;
    let body = wheel.clone();
    let cut = AtomicBool::new(false);
    let server = index(&wheel, move |_| {
        let reply = Reply::file(&body);
        if cut.swap(true, Ordering::SeqCst) {
            reply
        } else {
            reply.cut_after(half)
        }
    });
    let bench = Bench::with_index(&server.url);
    let mut seen = Vec::new();
    let record = bench
        .cache()
        .pull(&parse(FILE), &mut |p| seen.push(p), &AtomicBool::new(false))
        .unwrap();
    assert_eq!(record.files[0].sha256, sha256(&weights()));
    // An older pip starts over, a newer one resumes.
    assert_eq!(server.requests(WHEEL).len(), 2);
    for stage in [Stage::Downloading, Stage::Unpacking] {
        assert!(seen.iter().any(|p| p.stage == stage), "{stage:?}");
    }
}

#[test]
fn a_failed_pull_can_be_repeated() {
    let wheel = wheel_bytes(&[]);
    let body = wheel.clone();
    let healed = Arc::new(AtomicBool::new(false));
    let state = healed.clone();
    let server = index(&wheel, move |_| match state.load(Ordering::SeqCst) {
        true => Reply::file(&body),
        false => Reply::status(503),
    });
    let bench = Bench::with_index(&server.url);
    let error = bench.pull(FILE).unwrap_err();
    assert_eq!(error.kind(), "network", "{error}");
    assert!(bench.cache().list().unwrap().is_empty());
    healed.store(true, Ordering::SeqCst);
    bench.pull(FILE).unwrap();
}

#[test]
fn a_cancelled_pull_stops_pip_and_reports_growing_bytes() {
    let wheel = wheel_bytes(&[]);
    let body = wheel.clone();
    let server = index(&wheel, move |_| Reply::file(&body).endless());
    let bench = Bench::with_index(&server.url);
    let (cancel, mut seen) = (AtomicBool::new(false), Vec::new());
    let mut watch = |p: Progress| {
        cancel.store(p.bytes_done > 10_000_000, Ordering::SeqCst);
        seen.push((p.file, p.bytes_done));
    };
    let pulled = bench.cache().pull(&parse(FILE), &mut watch, &cancel);
    let error = pulled.unwrap_err();
    assert!(matches!(error, HubError::Cancelled), "{error}");
    let (file, bytes) = seen.last().unwrap();
    assert!(file == WHEEL && *bytes > 10_000_000, "{file} {bytes}");
    assert!(tree(&bench.home().join("partial")).is_empty());
    // The server lost its only client.
    assert_eq!(server.requests(WHEEL).len(), 1);
}

#[test]
fn bytes_that_do_not_match_the_announced_checksum_are_deleted() {
    let wheel = wheel_bytes(&[]);
    let mut bad = wheel.clone();
    bad[1000] ^= 1;
    let wrong = sha256(&bad);
    let server = index(&wheel, move |_| Reply::file(&bad));
    let bench = Bench::with_index(&server.url);
    let error = bench.pull(FILE).unwrap_err();
    assert_eq!(error.kind(), "checksum_mismatch", "{error}");
    let message = error.to_string();
    assert!(
        message.contains(&sha256(&wheel)) && message.contains(&wrong),
        "{message}"
    );
    assert!(tree(&bench.home().join("partial")).is_empty());
}

#[test]
fn broken_wheels_are_named_and_not_kept() {
    let mut wheel = wheel_bytes(&[]);
    wheel.truncate(wheel.len() / 2);
    let bench = Bench::with_wheel(&wheel);
    let error = bench.pull(FILE).unwrap_err();
    assert_eq!(error.kind(), "broken_archive", "{error}");
    assert!(error.to_string().contains(WHEEL));

    let mut wheel = wheel_bytes(&[]);
    wheel[200_000] ^= 1;
    std::fs::write(bench.dir.path().join("links").join(WHEEL), wheel).unwrap();
    let error = bench.pull(FILE).unwrap_err();
    assert_eq!(error.kind(), "broken_archive", "{error}");

    std::fs::write(bench.dir.path().join("links").join(WHEEL), wheel_bytes(&[])).unwrap();
    bench.pull(FILE).unwrap();
}

#[test]
fn entries_that_leave_the_archive_are_refused() {
    for name in [
        "../evil",
        "tiny_model/model/../../../evil",
        "/etc/evil",
        "a\\..\\b",
    ] {
        let bench = Bench::with_wheel(&wheel_bytes(&[(name, b"x")]));
        let error = bench.pull(FOLDER).unwrap_err();
        assert_eq!(error.kind(), "unsafe_entry", "{name}: {error}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn a_path_that_is_not_in_the_wheel_shows_its_neighbours() {
    let bench = Bench::with_wheel(&wheel_bytes(&[]));
    let error = bench
        .pull("pypi:tiny-model==1.0/tiny_model/weigths.gguf")
        .unwrap_err();
    assert_eq!(error.kind(), "file_not_found");
    assert!(
        error.to_string().contains("tiny_model/weights.gguf"),
        "{error}"
    );
}

#[test]
fn unknown_packages_and_versions_are_told_apart() {
    let bench = Bench::with_wheel(&wheel_bytes(&[]));
    let error = bench.pull("pypi:no-such-model==1.0/x").unwrap_err();
    assert_eq!(error.kind(), "package_not_found", "{error}");
    let error = bench.pull("pypi:tiny-model==2.0/x").unwrap_err();
    assert_eq!(error.kind(), "version_not_found", "{error}");
    assert!(error.to_string().ends_with("available: 1.0"), "{error}");
}

#[test]
fn an_unreachable_index_is_a_network_error() {
    let bench = Bench::with_index("http://ada:secret@127.0.0.1:1");
    let error = bench.pull(FILE).unwrap_err();
    assert_eq!(error.kind(), "network", "{error}");
    assert!(error.to_string().contains("127.0.0.1"));
    assert!(!error.to_string().contains("secret"));
}

#[test]
fn credentials_of_the_index_reach_its_files() {
    let wheel = wheel_bytes(&[]);
    let body = wheel.clone();
    let server = index(&wheel, move |request| match request.authorization {
        Some(_) => Reply::file(&body),
        None => Reply::status(401),
    });
    let bench = Bench::with_index(&server.url.replace("http://", "http://ada:pw@"));
    bench.pull(FILE).unwrap();
    let seen = server.requests(WHEEL)[0].authorization.clone();
    assert_eq!(seen.as_deref(), Some("Basic YWRhOnB3"));
}

#[test]
fn a_missing_python_and_a_missing_pip_name_the_remedy() {
    let mut bench = Bench::with_wheel(&wheel_bytes(&[]));
    bench.set("KEN_PYTHON", "/nonexistent/python");
    let error = bench.pull(FILE).unwrap_err();
    assert_eq!(error.kind(), "python_missing");
    assert!(error.to_string().contains("/nonexistent/python"));
    assert!(error.remedy().unwrap().mentions("KEN_PYTHON"));
}

#[cfg(unix)]
#[test]
fn a_python_without_pip_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let mut bench = Bench::new();
    let python = bench.dir.path().join("python");
    std::fs::write(
        &python,
        "#!/bin/sh\necho \"$0: No module named pip\" >&2\nexit 1\n",
    )
    .unwrap();
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    bench.set("KEN_PYTHON", &python.to_string_lossy());
    let error = bench.pull(FILE).unwrap_err();
    assert_eq!(error.kind(), "pip_missing", "{error}");
    assert!(error.remedy().unwrap().mentions("ensurepip"));
}

/// An index that lists `files` as JSON and serves them.
fn json_index(files: serde_json::Value, answer: impl Fn() -> Reply + Send + 'static) -> Server {
    Server::start(move |request| match request.path.as_str() {
        "/simple/tiny-model/" => Reply::text(serde_json::json!({ "files": files }).to_string()),
        path if path.ends_with(WHEEL) => answer(),
        _ => Reply::status(404),
    })
}

/// A machine without Python, and an index.
fn without_python(server: &Server) -> Bench {
    let mut bench = Bench::with_index(&server.url);
    bench.set("PATH", "/nonexistent");
    bench.set("KEN_PYTHON", "");
    bench
}

#[test]
fn without_python_the_index_is_asked_for_the_wheel() {
    let wheel = wheel_bytes(&[]);
    let files = serde_json::json!([
        { "filename": "tiny_model-0.9-py3-none-any.whl", "url": "elsewhere" },
        { "filename": WHEEL.replace("any", "win_amd64"), "url": "elsewhere" },
        {
            "filename": WHEEL,
            "url": format!("../../files/{WHEEL}"),
            "hashes": { "sha256": sha256(&wheel) },
            "size": wheel.len(),
        },
    ]);
    let (half, cut) = (wheel.len() / 2, AtomicBool::new(false));
    let server = json_index(files, move || match cut.swap(true, Ordering::SeqCst) {
        true => Reply::file(&wheel),
        false => Reply::file(&wheel).cut_after(half),
    });
    let bench = without_python(&server);
    let record = bench.pull(FILE).unwrap();
    assert_eq!(record.files[0].sha256, sha256(&weights()));
    // The interrupted download was resumed.
    let asked: Vec<_> = server.requests(WHEEL).iter().map(|r| r.from).collect();
    assert_eq!(asked, [None, Some(half)]);
}

#[test]
fn without_python_an_index_that_does_not_serve_is_named() {
    let file = |name: &str, hash: &str| serde_json::json!({ "filename": name, "url": format!("/{WHEEL}"), "hashes": { "sha256": hash } });
    let sdist = WHEEL.replace("-py3-none-any.whl", ".tar.gz");
    let cases = [
        (vec![], "package_not_found"),
        (vec![file(&sdist, "")], "package_not_found"),
        (
            vec![file("tiny_model-0.9-py3-none-any.whl", "")],
            "version_not_found",
        ),
        (vec![file(WHEEL, "0")], "checksum_mismatch"),
        (vec![file(&format!("/tmp/{WHEEL}"), "")], "bad_index"),
        (vec![file(&WHEEL.replace("any", "../any"), "")], "bad_index"),
    ];
    for (files, kind) in cases {
        let server = json_index(files.into(), || Reply::file(&wheel_bytes(&[])));
        let error = without_python(&server).pull(FILE).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    }
    // An index that has only links.
    let server = index(&wheel_bytes(&[]), |_| Reply::status(404));
    let error = without_python(&server).pull(FILE).unwrap_err();
    assert_eq!(error.kind(), "bad_index", "{error}");
    assert!(error.remedy().unwrap().mentions("pip"));
}

#[test]
fn two_pulls_at_once_download_once() {
    let wheel = wheel_bytes(&[]);
    let body = wheel.clone();
    let served = Arc::new(AtomicUsize::new(0));
    let count = served.clone();
    let server = index(&wheel, move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(std::time::Duration::from_millis(300));
        Reply::file(&body)
    });
    let bench = Bench::with_index(&server.url);
    std::thread::scope(|scope| {
        let pulls: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| bench.pull(FILE).unwrap()))
            .collect();
        for pull in pulls {
            assert_eq!(pull.join().unwrap().files[0].sha256, sha256(&weights()));
        }
    });
    assert_eq!(served.load(Ordering::SeqCst), 1);
}
