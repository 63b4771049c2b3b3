//! Every kind of bad input to every route: the right status, an error in OpenAI's form, and a server that goes on.
//! The server itself says which routes there are.

use std::io::{Read, Write};
use std::net::Shutdown;

use ken_server::{Keys, Scope};
use ken_testing::{TableModel, cases};
use serde_json::{Value, json};

use crate::client::{Response, connect, exchange, parsed, request};
use crate::fixture::{LIMITS, OIL, Running, facts, grant};
use crate::route_table::{Route, Takes, routes};

const SCOPES: [Scope; 4] = [Scope::Ask, Scope::Search, Scope::Write, Scope::Admin];

/// Checks that the server still works as before.
fn goes_on(server: &Running) {
    assert_eq!(server.get("/health").status, 200);
    let answer = server.chat("always", OIL, &json!({}));
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "Ida");
}

/// Sends a body as it is.
fn send(server: &Running, route: &Route, body: &str) -> Response {
    exchange(
        server.address,
        &request(&route.method, &route.example, &[], body),
    )
}

#[test]
fn every_route_is_put_to_the_test() {
    let server = Running::start();
    let described = server.get("/openapi.json").json();
    let mut named = Vec::new();
    for (path, methods) in described["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            named.push(format!("{} {path}", method.to_uppercase()));
        }
    }
    named.push("POST /mcp".to_owned());
    let mut tested: Vec<String> = routes().iter().map(Route::name).collect();
    named.sort();
    tested.sort();
    assert_eq!(tested, named);
}

#[test]
fn a_key_is_needed_that_is_known_not_expired_and_has_the_scope() {
    let mut keys = Keys::default();
    let mut key = |scopes: &[Scope], expires| {
        let mut grant = grant(scopes, None);
        grant.expires = expires;
        format!("Bearer {}", keys.make(grant, 0))
    };
    let expired = key(&SCOPES, Some(1));
    let none = key(&[], None);
    let holders = SCOPES.map(|scope| (scope, key(&[scope], None)));
    let server = Running::over(TableModel::new(facts()).unwrap(), LIMITS, &keys);
    for route in routes() {
        let name = route.name();
        let by = |key: &str| {
            let headers = [("authorization", key)];
            exchange(server.address, &route.request(&headers))
        };
        if route.is_open {
            for key in [&expired, "Bearer ken-none", "nonsense"] {
                assert_eq!(by(key).status, 200, "{name}");
            }
            continue;
        }
        let without = exchange(server.address, &route.request(&[]));
        without.refuses_for(&name, 401, "missing_api_key");
        assert_eq!(without.header("www-authenticate"), Some("Bearer"));
        for nonsense in ["nonsense", "Basic a2VuOg==", "Bearer", "Bearer  "] {
            by(nonsense).refuses_for(&name, 401, "missing_api_key");
        }
        for unknown in ["Bearer ken-none", "bearer x"] {
            by(unknown).refuses_for(&name, 401, "invalid_api_key");
        }
        by(&expired).refuses_for(&name, 401, "expired_api_key");
        let opens = |key: &str| {
            let response = by(key);
            assert_ne!(response.status, 401, "{name}");
            response.status != 403 || response.code() != "insufficient_scope"
        };
        assert_eq!(opens(&none), route.scopes.is_empty(), "{name}");
        for (scope, key) in &holders {
            let expected = route.scopes.is_empty() || route.scopes.contains(scope);
            assert_eq!(opens(key), expected, "{name} {scope}");
        }
    }
    let asks = [("authorization", holders[0].1.as_str())];
    let answer = server.post_as(&asks, "/v1/ken/ask", &json!({"question": OIL}));
    assert_eq!(answer.json()["answer"], "Ida");
}

#[test]
fn a_key_for_another_corpus_opens_none_of_this_one() {
    let mut keys = Keys::default();
    let key = format!("Bearer {}", keys.make(grant(&SCOPES, Some(&["boats"])), 0));
    let server = Running::over(TableModel::new(facts()).unwrap(), LIMITS, &keys);
    let headers = [("authorization", key.as_str())];
    let mut count = 0;
    for route in routes()
        .iter()
        .filter(|route| route.example.contains("notes"))
    {
        let response = exchange(server.address, &route.request(&headers));
        response.refuses_for(&route.name(), 403, "insufficient_scope");
        count += 1;
    }
    assert!(count >= 12, "{count}");
    for (path, body) in [
        ("/v1/ken/ask", json!({"question": OIL})),
        ("/v1/ken/decide", json!({"question": OIL})),
        ("/v1/ken/search", json!({"query": "oil", "corpus": "notes"})),
        ("/v1/ken/corpora", json!({"name": "made"})),
        ("/v1/vector_stores", json!({"name": "made"})),
    ] {
        server
            .post_as(&headers, path, &body)
            .refuses_for(&path, 403, "insufficient_scope");
    }
}

/// Errors of the MCP are those of JSON-RPC.
fn is_bad_body(response: &Response, route: &Route, code: &str, what: &str) {
    if route.is_mcp() && code != "missing_body" {
        assert_eq!(response.status, 400, "{what}");
        assert!(response.json()["error"]["code"].is_number(), "{what}");
    } else {
        response.refuses_for(&what, 400, code);
    }
}

#[test]
fn bodies_that_are_none_or_of_other_types_are_refused() {
    let server = Running::keeping(&Keys::default());
    let deep = "[".repeat(100_000);
    for route in routes() {
        let name = route.name();
        let Some(good) = route.body() else {
            continue;
        };
        if matches!(route.takes, Takes::Json(_)) {
            send(&server, &route, "").refuses_for(&name, 400, "missing_body");
        }
        let nested = send(&server, &route, &deep);
        assert_eq!(nested.status, 400, "{name}");
        assert!(
            route.is_mcp() || nested.code().starts_with("invalid_"),
            "{name}"
        );
        let more = format!("{good} {good}");
        is_bad_body(&send(&server, &route, &more), &route, "invalid_json", &more);
        for broken in ["{", "nonsense", "\u{0}", "{\""] {
            let shown: String = broken.chars().take(20).collect();
            is_bad_body(
                &send(&server, &route, broken),
                &route,
                "invalid_json",
                &format!("{name} {shown}"),
            );
        }
        for other in ["7", "[]", "null", "\"text\"", "true"] {
            let what = format!("{name} {other}");
            is_bad_body(
                &send(&server, &route, other),
                &route,
                "invalid_value",
                &what,
            );
        }
        if route.is_mcp() {
            continue;
        }
        // Each field of a good body as something else.
        for field in good.as_object().unwrap().keys() {
            for wrong in [json!({"a": [1]}), json!(7.5), json!([[]]), json!(true)] {
                let mut body = good.clone();
                body[field] = wrong;
                let what = format!("{name} {body}");
                send(&server, &route, &body.to_string()).refuses_for(&what, 400, "invalid_value");
            }
        }
        // A field that appears twice.
        let text = good.to_string();
        let field = text[1..].split(',').next().unwrap().trim_end_matches('}');
        let twice = format!("{{{field},{}", &text[1..]);
        let is_whole = text.matches(',').count() == 0 || !field.contains('[');
        if is_whole && !field.contains('{') {
            send(&server, &route, &twice).refuses_for(&twice, 400, "invalid_value");
        }
    }
    goes_on(&server);
}

#[test]
fn ken_s_own_bodies_have_no_unknown_keys() {
    let server = Running::start();
    let mut count = 0;
    for route in routes()
        .iter()
        .filter(|route| route.path.starts_with("/v1/ken/"))
    {
        if let Some(mut body) = route.body() {
            body["pollicy"] = json!("always");
            send(&server, route, &body.to_string()).refuses_for(
                &route.name(),
                400,
                "invalid_value",
            );
            count += 1;
        }
    }
    assert_eq!(count, 13);
    // In the others' as well, where it is ken's own.
    for route in routes().iter().filter(|route| {
        ["/v1/chat/completions", "/v1/responses", "/v1/embeddings"].contains(&route.path.as_str())
    }) {
        let mut body = route.body().unwrap();
        body["ken"] = json!({"pollicy": "always"});
        send(&server, route, &body.to_string()).refuses_for(&route.name(), 400, "invalid_value");
    }
    goes_on(&server);
}

#[test]
fn what_takes_nothing_reads_no_body_and_what_takes_files_nothing_else() {
    let server = Running::start();
    for route in routes() {
        match route.takes {
            Takes::Nothing => {
                let without = send(&server, &route, "");
                let with = send(&server, &route, "{\"nonsense");
                assert_eq!(with.status, without.status, "{}", route.name());
            }
            Takes::File => {
                for body in ["", "{", "{}", "--x--"] {
                    let response = send(&server, &route, body);
                    response.refuses_for(&route.name(), 415, "not_multipart");
                }
            }
            _ => {}
        }
    }
    goes_on(&server);
}

#[test]
fn models_and_corpora_that_are_not_there_are_unknown() {
    let server = Running::keeping(&Keys::default());
    for model in [
        "gpt-5",
        "ken/",
        "ken/sometimes",
        "",
        "../ken/always",
        "KEN/always",
    ] {
        for path in ["/v1/chat/completions", "/v1/responses", "/v1/embeddings"] {
            let route = routes()
                .into_iter()
                .find(|route| route.path == path)
                .unwrap();
            let mut body = route.body().unwrap();
            body["model"] = json!(model);
            let response = send(&server, &route, &body.to_string());
            response.refuses_for(&format_args!("{path} {model}"), 404, "model_not_found");
        }
    }
    for model in ["gpt-5", "ken/sometimes", "..%2f..%2fetc"] {
        let response = server.get(&format!("/v1/models/{model}"));
        response.refuses_for(&model, 404, "model_not_found");
    }
    for corpus in [
        "none",
        "..%2f..%2fetc",
        "%2e%2e",
        "a%00b",
        "\u{e9}",
        "notes%20",
    ] {
        let mut count = 0;
        for route in routes()
            .iter()
            .filter(|route| route.example.contains("notes"))
        {
            let path = route.example.replace("notes", corpus);
            let bytes = String::from_utf8(route.request(&[])).unwrap();
            let bytes = bytes.replacen(&route.example, &path, 1);
            let response = exchange(server.address, bytes.as_bytes());
            response.refuses_for(
                &format_args!("{} {path}", route.method),
                404,
                "unknown_corpus",
            );
            count += 1;
        }
        assert!(count >= 12, "{count}");
    }
    for (path, body) in cases![
        "/v1/ken/ask" => json!({"question": OIL, "ken": {"corpus": "none"}});
        "/v1/ken/search" => json!({"query": "x", "corpus": "none"});
        "/v1/chat/completions" =>
            json!({"model": "ken", "messages": [{"role": "user", "content": "x"}], "ken": {"corpus": "none"}});
        "/v1/responses" => json!({"model": "ken", "input": "x", "ken": {"corpus": "none"}});
        "/v1/responses" =>
            json!({"model": "ken", "input": "x", "tools": [{"type": "file_search", "vector_store_ids": ["none"]}]});
        "/v1/embeddings" =>
            json!({"model": "ken/embedder", "input": "x", "ken": {"corpus": "none"}});
    ] {
        server
            .post(path, &body)
            .refuses_for(&body.to_string(), 404, "unknown_corpus");
    }
    goes_on(&server);
}

#[test]
fn paths_that_are_no_text_are_refused() {
    let server = Running::start();
    let mut count = 0;
    for route in routes().iter().filter(|route| route.path.contains('{')) {
        let start = route.path.find('{').unwrap();
        let (head, rest) = route.example.split_at(start);
        let tail = rest.find('/').map_or("", |place| &rest[place..]);
        let bytes = String::from_utf8(route.request(&[])).unwrap();
        let bytes = bytes.replacen(&route.example, &format!("{head}%ff%fe{tail}"), 1);
        let response = exchange(server.address, bytes.as_bytes());
        response.refuses_for(&route.name(), 400, "invalid_path");
        count += 1;
    }
    assert!(count >= 18, "{count}");
    let paths = "/v1/ken/../../etc/passwd // /%2e%2e/ /v1 /v1/ken/ask/ /V1/models";
    for path in paths.split(' ') {
        server.get(path).refuses_for(&path, 404, "unknown_route");
    }
    goes_on(&server);
}

/// More bytes than a refused client can send: the server reads and throws away some, and the sockets hold some.
const TAKEN: usize = 56 << 20;

const LARGE: usize = 100 << 20;

/// Sends a head and then a body as large as that, for as long as it is taken. Returns the response, and how much was
/// taken.
fn pour(
    server: &Running,
    route: &Route,
    kind: &str,
    start: &str,
    is_chunked: bool,
) -> (Response, usize) {
    let mut stream = connect(server.address);
    let mut reader = stream.try_clone().unwrap();
    let response = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = reader.read_to_end(&mut bytes);
        bytes
    });
    let length = match is_chunked {
        true => "transfer-encoding: chunked".to_owned(),
        false => format!("content-length: {LARGE}"),
    };
    let head = format!(
        "{} {} HTTP/1.1\r\nconnection: close\r\nhost: localhost\r\ncontent-type: {kind}\r\n{length}\r\n\r\n",
        route.method, route.example
    );
    let piece = vec![b'x'; 64 << 10];
    let piece = match is_chunked {
        true => [format!("{:x}\r\n", piece.len()).as_bytes(), &piece, b"\r\n"].concat(),
        false => piece,
    };
    let mut taken = 0;
    let mut pour = || -> std::io::Result<()> {
        stream.write_all(head.as_bytes())?;
        match is_chunked {
            true => write!(stream, "{:x}\r\n{start}\r\n", start.len())?,
            false => stream.write_all(start.as_bytes())?,
        }
        while taken + piece.len() + start.len() <= LARGE {
            stream.write_all(&piece)?;
            taken += piece.len();
        }
        stream.shutdown(Shutdown::Write)
    };
    let _ = pour();
    (parsed(response.join().unwrap()), taken)
}

#[test]
fn a_body_of_a_hundred_megabytes_is_refused_before_it_is_read() {
    let server = Running::start();
    for route in routes().iter().filter(|route| !route.is_mcp()) {
        for is_chunked in [false, true] {
            let name = format!("{} {is_chunked}", route.name());
            let (response, taken) =
                pour(&server, route, "application/json", "{\"a\": \"", is_chunked);
            match route.takes {
                Takes::Nothing => {
                    let without = exchange(server.address, &route.request(&[]));
                    assert_eq!(response.status, without.status, "{name}");
                }
                Takes::File => response.refuses_for(&name, 415, "not_multipart"),
                _ => response.refuses_for(&name, 413, "body_too_large"),
            }
            assert!(taken < TAKEN, "{name}: {taken}");
        }
        if matches!(route.takes, Takes::File) {
            // A field that is not a file has no such length.
            let kind = "multipart/form-data; boundary=b";
            let start = "--b\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\n";
            let (response, taken) = pour(&server, route, kind, start, true);
            response.refuses_for(&route.name(), 413, "body_too_large");
            assert!(taken < TAKEN, "{}: {taken}", route.name());
        }
    }
    goes_on(&server);
}

#[test]
fn a_file_that_says_that_it_is_too_large_is_not_received() {
    let server = Running::start();
    for path in ["/v1/files", "/v1/ken/corpora/notes/documents"] {
        let mut stream = connect(server.address);
        let head = format!(
            "POST {path} HTTP/1.1\r\nconnection: close\r\nhost: localhost\r\n\
             content-type: multipart/form-data; boundary=b\r\ncontent-length: {}\r\n\r\n",
            600_u64 << 20
        );
        stream.write_all(head.as_bytes()).unwrap();
        crate::client::read(stream).refuses_for(&path, 413, "body_too_large");
    }
}

#[test]
fn methods_that_a_route_does_not_have_are_told() {
    let server = Running::start();
    let all = routes();
    let mut paths: Vec<(&str, &str)> = all
        .iter()
        .map(|route| (route.path.as_str(), route.example.as_str()))
        .collect();
    paths.sort();
    paths.dedup();
    for (path, example) in paths {
        let methods = "GET POST PUT PATCH DELETE OPTIONS TRACE BREW";
        for method in methods.split(' ') {
            let has = all
                .iter()
                .any(|route| route.path == path && route.method == method);
            if !has {
                let response = exchange(server.address, &request(method, example, &[], ""));
                response.refuses_for(&format_args!("{method} {path}"), 405, "method_not_allowed");
            }
        }
    }
}

#[test]
fn pages_are_read_strictly() {
    let server = Running::start();
    let paths = "/v1/files /v1/vector_stores /v1/vector_stores/notes/files /v1/ken/jobs /v1/ken/traces \
        /v1/ken/corpora/notes/pruned /v1/ken/corpora/notes/documents";
    for path in paths.split(' ') {
        let queries = "limit=0 limit=x limit=99999999999999999999 limit=-1 order=up limit=";
        for query in queries.split(' ') {
            let response = server.get(&format!("{path}?{query}"));
            response.refuses_for(&format_args!("{path}?{query}"), 400, "invalid_value");
        }
        for query in ["after=none", "after=%ff%00"] {
            let response = server.get(&format!("{path}?{query}"));
            response.refuses_for(&format_args!("{path}?{query}"), 400, "unknown_cursor");
        }
        let queries = "limit=10000 after= order=asc&order=desc &&&";
        for query in queries.split(' ') {
            let page: Value = server.get(&format!("{path}?{query}")).json();
            assert!(page["data"].is_array(), "{path}?{query}: {page}");
        }
    }
}
