//! The files of the console as the server sends them: with their kinds and tags, under a strict policy, and no other
//! files.

use ken_language::LanguageModel;
use ken_server::{Keys, Scope};
use ken_testing::{TableModel, has};
use serde_json::{Value, json};

use crate::client::{Response, exchange, request};
use crate::fixture::{LIMITS, Running, facts, grant};

/// The addresses of files that the page names.
fn files(page: &str) -> Vec<String> {
    let links = page.split("=\"/console/").skip(1);
    let links = links.map(|rest| format!("/console/{}", rest.split('"').next().unwrap()));
    links.collect()
}

/// Checks the headers of every file.
fn guarded(response: &Response) {
    let policy = response.header("content-security-policy").unwrap();
    for part in [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
    ] {
        assert!(
            policy.split("; ").any(|other| other == part),
            "{part}: {policy}"
        );
    }
    assert!(!policy.contains("unsafe") && !policy.contains('*') && !policy.contains("http"));
    assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(response.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(response.header("access-control-allow-origin"), None);
}

#[test]
fn the_page_and_its_files_are_served() {
    let server = Running::start();
    let page = server.get("/");
    guarded(&page);
    assert_eq!(
        (
            page.status,
            page.header("content-type"),
            page.header("cache-control")
        ),
        (200, Some("text/html; charset=utf-8"), Some("no-cache"))
    );
    let text = page.text();
    assert!(
        !text.contains(" style=") && !text.contains(" onclick="),
        "{text}"
    );
    let files = files(&text);
    assert_eq!(files.len(), 3);
    for file in &files {
        let response = server.get(file);
        guarded(&response);
        let kind = match file.rsplit('.').next().unwrap() {
            "js" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            _ => "image/svg+xml",
        };
        assert_eq!(
            (response.status, response.header("content-type")),
            (200, Some(kind))
        );
        assert!(!response.body.is_empty());
        let kept = response.header("cache-control").unwrap();
        assert!(kept.contains("immutable"), "{kept}");
    }
    // A browser that has the file gets only the news that it is unchanged.
    for path in ["/", &files[0]] {
        let tag = server.get(path).header("etag").unwrap().to_owned();
        for known in [tag.clone(), format!("\"x\", W/{tag}"), "*".to_owned()] {
            let headers = [("if-none-match", known.as_str())];
            let again = exchange(server.address, &request("GET", path, &headers, ""));
            assert_eq!((again.status, again.body.len()), (304, 0), "{known}");
            guarded(&again);
        }
        let headers = [("if-none-match", "\"another\"")];
        let changed = exchange(server.address, &request("GET", path, &headers, ""));
        assert_eq!(changed.status, 200);
    }
    let head = exchange(server.address, &request("HEAD", "/", &[], ""));
    assert_eq!((head.status, head.body.len()), (200, 0));
    let posted = server.post("/", &json!({}));
    posted.refuses(405, "method_not_allowed");
    // The log names the page, and not each of its files.
    let log = server.log.lock().unwrap();
    let route = |entry: &Value| entry["route"].as_str().unwrap_or_default().to_owned();
    let routes: Vec<String> = log.iter().map(route).collect();
    assert!(routes.iter().any(|route| route == "/"), "{routes:?}");
    assert!(
        !routes.iter().any(|route| route.starts_with("/console/")),
        "{routes:?}"
    );
}

#[test]
fn no_path_leads_out_of_the_folder() {
    let server = Running::start();
    let file = files(&server.get("/").text()).pop().unwrap();
    let (folder, name) = file.rsplit_once('/').unwrap();
    let below = [
        "..%2findex.html",
        "..%2f..%2fCargo.toml",
        "%2e%2e%2f%2e%2e%2fCargo.toml",
        "%2e%2e/%2e%2e/Cargo.toml",
        "../../Cargo.toml",
        "%252e%252e%252fCargo.toml",
        "..%255c..%255cCargo.toml",
        "..\\..\\Cargo.toml",
        "..%5c..%5cCargo.toml",
        "%c0%ae%c0%ae%c0%afCargo.toml",
        "%u002e%u002e%u2215Cargo.toml",
        "%ff",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "C:%5cWindows%5cwin.ini",
        "file:%2f%2f%2fetc%2fpasswd",
        "index.html",
        "%7bversion%7d",
        ".",
        "..",
        "",
    ];
    let beside = [
        format!("{file}%00"),
        format!("{file}%00.css"),
        format!("{file}/"),
        format!("{file}%20"),
        format!("{folder}/{}", name.to_uppercase()),
        format!("{folder}/./../{}/{name}", "0".repeat(16)),
        format!("/console/{name}"),
        format!("/console//{name}"),
        format!("/console/{}/{name}", "0".repeat(16)),
        "/console".to_owned(),
        "/console/".to_owned(),
        "/..%2f".to_owned(),
        "/..%2fetc%2fpasswd".to_owned(),
        "/%2e%2e/%2e%2e/etc/passwd".to_owned(),
        "/../../etc/passwd".to_owned(),
        "//etc/passwd".to_owned(),
        "/\\..\\..\\etc\\passwd".to_owned(),
        "/index.html".to_owned(),
        "http://localhost/..%2fetc/passwd".to_owned(),
    ];
    let below = below.iter().map(|path| format!("{folder}/{path}"));
    for path in below.chain(beside) {
        let response = server.get(&path);
        response.refuses_for(&path, 404, "unknown_route");
    }
    // A path that is not valid is refused as such.
    for path in [format!("{file}\0"), format!("{folder}/\u{1}")] {
        let response = server.get(&path);
        assert_eq!((response.status, response.body.len()), (400, 0), "{path:?}");
    }
    // A query names no file.
    let queried = server.get(&format!("{file}?file=../../Cargo.toml"));
    assert_eq!(queried.body, server.get(&file).body);
}

#[test]
fn the_page_needs_no_key_and_says_what_a_key_may_do() {
    let mut keys = Keys::default();
    let asks = keys.make(grant(&[Scope::Ask], Some(&["notes"])), 0);
    let model = TableModel::new(facts()).unwrap();
    let server = Running::over(model, LIMITS, &keys);
    let page = server.get("/");
    assert_eq!(page.status, 200);
    for file in files(&page.text()) {
        assert_eq!(server.get(&file).status, 200, "{file}");
    }
    assert_eq!(server.get("/v1/ken/access").code(), "missing_api_key");
    let authorization = format!("Bearer {asks}");
    let headers = [("authorization", authorization.as_str())];
    let access = exchange(
        server.address,
        &request("GET", "/v1/ken/access", &headers, ""),
    );
    let access = access.json();
    has!(access, ["key"]: json!(keys.keys[0].id), ["scopes"]: json!(["ask"]));
    has!(access, ["corpora"]: json!(["notes"]), ["takes_documents"]: true);

    let open = Running::read_only().get("/v1/ken/access").json();
    let all = json!(["ask", "search", "write", "admin"]);
    let model = TableModel::new(facts()).unwrap().fingerprint().to_owned();
    assert_eq!(
        open,
        json!({"key": null, "scopes": all, "corpora": null, "sources": ["self", "notes", "boats"],
            "takes_documents": false, "has_guarantee": false, "model": model, "measures": false,
            "shows_studies": false})
    );
    // The console refuses pages of other origins.
    let headers = [("host", "rebound.example")];
    let open = Running::start();
    let rebound = exchange(open.address, &request("GET", "/", &headers, ""));
    assert_eq!(rebound.code(), "other_host");
}
