//! A server that is killed while it writes, again and again: after the next start, everything that it had
//! acknowledged is there, nothing is there by half, and it starts by itself.
//!
//! For the long run, `KEN_TEST_KILLS` is the number of kills, 1,000 by default, and `KEN_TEST_SEED` chooses them.

#![allow(clippy::print_stderr)]

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use ken_testing::holds;
use ken_torture::random::Random;
use serde_json::{Value, json};

use crate::documents::with_notes;
use crate::harness::{Ken, objects, words};
use crate::serve::Serving;
use crate::traffic::{Reply, UPLOAD, percentile, send, upload_body};

/// Sentences of a document, which fill several passages.
const SENTENCES: usize = 40;

const DOCUMENTS: usize = 8;

/// A change that a client asks for.
#[derive(Debug, Clone, PartialEq)]
enum Change {
    /// A document is added, or replaces its earlier version.
    Put(String, u32),
    Delete(String),
    Prune(String),
    Restore(String),
    /// The source of a question is corrected.
    Correct(String, String),
    Forget(String),
    /// A question to evaluate on.
    Evaluate(String),
    /// A file is uploaded that is not in a corpus yet.
    Keep(u32),
    Discard(String),
    Ask,
    Rate(String),
    Compact,
}

/// An existing document.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Document {
    version: u32,
    pruned: bool,
}

/// The server's state, as far as a client can know.
#[derive(Debug, Default, Clone, PartialEq)]
struct State {
    documents: BTreeMap<String, Document>,
    /// Sources by question.
    corrections: BTreeMap<String, String>,
    evaluated: BTreeSet<String>,
    /// Names of files by their ids.
    files: BTreeMap<String, String>,
    /// Traces, and whether they are rated.
    asked: BTreeMap<String, bool>,
}

impl State {
    /// Applies an acknowledged change. The id is the server's.
    fn change(&mut self, change: &Change, id: &str) {
        match change {
            Change::Put(name, version) => {
                let document = Document {
                    version: *version,
                    pruned: false,
                };
                self.documents.insert(name.clone(), document);
            }
            Change::Delete(name) => drop(self.documents.remove(name)),
            Change::Prune(name) => self.documents.get_mut(name).unwrap().pruned = true,
            Change::Restore(name) => self.documents.get_mut(name).unwrap().pruned = false,
            Change::Correct(question, source) => {
                self.corrections.insert(question.clone(), source.clone());
            }
            Change::Forget(question) => drop(self.corrections.remove(question)),
            Change::Evaluate(question) => drop(self.evaluated.insert(question.clone())),
            Change::Keep(number) => {
                self.files.insert(id.to_owned(), format!("kept{number}.md"));
            }
            Change::Discard(file) => drop(self.files.remove(file)),
            Change::Ask => drop(self.asked.insert(id.to_owned(), false)),
            Change::Rate(trace) => drop(self.asked.insert(trace.clone(), true)),
            // Compaction removes pruned documents from the disk.
            Change::Compact => self.documents.retain(|_, document| !document.pruned),
        }
    }

    /// A possible change of this state.
    fn draw(&self, random: &mut Random, number: u32) -> Change {
        let mut one_of = |names: Vec<&String>| -> Option<String> {
            (!names.is_empty()).then(|| names[random.below(names.len())].clone())
        };
        let shown = self.documents.iter().filter(|(_, one)| !one.pruned);
        let shown = one_of(shown.map(|(name, _)| name).collect());
        let pruned = self.documents.iter().filter(|(_, one)| one.pruned);
        let pruned = one_of(pruned.map(|(name, _)| name).collect());
        let corrected = one_of(self.corrections.keys().collect());
        let file = one_of(self.files.keys().collect());
        let trace = one_of(self.asked.keys().collect());
        let drawn = random.below(100);
        let question = format!("Where is crate {}?", random.below(12));
        let change = match drawn {
            0..15 => shown.map(Change::Delete),
            15..22 => shown.map(Change::Prune),
            22..28 => pruned.map(Change::Restore),
            28..38 => {
                let source = ["self", "notes"][random.below(2)].to_owned();
                Some(Change::Correct(question, source))
            }
            38..42 => corrected.map(Change::Forget),
            42..46 => Some(Change::Evaluate(format!("{question} {number}"))),
            46..52 => Some(Change::Keep(number)),
            52..56 => file.map(Change::Discard),
            56..60 => Some(Change::Ask),
            60..66 => trace.map(Change::Rate),
            66..69 => Some(Change::Compact),
            _ => None,
        };
        change.unwrap_or_else(|| {
            let hidden = |name: &String| {
                self.documents
                    .get(name)
                    .is_some_and(|document| document.pruned)
            };
            let names = (0..DOCUMENTS).map(|place| format!("crate{place}.md"));
            let names: Vec<String> = names.filter(|name| !hidden(name)).collect();
            match names.is_empty() {
                true => Change::Keep(number),
                false => Change::Put(names[random.below(names.len())].clone(), number),
            }
        })
    }
}

/// A document's text, in which every sentence names the version.
fn text(name: &str, version: u32) -> String {
    let place = name.trim_end_matches(".md");
    let sentence = format!("In {place} of round v{version:06} there are jars of plums. ");
    sentence.repeat(SENTENCES)
}

/// Asks for a change. Returns the server's id for the result; `None` if the server did not acknowledge it.
fn ask_for(ken: &Ken, address: &str, change: &Change) -> Option<String> {
    let notes = "/v1/ken/corpora/notes";
    let json = "application/json";
    let post = |path: &str, body: &Value| send(address, "POST", path, json, &body.to_string());
    let delete = |path: &str| send(address, "DELETE", path, json, "");
    let reply = match change {
        Change::Put(name, version) => {
            let body = upload_body(name, &text(name, *version));
            send(
                address,
                "POST",
                &format!("{notes}/documents"),
                UPLOAD,
                &body,
            )
        }
        Change::Delete(name) => delete(&format!("{notes}/documents/{name}")),
        Change::Prune(name) => post(&format!("{notes}/prune"), &json!({"documents": [name]})),
        Change::Restore(name) => post(&format!("{notes}/restore"), &json!({"documents": [name]})),
        Change::Correct(question, source) => {
            let body = json!({"question": question, "source": source});
            post("/v1/ken/corrections", &body)
        }
        Change::Forget(question) => {
            let all = send(address, "GET", "/v1/ken/corrections", json, "").ok()?;
            let lines = all.body.lines().map(serde_json::from_str::<Value>);
            let line = lines
                .filter_map(Result::ok)
                .find(|line| line["question"] == question.as_str())?;
            delete(&format!("/v1/ken/corrections/{}", line["id"].as_str()?))
        }
        Change::Evaluate(question) => {
            let body = json!({"question": question, "golden_answers": ["the cellar"]});
            post("/v1/ken/evals/questions", &body)
        }
        Change::Keep(number) => {
            let name = format!("kept{number}.md");
            let body = upload_body(&name, &text(&name, *number));
            send(address, "POST", "/v1/files", UPLOAD, &body)
        }
        Change::Discard(file) => delete(&format!("/v1/files/{file}")),
        Change::Ask => {
            let body = json!({"question": "Who feeds the seals?", "max_tokens": 1,
                "ken": {"policy": "never", "style": "short"}});
            post("/v1/ken/ask", &body)
        }
        Change::Rate(trace) => {
            let body = json!({"request_id": trace, "rating": "good"});
            post("/v1/ken/feedback", &body)
        }
        Change::Compact => {
            // A corpus has one writer: this waits until the server no longer is.
            settle(address).ok()?;
            let compacted = ken
                .command(&["corpus", "compact", "--corpus", "island"])
                .output()
                .unwrap();
            assert!(compacted.status.success(), "{compacted:?}");
            return Some(String::new());
        }
    };
    let reply = reply.ok()?;
    if reply.status == 202 && matches!(change, Change::Put(..)) {
        return Some(String::new());
    }
    assert!(
        (200..300).contains(&reply.status),
        "{change:?}: {}",
        reply.body
    );
    let value = reply.json();
    let id = value["id"].as_str().or(value["request_id"].as_str());
    Some(id.unwrap_or_default().to_owned())
}

/// Waits until no job is left. None may have failed, except for one that was already done when it was started again.
fn settle(address: &str) -> Result<(), String> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let jobs = send(address, "GET", "/v1/ken/jobs?limit=100", "", "")?.json();
        let jobs = jobs["data"].as_array().unwrap();
        let is_over = |job: &Value| job["status"] != "waiting" && job["status"] != "running";
        if jobs.iter().all(is_over) {
            let done_before = ["unknown_document", "unknown_passage", "nothing_pruned"];
            for job in jobs.iter().filter(|job| job["status"] != "done") {
                let code = job["error"]["code"].as_str().unwrap_or_default();
                assert!(done_before.contains(&code), "{job}");
            }
            return Ok(());
        }
        assert!(Instant::now() < deadline, "{jobs:?}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn got(address: &str, path: &str) -> Reply {
    let reply = send(address, "GET", path, "", "").unwrap();
    assert_eq!(reply.status, 200, "{path}: {}", reply.body);
    reply
}

/// The unpruned documents on disk. Panics if one is not whole.
fn documents(ken: &Ken, passages: usize) -> BTreeMap<String, u32> {
    let exported = ken.text(&["corpus", "export", "--corpus", "island"]);
    let mut versions: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for line in exported.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let (document, _) = line["id"].as_str().unwrap().rsplit_once('#').unwrap();
        if !document.starts_with("crate") {
            continue;
        }
        let text = line["contents"].as_str().unwrap();
        let found = text
            .match_indices(" v")
            .map(|(at, _)| &text[at + 2..at + 8]);
        let found: BTreeSet<u32> = found.filter_map(|number| number.parse().ok()).collect();
        assert_eq!(found.len(), 1, "{document} mixes {found:?}");
        versions
            .entry(document.to_owned())
            .or_default()
            .extend(found);
    }
    let whole = versions.into_iter().map(|(name, found)| {
        let one: BTreeSet<u32> = found.iter().copied().collect();
        holds!("{name} has {found:?}, of {passages} passages" =>
            one.len() == 1 && found.len() == passages);
        (name, found[0])
    });
    whole.collect()
}

/// The state that the server reports, once its jobs are done. For pruned documents the version is the acknowledged
/// one: it shows when they are restored.
fn observed(ken: &Ken, address: &str, passages: usize, acknowledged: &State) -> State {
    let lines = |path: &str| objects(&got(address, path).body);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let page = |path: &str| -> Vec<Value> {
        let mut all = Vec::new();
        loop {
            let after = all.last().map_or_else(String::new, |last: &Value| {
                let id = last.get("doc_id").unwrap_or(&last["id"]);
                format!("&after={}", id.as_str().unwrap())
            });
            let page = got(address, &format!("{path}?limit=100{after}")).json();
            all.extend(page["data"].as_array().unwrap().iter().cloned());
            if page["has_more"] != true {
                return all;
            }
        }
    };
    let shown = documents(ken, passages).into_iter().map(|(name, version)| {
        let pruned = false;
        (name, Document { version, pruned })
    });
    let mut documents: BTreeMap<String, Document> = shown.collect();
    for document in page("/v1/ken/corpora/notes/pruned") {
        let marks = document["pruned"].as_array().unwrap();
        assert_eq!(marks.len(), passages, "pruned by half: {document}");
        let name = text(&document["doc_id"]);
        let known = acknowledged.documents.get(&name);
        let version = known.map_or(u32::MAX, |known| known.version);
        let pruned = true;
        let before = documents.insert(name, Document { version, pruned });
        assert_eq!(before, None, "pruned and shown: {document}");
    }
    State {
        documents,
        corrections: lines("/v1/ken/corrections")
            .iter()
            .map(|line| (text(&line["question"]), text(&line["source"])))
            .collect(),
        evaluated: lines("/v1/ken/evals/questions")
            .iter()
            .map(|line| text(&line["question"]))
            .collect(),
        files: page("/v1/files")
            .iter()
            .map(|file| (text(&file["id"]), text(&file["filename"])))
            .collect(),
        asked: page("/v1/ken/traces")
            .iter()
            .map(|trace| (text(&trace["id"]), trace["feedback"]["rating"] == "good"))
            .collect(),
    }
}

/// Whether the state follows from the acknowledged one, with or without the change that was not acknowledged.
fn follows(seen: &State, acknowledged: &State, pending: Option<&Change>) -> bool {
    let Some(pending) = pending else {
        return seen == acknowledged;
    };
    // The server may have given an id that no client received.
    let news = match pending {
        Change::Keep(_) => seen
            .files
            .keys()
            .find(|id| !acknowledged.files.contains_key(*id)),
        Change::Ask => seen
            .asked
            .keys()
            .find(|id| !acknowledged.asked.contains_key(*id)),
        _ => None,
    };
    let mut with = acknowledged.clone();
    with.change(pending, news.map_or("", String::as_str));
    seen == acknowledged || *seen == with
}

/// What a run of kills measured.
#[derive(Default)]
struct Measured {
    starts: Vec<Duration>,
    acknowledged: usize,
    /// Kills while a change was not acknowledged yet, and those after which it was there nevertheless.
    pending: [usize; 2],
}

/// Kills a server a number of times.
fn kill(kills: usize, seed: u64) -> Measured {
    let ken = with_notes();
    ken.write("crate0.md", text("crate0.md", 0));
    ken.text(&["ingest", "crate0.md", "--corpus", "island"]);
    let exported = ken.text(&["corpus", "export", "--corpus", "island"]);
    let passages = exported.lines().filter(|line| line.contains("crate0.md#"));
    let passages = passages.count();
    assert!(passages > 2, "{exported}");
    let serve = words("--corpus notes=island --server-data data --keep-questions");
    let start = || {
        let begun = Instant::now();
        (Serving::start(&ken, &serve), begun.elapsed())
    };
    let mut random = Random::new(seed);
    let (mut serving, first) = start();
    let mut state = observed(&ken, serving.address(), passages, &State::default());
    let mut measured = Measured::default();
    measured.starts.push(first);
    let mut number = 0;
    for round in 0..kills {
        let lives = Duration::from_millis(random.below(400) as u64);
        let address = serving.address().to_owned();
        let (pending, acknowledged) = thread::scope(|scope| {
            let client = scope.spawn(|| {
                let mut acknowledged = 0;
                loop {
                    number += 1;
                    let change = state.draw(&mut random, number);
                    match ask_for(&ken, &address, &change) {
                        Some(id) => state.change(&change, &id),
                        None => return (change, acknowledged),
                    }
                    acknowledged += 1;
                }
            });
            thread::sleep(lives);
            serving.child.kill().unwrap();
            serving.child.wait().unwrap();
            client.join().unwrap()
        });
        measured.acknowledged += acknowledged;
        // Before anything is done again.
        documents(&ken, passages);
        let begun;
        (serving, begun) = start();
        measured.starts.push(begun);
        let why = format!("seed {seed}, kill {round}, while {pending:?}");
        assert!(begun < Duration::from_secs(30), "{why}: {begun:?}");
        settle(serving.address()).unwrap();
        let seen = observed(&ken, serving.address(), passages, &state);
        holds!("{why}\nacknowledged {state:#?}\nthere {seen:#?}" =>
            follows(&seen, &state, Some(&pending)));
        measured.pending[usize::from(seen != state)] += 1;
        state = seen;
        let verified = ken.text(&["corpus", "verify", "--corpus", "island"]);
        assert!(!verified.contains("damaged"), "{why}: {verified}");
        if let Some((name, document)) = state.documents.iter().find(|(_, one)| !one.pruned) {
            let query = format!("v{:06}", document.version);
            let body = json!({"query": query, "k": 1, "mode": "lexical"});
            let response = serving.post("/v1/ken/search", &body);
            assert_eq!(
                response["hits"][0]["doc_id"],
                name.as_str(),
                "{why}: {response}"
            );
        }
        if round % 100 == 99 {
            tell(round + 1, &measured);
        }
    }
    measured
}

fn tell(kills: usize, measured: &Measured) {
    let mut starts = measured.starts.clone();
    starts.sort();
    eprintln!(
        "{kills} kills: {} changes acknowledged, none lost; of those under way, {} were not done and {} were; \
         start p50 {:.2?}, p99 {:.2?}, longest {:.2?}",
        measured.acknowledged,
        measured.pending[0],
        measured.pending[1],
        percentile(&starts, 0.5),
        percentile(&starts, 0.99),
        percentile(&starts, 1.0),
    );
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn what_a_killed_server_acknowledged_is_there() {
    tell(10, &kill(10, 7));
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS, and takes an hour"]
fn what_a_killed_server_acknowledged_is_there_at_length() {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
    };
    let kills = number("KEN_TEST_KILLS", 1000) as usize;
    tell(kills, &kill(kills, number("KEN_TEST_SEED", 1)));
}
