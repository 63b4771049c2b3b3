//! Requests that are refused before their bodies are read: a client that sends all of a body before it reads sees why,
//! and the connection goes on.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use ken_server::{Keys, Scope};
use ken_testing::{TableModel, cases, says};

use crate::client::{connect, read};
use crate::fixture::{LIMITS, Running, facts, grant};

/// More than the sockets hold.
const LENGTH: usize = 24 << 20;

const LAST: &str = "GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

#[test]
fn a_refusal_is_seen_by_a_client_that_sends_all_of_its_body_first() {
    let open = Running::start();
    let mut keys = Keys::default();
    keys.make(grant(&[Scope::Ask], None), 0);
    let locked = Running::over(TableModel::new(facts()).unwrap(), LIMITS, &keys);
    let body = vec![b'x'; LENGTH];
    for (server, head, code) in cases![
        &open => "POST /v1/ken/search HTTP/1.1", "body_too_large";
        &open => "POST /v1/files HTTP/1.1", "not_multipart";
        &open => "POST /v1/nowhere HTTP/1.1", "unknown_route";
        &open => "PUT /v1/files HTTP/1.1", "method_not_allowed";
        &open => "POST /v1/files HTTP/1.1\r\norigin: http://evil.example", "other_origin";
        &locked => "POST /v1/files HTTP/1.1", "missing_api_key";
    ] {
        let mut client = connect(server.address);
        let head = format!("{head}\r\nhost: localhost\r\ncontent-length: {LENGTH}\r\n\r\n");
        client.write_all(head.as_bytes()).unwrap();
        client
            .write_all(&body)
            .unwrap_or_else(|error| panic!("{head}: {error}"));
        client.write_all(LAST.as_bytes()).unwrap();
        let both = read(client).text();
        says!(both => &format!("\"code\":\"{code}\""), "{\"status\":\"ok\"}");
    }
}

#[test]
fn a_body_that_waits_for_leave_is_not_asked_for() {
    let server = Running::start();
    let mut client = connect(server.address);
    let begun = Instant::now();
    let head = format!(
        "POST /v1/ken/search HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nexpect: 100-continue\r\ncontent-length: {LENGTH}\r\n\r\n"
    );
    client.write_all(head.as_bytes()).unwrap();
    // The first head is no `100 Continue`.
    read(client).refuses(413, "body_too_large");
    // As long as the server would wait for a piece of it.
    assert!(begun.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_refusal_is_seen_by_a_client_that_was_asked_for_its_body() {
    const ASKED: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
    let server = Running::start();
    let mut client = connect(server.address);
    let head = "POST /v1/ken/search HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ntransfer-encoding: chunked\r\n\r\n";
    client.write_all(head.as_bytes()).unwrap();
    let mut told = [0; ASKED.len()];
    client.read_exact(&mut told).unwrap();
    assert_eq!(told, ASKED);
    let chunk = format!("{LENGTH:x}\r\n{}\r\n0\r\n\r\n", "x".repeat(LENGTH));
    client.write_all(chunk.as_bytes()).unwrap();
    client.write_all(LAST.as_bytes()).unwrap();
    says!(read(client).text() => "\"code\":\"body_too_large\"", "{\"status\":\"ok\"}");
}
