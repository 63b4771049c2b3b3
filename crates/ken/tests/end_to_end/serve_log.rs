//! A server whose log is not read: it answers on, writes what waited as soon as somebody reads, counts the rest, and ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::harness::Ken;
use crate::stopped::interrupt;

/// More lines than a pipe holds, and fewer than may wait.
const REQUESTS: usize = 1500;

/// More than a pipe holds and may wait together.
const TOO_MANY: usize = 6500;

/// Asks whether the server runs, and returns the first line of the response.
fn health(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let within = Some(Duration::from_secs(20));
    stream.set_read_timeout(within).unwrap();
    let head = "GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line
}

/// The log of a server that is not read until so many requests are answered, and how many of them it has.
fn read_after(requests: usize) -> (String, usize) {
    let ken = Ken::new();
    let serve = ["serve", "--json", "--listen", "127.0.0.1:0"];
    let mut child = ken
        .command(&[&serve[..], &["--policy", "never"]].concat())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut announced = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut announced).unwrap();
    let announced: Value = serde_json::from_str(&announced).unwrap();
    let url = announced["url"].as_str().unwrap();
    let address = url.strip_prefix("http://").unwrap();
    let address = address.split('/').next().unwrap();
    for request in 0..requests {
        assert!(health(address).contains(" 200 "), "request {request}");
    }
    let mut stderr = child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut log = String::new();
        stderr.read_to_string(&mut log).unwrap();
        log
    });
    interrupt(&child);
    assert!(child.wait().unwrap().success());
    let log = reader.join().unwrap();
    let written = log.lines().filter(|line| line.contains("\"/health\""));
    let written = written.count();
    (log, written)
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn a_log_that_is_not_read_holds_no_request_up() {
    let (log, written) = read_after(REQUESTS);
    assert_eq!(written, REQUESTS);
    assert!(!log.contains("left_out"), "{log}");
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn a_log_counts_the_lines_that_could_not_wait() {
    let (log, written) = read_after(TOO_MANY);
    let counts = log.lines().filter(|line| line.contains("\"left_out\""));
    let counts = counts.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let left_out: u64 = counts.map(|entry| entry["lines"].as_u64().unwrap()).sum();
    assert!(left_out > 0);
    assert_eq!(written as u64 + left_out, TOO_MANY as u64);
}
