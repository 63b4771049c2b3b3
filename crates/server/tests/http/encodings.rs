//! Bodies that clients compress: read as others are, within the same bound, and refused where they cannot be.

use std::io::Write;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use serde_json::{Value, json};

use crate::client::{Response, UPLOAD, exchange, request, upload_body};
use crate::fixture::{OIL, Running, chat};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(bytes, 3).unwrap()
}

fn sent(server: &Running, path: &str, encoding: &str, body: &[u8]) -> Response {
    let headers = [("content-encoding", encoding)];
    exchange(server.address, &request("POST", path, &headers, body))
}

#[test]
fn a_compressed_request_is_answered_as_others_are() {
    let server = Running::start();
    let body = chat("always", OIL, &json!({})).to_string();
    let plain = server.chat("always", OIL, &json!({})).json();
    let two = [gzip(&body.as_bytes()[..20]), gzip(&body.as_bytes()[20..])];
    for (encoding, bytes) in [
        ("identity", body.clone().into_bytes()),
        ("gzip", gzip(body.as_bytes())),
        ("GZIP", gzip(body.as_bytes())),
        ("x-gzip", two.concat()),
        ("deflate", deflate(body.as_bytes())),
        ("zstd", zstd(body.as_bytes())),
    ] {
        let answered = sent(&server, "/v1/chat/completions", encoding, &bytes);
        assert_eq!(answered.status, 200, "{encoding}: {}", answered.text());
        let answered: Value = answered.json();
        assert_eq!(answered["choices"], plain["choices"], "{encoding}");
    }
    // A route whose body may be left out.
    let made = sent(&server, "/v1/vector_stores", "gzip", b"");
    assert_eq!(made.status, 200, "{}", made.text());
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    let server = Running::start();
    let body = format!("\u{feff}{}", json!({"query": OIL}));
    let plain = sent(&server, "/v1/ken/search", "identity", body.as_bytes());
    let packed = sent(&server, "/v1/ken/search", "gzip", &gzip(body.as_bytes()));
    assert_eq!(
        (plain.status, packed.status),
        (200, 200),
        "{}",
        plain.text()
    );
}

#[test]
fn a_bomb_is_refused_before_it_goes_off() {
    let server = Running::start();
    let large = vec![b' '; 64 << 20];
    for (encoding, bytes) in [
        ("gzip", gzip(&large)),
        ("deflate", deflate(&large)),
        ("zstd", zstd(&large)),
    ] {
        assert!(bytes.len() < 4 << 20, "{encoding}: {}", bytes.len());
        let refused = sent(&server, "/v1/ken/search", encoding, &bytes);
        refused.refuses_for(&encoding, 413, "body_too_large");
    }
}

#[test]
fn what_cannot_be_read_is_refused_by_name() {
    let server = Running::start();
    let body = json!({"query": OIL}).to_string();
    let cut = gzip(body.as_bytes());
    let cut = &cut[..cut.len() - 9];
    for (encoding, bytes, status, code) in [
        ("br", body.as_bytes(), 415, "unsupported_encoding"),
        ("gzip, gzip", body.as_bytes(), 415, "unsupported_encoding"),
        ("gzip", body.as_bytes(), 400, "broken_encoding"),
        ("gzip", cut, 400, "broken_encoding"),
        ("deflate", body.as_bytes(), 400, "broken_encoding"),
        ("zstd", body.as_bytes(), 400, "broken_encoding"),
    ] {
        let refused = sent(&server, "/v1/ken/search", encoding, bytes);
        refused.refuses_for(&encoding, status, code);
    }
    let upload = gzip(&upload_body(&[("a.md", b"# A\nb".as_slice())], &[]));
    let headers = [("content-type", UPLOAD), ("content-encoding", "gzip")];
    let upload = request("POST", "/v1/files", &headers, &upload);
    exchange(server.address, &upload).refuses(415, "unsupported_encoding");
}
