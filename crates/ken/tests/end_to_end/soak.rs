//! A server under load for a long time: 32 clients ask, whole and streamed, while documents come and go, the
//! corpus is compacted, and the settings are read again. Each request gets its one answer, the one that it gets alone. Then ten times as
//! many clients ask at once: who is not answered is told when to come back.
//!
//! It runs for as many minutes as `KEN_TEST_MINUTES` says, 60 by default, and prints what it measured.

#![allow(clippy::print_stderr)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::documents::ingest_notes;
use crate::harness::Ken;
use crate::serve::Serving;

const CLIENTS: usize = 32;

/// What is asked, by policies that retrieve and that do not.
const QUESTIONS: [&str; 4] = [
    "Who is the keeper of the Orrin lighthouse?",
    "When does the bakery of Tollen open?",
    "How long is the rope bridge over the Lenn?",
    "When does the ferry to Sandrey leave?",
];

/// What came back.
struct Reply {
    status: u16,
    head: String,
    body: String,
}

/// Sends a request on a connection of its own; an error where no whole response comes.
fn send(address: &str, method: &str, path: &str, kind: &str, body: &str) -> Result<Reply, String> {
    let attempt = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(330)))?;
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             content-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
        )?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        Ok(response)
    };
    let response = attempt().map_err(|error| error.to_string())?;
    let (head, body) = response.split_once("\r\n\r\n").ok_or("no head")?;
    let status = head.split(' ').nth(1).and_then(|text| text.parse().ok());
    Ok(Reply {
        status: status.ok_or("no status")?,
        head: head.to_ascii_lowercase(),
        body: body.to_owned(),
    })
}

/// Asks by chat completions. Returns the request's id and the answer, which has come once and whole.
fn chat(
    address: &str,
    (question, policy): (&str, &str),
    streams: bool,
) -> Result<(String, String), Reply> {
    let body = json!({
        "model": format!("ken/{policy}"), "messages": [{"role": "user", "content": question}],
        "stream": streams, "max_tokens": 6, "ken": {"style": "short", "k": 1},
    });
    let lost = |what: String| Reply {
        status: 0,
        head: String::new(),
        body: what,
    };
    let json = "application/json";
    let reply = send(
        address,
        "POST",
        "/v1/chat/completions",
        json,
        &body.to_string(),
    )
    .map_err(lost)?;
    if reply.status != 200 {
        return Err(reply);
    }
    if !streams {
        let value: Value =
            serde_json::from_str(&reply.body).map_err(|error| lost(error.to_string()))?;
        let id = value["ken"]["request_id"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let text = value["choices"][0]["message"]["content"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        return Ok((id, text));
    }
    let (mut id, mut text, mut ends) = (String::new(), String::new(), 0);
    for data in reply
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
    {
        if data == "[DONE]" {
            ends += 1;
            continue;
        }
        let value: Value = serde_json::from_str(data).map_err(|error| lost(error.to_string()))?;
        if let Some(own) = value["ken"]["request_id"].as_str() {
            id = own.to_owned();
        }
        text += value["choices"][0]["delta"]["content"]
            .as_str()
            .unwrap_or_default();
        if !value["error"].is_null() {
            return Err(lost(data.to_owned()));
        }
    }
    match ends {
        1 => Ok((id, text)),
        _ => Err(lost(format!("{ends} ends: {}", reply.body))),
    }
}

/// What a process has in memory, in KiB.
fn memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A sum of a metric's lines.
fn metric(address: &str, start: &str) -> u64 {
    let text = send(address, "GET", "/metrics", "text/plain", "")
        .unwrap()
        .body;
    let lines = text.lines().filter(|line| line.starts_with(start));
    lines
        .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
        .sum()
}

fn percentile(sorted: &[Duration], share: f64) -> Duration {
    let place = (sorted.len() as f64 * share) as usize;
    sorted
        .get(place.min(sorted.len().saturating_sub(1)))
        .copied()
        .unwrap_or_default()
}

/// What all clients together saw.
#[derive(Default)]
struct Seen {
    ids: BTreeSet<String>,
    twice: Vec<String>,
    wrong: Vec<String>,
    lost: Vec<String>,
    times: Vec<Duration>,
}

/// Takes documents in and out, compacts, and reloads, until it is over. Returns how often each was done.
fn change(ken: &Ken, address: &str, over: &AtomicBool) -> BTreeMap<&'static str, usize> {
    let mut done = BTreeMap::new();
    let path = "/v1/ken/corpora/notes/documents";
    for round in 0.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let name = format!("crate{}.md", round % 20);
        let text =
            format!("Crate {round} in the cellar holds {round} jars of plums and a broom.\n");
        let body = format!(
            "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n{text}\r\n--b--\r\n"
        );
        let kind = "multipart/form-data; boundary=b";
        let reply = send(address, "POST", path, kind, &body).unwrap();
        assert_eq!(reply.status, 202, "{}", reply.body);
        let job: Value = serde_json::from_str(&reply.body).unwrap();
        let job = format!("/v1/ken/jobs/{}", job["id"].as_str().unwrap());
        loop {
            let reply = send(address, "GET", &job, "text/plain", "").unwrap();
            let job: Value = serde_json::from_str(&reply.body).unwrap();
            match job["status"].as_str().unwrap() {
                "done" => break,
                "waiting" | "running" => thread::sleep(Duration::from_millis(100)),
                _ => panic!("{job}"),
            }
        }
        *done.entry("ingested").or_default() += 1;
        if round % 3 == 2 {
            let gone = format!("{path}/crate{}.md", (round - 1) % 20);
            let reply = send(address, "DELETE", &gone, "text/plain", "").unwrap();
            assert!([200, 202].contains(&reply.status), "{}", reply.body);
            *done.entry("deleted").or_default() += 1;
        }
        if round % 5 == 4 {
            ken.text(&["corpus", "compact", "--corpus", "island"]);
            *done.entry("compacted").or_default() += 1;
        }
        if round % 10 == 9 {
            let reply = send(address, "POST", "/v1/ken/reload", "text/plain", "").unwrap();
            assert_eq!(reply.status, 200, "{}", reply.body);
            *done.entry("reloaded").or_default() += 1;
        }
        thread::sleep(Duration::from_millis(500));
    }
    done
}

/// Ten times the clients, each with one question after the other, none of which is asked again.
fn overload(address: &str, wanted: &[((&str, &str), String)], time: Duration) {
    let end = Instant::now() + time;
    let answered = Mutex::new(Vec::new());
    let refused = AtomicUsize::new(0);
    thread::scope(|scope| {
        for client in 0..10 * CLIENTS {
            let (answered, refused) = (&answered, &refused);
            scope.spawn(move || {
                for round in client.. {
                    if Instant::now() > end {
                        return;
                    }
                    let (asked, right) = &wanted[round % wanted.len()];
                    let begun = Instant::now();
                    match chat(address, *asked, round % 2 == 0) {
                        Ok((_, text)) => {
                            assert_eq!(text, *right);
                            let mut answered =
                                answered.lock().unwrap_or_else(PoisonError::into_inner);
                            answered.push(begun.elapsed());
                        }
                        Err(reply) => {
                            assert_eq!(reply.status, 429, "{}\n{}", reply.head, reply.body);
                            assert!(
                                reply.head.contains("retry-after-ms: ")
                                    && reply.head.contains("x-should-retry: true")
                            );
                            let error: Value = serde_json::from_str(&reply.body).unwrap();
                            assert_eq!(error["error"]["code"], "queue_full");
                            refused.fetch_add(1, Ordering::Relaxed);
                            thread::sleep(Duration::from_secs(1));
                        }
                    }
                }
            });
        }
    });
    let mut times = answered.into_inner().unwrap();
    times.sort();
    let refused = refused.into_inner();
    eprintln!(
        "{} clients: {} answered, p50 {:.1?}, p99 {:.1?}; {refused} refused",
        10 * CLIENTS,
        times.len(),
        percentile(&times, 0.5),
        percentile(&times, 0.99)
    );
    assert!(refused > 0 && !times.is_empty());
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS, and takes an hour"]
fn no_answer_is_lost_or_doubled_at_length() {
    let minutes = std::env::var("KEN_TEST_MINUTES").map_or(60.0, |text| text.parse().unwrap());
    let time = Duration::from_secs_f64(60.0 * minutes);
    let ken = Ken::new();
    ingest_notes(&ken);
    let queue = CLIENTS.to_string();
    let serving = Serving::start(
        &ken,
        &[
            "--corpus",
            "notes=island",
            "--server-data",
            "data",
            "--parallel",
            "16",
            "--queue",
            &queue,
        ],
    );
    let address = serving.url.strip_prefix("http://").unwrap();
    let address = address.split('/').next().unwrap();
    let asked: Vec<(&str, &str)> = QUESTIONS
        .iter()
        .flat_map(|question| ["always", "never", "prompt"].map(|policy| (*question, policy)))
        .collect();
    let wanted: Vec<((&str, &str), String)> = asked
        .into_iter()
        .map(|asked| {
            let answer =
                chat(address, asked, false).unwrap_or_else(|reply| panic!("{}", reply.body));
            (asked, answer.1)
        })
        .collect();
    let before = metric(address, "ken_answers_total");
    let (seen, over) = (Mutex::new(Seen::default()), AtomicBool::new(false));
    let began = Instant::now();
    let (changes, held) = thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (seen, wanted) = (&seen, &wanted);
            scope.spawn(move || {
                for round in client.. {
                    if began.elapsed() > time {
                        return;
                    }
                    let (asked, right) = &wanted[round % wanted.len()];
                    let begun = Instant::now();
                    let reply = chat(address, *asked, round % 2 == 0);
                    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                    match reply {
                        Ok((id, text)) => {
                            seen.times.push(begun.elapsed());
                            if text != *right {
                                seen.wrong
                                    .push(format!("{asked:?}: {text:?}, not {right:?}"));
                            }
                            if !seen.ids.insert(id.clone()) {
                                seen.twice.push(id);
                            }
                        }
                        Err(reply) => {
                            let lost = format!("{asked:?}: {} {}", reply.status, reply.body);
                            seen.lost.push(lost);
                        }
                    }
                }
            });
        }
        let changes = scope.spawn(|| change(&ken, address, &over));
        let mut held = Vec::new();
        while began.elapsed() < time {
            thread::sleep(Duration::from_secs(5).min(time / 20));
            held.push(memory(serving.child.id()));
        }
        over.store(true, Ordering::Relaxed);
        (changes.join().unwrap(), held)
    });
    let mut seen = seen.into_inner().unwrap();
    seen.times.sort();
    let answers = metric(address, "ken_answers_total") - before;
    eprintln!(
        "{CLIENTS} clients for {:.1?}: {} answers, p50 {:.1?}, p99 {:.1?}; beside: {changes:?}",
        began.elapsed(),
        seen.times.len(),
        percentile(&seen.times, 0.5),
        percentile(&seen.times, 0.99)
    );
    // Without the first quarter, in which caches fill.
    let quarter = (held.len() / 4).max(1);
    let mean = |part: &[u64]| part.iter().sum::<u64>() as f64 / part.len().max(1) as f64 / 1024.0;
    let means: Vec<f64> = held.chunks(quarter).map(mean).collect();
    eprintln!("memory by quarter, in MiB: {means:.1?}");
    if let [_, second, .., last] = means.as_slice() {
        eprintln!(
            "drift from the second to the last: {:.2}%",
            100.0 * (last / second - 1.0)
        );
    }
    let Seen {
        twice, wrong, lost, ..
    } = &seen;
    assert!(lost.is_empty(), "{lost:#?}");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(twice.is_empty(), "{twice:#?}");
    assert_eq!(answers, seen.times.len() as u64);
    assert!(changes.len() == 4 || minutes < 1.0, "{changes:?}");
    overload(address, &wanted, Duration::from_secs(30).min(time));
    assert_eq!(
        metric(address, "ken_waiting") + metric(address, "ken_working"),
        0
    );
    assert_eq!(
        chat(address, wanted[0].0, false)
            .ok()
            .map(|answer| answer.1)
            .as_ref(),
        Some(&wanted[0].1)
    );
}
