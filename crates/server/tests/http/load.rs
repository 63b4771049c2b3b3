//! More requests than can be served, clients that go away, deadlines, and the end of the server.

use std::io::{Read, Write};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use ken_server::Limits;
use serde_json::json;

use crate::client::{connect, exchange, read, request, upload};
use crate::fixture::{LIMITS, OIL, Running, chat, wait_for};

fn question(stream: bool) -> Vec<u8> {
    let body = chat("always", OIL, &json!({ "stream": stream })).to_string();
    request("POST", "/v1/chat/completions", &[], &body)
}

#[test]
fn a_full_queue_refuses_and_says_when_to_come_back() {
    let limits = Limits {
        parallel: 2,
        queue: 3,
        ..LIMITS
    };
    let (server, reading) = Running::slow(limits);
    let address = server.address;
    let asked: Vec<_> = (0..5)
        .map(|place| {
            let asked = thread::spawn(move || exchange(address, &question(false)));
            // One after the other, so that the order of waiting is known.
            wait_for("it is taken", || {
                let metrics = server.get("/metrics").text();
                let number = |name: &str| -> usize {
                    let line = metrics.lines().find(|line| line.starts_with(name)).unwrap();
                    line.rsplit(' ').next().unwrap().parse().unwrap()
                };
                number("ken_waiting ") + number("ken_working ") > place
            });
            asked
        })
        .collect();
    for stream in [false, true] {
        let refused = exchange(address, &question(stream));
        refused.refuses(429, "queue_full");
        assert_eq!(refused.header("retry-after-ms"), Some("1000"));
        assert_eq!(refused.header("x-should-retry"), Some("true"));
    }
    // Answers do not hold up searches.
    assert_eq!(
        server
            .post("/v1/ken/search", &json!({"query": "oil"}))
            .status,
        200
    );
    reading.released.store(true, Ordering::SeqCst);
    for asked in asked {
        let response = asked.join().unwrap();
        assert_eq!(response.json()["choices"][0]["message"]["content"], "Ida");
    }
}

#[test]
fn work_ends_when_its_client_goes_away_even_while_the_prompt_is_read() {
    let (server, reading) = Running::slow(LIMITS);
    for (round, stream) in [(1, false), (2, true)] {
        let mut client = connect(server.address);
        client.write_all(&question(stream)).unwrap();
        wait_for("the prompt is read", || {
            reading.now.load(Ordering::SeqCst) == 1
        });
        drop(client);
        wait_for("it is cancelled", || {
            reading.cancelled.load(Ordering::SeqCst) == round
        });
    }
    let log = server.log.lock().unwrap();
    let gone = log.iter().filter(|entry| entry["code"] == "client_gone");
    assert!(gone.count() >= 2, "{log:?}");
}

#[test]
fn many_clients_that_vanish_leave_nothing_behind() {
    let limits = Limits {
        queue: 1000,
        ..LIMITS
    };
    let (server, reading) = Running::slow(limits);
    for _ in 0..300 {
        let mut client = connect(server.address);
        client.write_all(&question(true)).unwrap();
    }
    wait_for("nothing is left", || {
        let metrics = server.get("/metrics").text();
        let is_zero = |line: &str| metrics.lines().any(|other| other == line);
        is_zero("ken_waiting 0") && is_zero("ken_working 0")
    });
    assert_eq!(reading.now.load(Ordering::SeqCst), 0);
    reading.released.store(true, Ordering::SeqCst);
    assert_eq!(exchange(server.address, &question(false)).status, 200);
}

#[test]
fn silent_clients_make_room_and_whoever_is_being_answered_stays() {
    let limits = Limits {
        connections: 8,
        ..LIMITS
    };
    let (server, reading) = Running::slow(limits);
    let address = server.address;
    let asked = thread::spawn(move || exchange(address, &question(false)));
    wait_for("the prompt is read", || {
        reading.now.load(Ordering::SeqCst) == 1
    });
    let sent = question(false);
    let silent: Vec<_> = (0..40)
        .map(|client| {
            let mut stream = connect(address);
            // Nothing, half of a head, half of a body.
            let some = &sent[..[0, 20, sent.len() - 5][client % 3]];
            let _ = stream.write_all(some);
            stream
        })
        .collect();
    let begun = Instant::now();
    assert_eq!(server.get("/health").status, 200);
    assert!(begun.elapsed() < Duration::from_secs(10));
    reading.released.store(true, Ordering::SeqCst);
    assert_eq!(asked.join().unwrap().status, 200);
    let is_ended = |mut stream: &std::net::TcpStream| {
        stream
            .set_read_timeout(Some(Duration::from_millis(10)))
            .unwrap();
        match stream.read(&mut [0]) {
            Ok(length) => length == 0,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    };
    let ended = silent.iter().filter(|stream| is_ended(stream)).count();
    assert!(ended >= 40 - limits.connections, "{ended}");
}

#[test]
fn uploads_that_stop_hold_nobody_up_and_leave_nothing_behind() {
    let server = Running::start();
    let folders = ["jobs", "files"].map(|name| server.folder.path().join("data").join(name));
    let left = || -> usize {
        let entries = folders.iter().flat_map(std::fs::read_dir);
        entries.map(Iterator::count).sum()
    };
    let before = left();
    let paths = ["/v1/ken/corpora/notes/documents", "/v1/files"];
    // More than there are blocking threads.
    let stopped: Vec<_> = (0..60)
        .map(|client| {
            let files: [(&str, &[u8]); 1] = [("half.md", &[b'x'; 100_000])];
            let sent = upload(paths[client % 2], &[], &files, &[]);
            let mut stream = connect(server.address);
            stream.write_all(&sent[..50_000]).unwrap();
            stream
        })
        .collect();
    wait_for("they are being received", || left() >= before + 60);
    let begun = Instant::now();
    assert_eq!(exchange(server.address, &question(false)).status, 200);
    assert!(begun.elapsed() < Duration::from_secs(10));
    drop(stopped);
    wait_for("nothing is left", || left() == before);
}

#[test]
fn nobody_waits_for_a_model_that_says_nothing() {
    let limits = Limits {
        deadline: Duration::from_millis(300),
        ..LIMITS
    };
    let (server, reading) = Running::slow(limits);
    reading.silent.store(true, Ordering::SeqCst);
    let late = exchange(server.address, &question(false));
    late.refuses(504, "deadline_exceeded");
    let late = exchange(server.address, &question(true));
    late.refuses(504, "deadline_exceeded");
    // Though the model still says nothing, and never will.
    wait_for("the places are free", || {
        server.get("/metrics").text().contains("ken_working 0\n")
    });
    reading.released.store(true, Ordering::SeqCst);
}

#[test]
fn a_deadline_ends_the_work() {
    let limits = Limits {
        deadline: Duration::from_millis(300),
        ..LIMITS
    };
    let (server, reading) = Running::slow(limits);
    let response = exchange(server.address, &question(false));
    response.refuses(504, "deadline_exceeded");
    assert_eq!(response.header("x-should-retry"), Some("false"));
    assert_eq!(reading.cancelled.load(Ordering::SeqCst), 1);
}

#[test]
fn what_is_being_answered_is_answered_before_the_end() {
    let (mut server, reading) = Running::slow(LIMITS);
    let address = server.address;
    let asked = thread::spawn(move || exchange(address, &question(true)));
    wait_for("the prompt is read", || {
        reading.now.load(Ordering::SeqCst) == 1
    });
    server.stop.store(true, Ordering::SeqCst);
    wait_for("no one else is taken", || {
        std::net::TcpStream::connect(address).is_err()
    });
    reading.released.store(true, Ordering::SeqCst);
    let events = asked.join().unwrap().events();
    assert_eq!(events.last().map(String::as_str), Some("[DONE]"));
    assert!(events.iter().any(|event| event.contains("Ida")));
    server.join();
}

#[test]
fn what_takes_too_long_is_broken_off_at_the_end() {
    let (mut server, reading) = Running::slow(LIMITS);
    let mut client = connect(server.address);
    client.write_all(&question(true)).unwrap();
    wait_for("the prompt is read", || {
        reading.now.load(Ordering::SeqCst) == 1
    });
    let started = Instant::now();
    server.stop.store(true, Ordering::SeqCst);
    let ended = read(client);
    ended.refuses(503, "shutting_down");
    server.join();
    assert!(
        started.elapsed() < Duration::from_secs(11),
        "{:?}",
        started.elapsed()
    );
}
