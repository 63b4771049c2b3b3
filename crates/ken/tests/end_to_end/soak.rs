//! A server under load for a long time: 32 clients ask, whole and streamed, while documents come and go, the corpus
//! is compacted, and the settings are read again. Each request gets one answer, the one that it gets alone. Then ten
//! times as many clients ask at once: those that are not answered are told when to come back.
//!
//! It runs for as many minutes as `KEN_TEST_MINUTES` says, 60 by default, and prints its measurements.

#![allow(clippy::print_stderr)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ken_testing::says;
use serde_json::Value;

use crate::documents::with_notes;
use crate::harness::{Ken, words};
use crate::serve::Serving;
use crate::traffic::{Memory, chat, finish, memory, metric, percentile, send, upload};

const CLIENTS: usize = 32;

/// The questions, and policies that retrieve and that do not.
const QUESTIONS: [&str; 4] = [
    "Who is the keeper of the Orrin lighthouse?",
    "When does the bakery of Tollen open?",
    "How long is the rope bridge over the Lenn?",
    "When does the ferry to Sandrey leave?",
];

/// What all clients together experienced.
#[derive(Default)]
struct Seen {
    ids: BTreeSet<String>,
    twice: Vec<String>,
    wrong: Vec<String>,
    lost: Vec<String>,
    times: Vec<Duration>,
}

/// Adds and deletes documents, compacts, and reloads, until it is over. Returns how often it did each.
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
        let job = upload(address, "notes", (&name, &text)).unwrap();
        finish(address, &job);
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

/// Ten times the clients, each with one question after the other; none asks again.
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
                            says!(reply.head => "retry-after-ms: ", "x-should-retry: true");
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
    let ken = with_notes();
    let queue = CLIENTS.to_string();
    let serve = words("--corpus notes=island --server-data data --parallel 16 --queue");
    let serving = Serving::start(&ken, &[&serve[..], &[queue.as_str()]].concat());
    let address = serving.address();
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
    let mean = |part: &[Memory], of: fn(&Memory) -> u64| {
        part.iter().map(of).sum::<u64>() as f64 / part.len().max(1) as f64 / 1024.0
    };
    let means = |of: fn(&Memory) -> u64| -> Vec<f64> {
        held.chunks(quarter).map(|part| mean(part, of)).collect()
    };
    let own = means(|held| held.anonymous);
    let of_files = means(|held| held.of_files);
    let means = means(|held| held.anonymous + held.of_files);
    eprintln!(
        "memory by quarter, in MiB: {means:.1?}; its own: {own:.1?}; of files: {of_files:.1?}"
    );
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
