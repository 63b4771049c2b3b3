//! Clients that are slow or vanish, by the thousand, beside honest ones: the honest get their right answers in time,
//! and the others leave nothing behind, although their ends of the connections stay open.
//!
//! For the long run, `KEN_TEST_CLIENTS` is the number of clients, 10,000 by default, for which the limit of open
//! files must be higher; `KEN_TEST_SEED` chooses them.

#![allow(clippy::print_stderr)]

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ken_torture::random::Random;
use serde_json::json;

use crate::documents::with_notes;
use crate::serve::Serving;
use crate::traffic::{
    UPLOAD, chat, chat_body, memory, metric, open_files, percentile, request, send, upload_body,
};

/// How soon an honest client has its answer, and a search its results.
const ANSWERED_WITHIN: Duration = Duration::from_secs(60);
const FOUND_WITHIN: Duration = Duration::from_secs(10);

/// How soon the server is rid of the last one: it waits for bodies for 30 seconds, and after that for the next
/// request for 15.
const RID_WITHIN: Duration = Duration::from_secs(120);

/// How much more memory it may use afterwards, in MiB, and how soon freed memory has gone back.
const MOST_GROWTH: f64 = 64.0;
const RETURNED_WITHIN: Duration = Duration::from_secs(90);

/// Questions answered at once.
const PARALLEL: usize = 8;

/// What is wrong with a client.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Manner {
    SaysNothing,
    SendsTheHeadByteByByte,
    SendsHalfABody,
    DeclaresALongBody,
    LeavesWhileItsPromptIsRead,
    LeavesMidStream,
    NeverReads,
    UploadsHalfAFile,
}

const MANNERS: [Manner; 8] = [
    Manner::SaysNothing,
    Manner::SendsTheHeadByteByByte,
    Manner::SendsHalfABody,
    Manner::DeclaresALongBody,
    Manner::LeavesWhileItsPromptIsRead,
    Manner::LeavesMidStream,
    Manner::NeverReads,
    Manner::UploadsHalfAFile,
];

/// Requests of a client that never reads: their answers are more than sockets hold.
const UNREAD: usize = 400;

const JSON: &str = "application/json";

/// Everything that a client sends.
fn sent(manner: Manner) -> String {
    let question = "Who is the keeper of the Orrin lighthouse?";
    let asked = |question: &str| {
        let body = chat_body((question, "never"), true);
        request("POST", "/v1/chat/completions", JSON, &body)
    };
    let half = |whole: String| whole[..whole.len() - 50].to_owned();
    match manner {
        Manner::SaysNothing => String::new(),
        Manner::SendsTheHeadByteByByte => asked(question),
        Manner::SendsHalfABody => half(asked(question)),
        Manner::DeclaresALongBody => format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: {JSON}\r\n\
             content-length: 4000000\r\n\r\n{{\"model\":"
        ),
        Manner::LeavesWhileItsPromptIsRead => asked(&"The seals and the lighthouse. ".repeat(40)),
        Manner::LeavesMidStream => asked(question),
        Manner::NeverReads => {
            "GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(UNREAD)
        }
        Manner::UploadsHalfAFile => half(request(
            "POST",
            "/v1/ken/corpora/notes/documents",
            UPLOAD,
            &upload_body("half.md", &"There are jars of plums. ".repeat(4000)),
        )),
    }
}

struct Client {
    manner: Manner,
    stream: TcpStream,
    bytes: String,
    written: usize,
    /// When it leaves, if it does so by itself.
    leaves: Option<Instant>,
}

/// The state of a client.
#[derive(Debug, PartialEq)]
enum Now {
    There,
    Left,
    /// The server has closed the connection.
    Closed,
}

impl Client {
    fn new(address: &str, manner: Manner, random: &mut Random) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nonblocking(true).unwrap();
        let soon = Duration::from_millis(random.below(500) as u64);
        Self {
            bytes: sent(manner),
            leaves: (manner == Manner::LeavesWhileItsPromptIsRead).then(|| Instant::now() + soon),
            manner,
            stream,
            written: 0,
        }
    }

    /// Goes one step on.
    fn step(&mut self) -> Now {
        let left = &self.bytes.as_bytes()[self.written..];
        let piece = match self.manner {
            Manner::SendsTheHeadByteByByte => &left[..left.len().min(1)],
            _ => left,
        };
        if !piece.is_empty() {
            match self.stream.write(piece) {
                Ok(length) => self.written += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return Now::Closed,
            }
        }
        if self.leaves.is_some_and(|leaves| Instant::now() > leaves) {
            return Now::Left;
        }
        if self.manner == Manner::NeverReads {
            return Now::There;
        }
        let mut read = [0; 4096];
        match self.stream.read(&mut read) {
            Ok(0) => Now::Closed,
            Ok(length) => {
                let read = String::from_utf8_lossy(&read[..length]);
                let is_begun = read.contains("data: ");
                match self.manner == Manner::LeavesMidStream && is_begun {
                    true => Now::Left,
                    false => Now::There,
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Now::There,
            Err(_) => Now::Closed,
        }
    }
}

/// What honest clients experienced.
#[derive(Default)]
struct Honest {
    answered: Vec<Duration>,
    found: Vec<Duration>,
    /// How often one was told to come back, and did.
    refused: usize,
}

impl Honest {
    /// Asks and searches until it is over.
    fn run(address: &str, wanted: &[((&str, &str), String)], over: &AtomicBool) -> Self {
        let mut seen = Self::default();
        for round in 0.. {
            if over.load(Ordering::Relaxed) {
                break;
            }
            let begun = Instant::now();
            let query = json!({"query": "keeper of the lighthouse", "k": 1}).to_string();
            let response = send(address, "POST", "/v1/ken/search", JSON, &query).unwrap();
            assert_eq!(response.status, 200, "{}", response.body);
            assert_eq!(response.json()["hits"][0]["doc_id"], "harbour.txt");
            seen.found.push(begun.elapsed());
            let begun = Instant::now();
            let (asked, right) = &wanted[round % wanted.len()];
            loop {
                match chat(address, *asked, round % 2 == 0) {
                    Ok((_, answer)) => {
                        assert_eq!(answer, *right, "{asked:?}");
                        break;
                    }
                    Err(reply) => {
                        assert_eq!(reply.status, 429, "{}{}", reply.head, reply.body);
                        seen.refused += 1;
                        thread::sleep(Duration::from_millis(200));
                    }
                }
            }
            seen.answered.push(begun.elapsed());
        }
        seen
    }
}

/// Lets this many clients come.
fn come(count: usize, seed: u64) {
    let ken = with_notes();
    let serve = ["--corpus", "notes=island", "--server-data", "data"];
    let parallel = PARALLEL.to_string();
    let room = ["--parallel", &parallel, "--queue", "32"];
    let serving = Serving::start(&ken, &[&serve[..], &room].concat());
    let (address, process) = (serving.address(), serving.child.id());
    let asked = [
        ("Who is the keeper of the Orrin lighthouse?", "always"),
        ("When does the ferry to Sandrey leave?", "never"),
        ("When does the bakery of Tollen open?", "prompt"),
    ];
    let answer =
        |asked| chat(address, asked, false).unwrap_or_else(|reply| panic!("{}", reply.body));
    let wanted = asked.map(|asked| (asked, answer(asked).1));
    // As many at once as there will be, so that their memory is taken once.
    thread::scope(|scope| {
        for round in 0..3 * PARALLEL {
            let (address, (asked, right)) = (address, &wanted[round % wanted.len()]);
            scope.spawn(move || {
                let answer = chat(address, *asked, true);
                assert_eq!(answer.ok().map(|answer| answer.1).as_ref(), Some(right));
            });
        }
    });
    thread::sleep(Duration::from_millis(200));
    let files = open_files(process);
    let before = memory(process).anonymous as f64 / 1024.0;

    let mut random = Random::new(seed);
    let over = AtomicBool::new(false);
    let begun = Instant::now();
    let (mut most_files, mut most_memory) = (0, 0.0_f64);
    let mut closed = 0;
    let (honest, still_there, rid) = thread::scope(|scope| {
        let honest = [0, 1, 2].map(|_| scope.spawn(|| Honest::run(address, &wanted, &over)));
        let (mut to_come, mut there) = (count, Vec::new());
        let (mut look, mut last_came) = (Instant::now(), begun);
        let mut rid = None;
        loop {
            for _ in 0..to_come.min(100) {
                let manner = MANNERS[random.below(MANNERS.len())];
                there.push(Client::new(address, manner, &mut random));
                to_come -= 1;
                last_came = Instant::now();
            }
            there.retain_mut(|client: &mut Client| match client.step() {
                Now::There => true,
                Now::Left => false,
                Now::Closed => {
                    closed += 1;
                    false
                }
            });
            if look.elapsed() > Duration::from_millis(500) {
                look = Instant::now();
                let open = open_files(process);
                most_files = most_files.max(open);
                most_memory = most_memory.max(memory(process).anonymous as f64 / 1024.0);
                // Files of honest clients come and go.
                if to_come == 0 && open <= files + honest.len() {
                    rid = Some(last_came.elapsed());
                }
            }
            let is_late = last_came.elapsed() > RID_WITHIN;
            let has_failed = honest.iter().any(thread::ScopedJoinHandle::is_finished);
            if rid.is_some() || is_late || has_failed {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
        over.store(true, Ordering::Relaxed);
        let honest = honest.map(|client| client.join().unwrap());
        (honest, there, rid)
    });
    let rid = rid.unwrap_or_else(|| panic!("{} files are open, not {files}", open_files(process)));
    let all = |of: fn(&Honest) -> &Vec<Duration>| {
        let mut times: Vec<Duration> = honest.iter().flat_map(of).copied().collect();
        times.sort();
        times
    };
    let (answered, found) = (all(|one| &one.answered), all(|one| &one.found));
    let shown = |times: &[Duration]| {
        let [half, most, all] = [0.5, 0.99, 1.0].map(|share| percentile(times, share));
        format!(
            "{} (p50 {half:.2?}, p99 {most:.2?}, longest {all:.2?})",
            times.len()
        )
    };
    // The place of the last one is given back when its thread ends.
    let deadline = Instant::now() + Duration::from_secs(10);
    let working = || metric(address, "ken_waiting") + metric(address, "ken_working");
    while working() > 0 && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(50));
    }
    let own = || memory(process).anonymous as f64 / 1024.0;
    let (at_once, freed) = (own(), Instant::now());
    while own() > before + MOST_GROWTH && freed.elapsed() < RETURNED_WITHIN {
        thread::sleep(Duration::from_millis(500));
    }
    let (after, freed) = (own(), freed.elapsed());
    eprintln!(
        "{count} clients: {closed} were closed by the server, and {} still hold their ends when it is rid of them, \
         {rid:.1?} after the last came; honest ones: {} answered, {} searched, {} times told to come back; files open: {files} before, \
         {most_files} at most, {} after; memory in MiB: {before:.1} before, {most_memory:.1} at most, \
         {at_once:.1} at once and {after:.1} after {freed:.1?}",
        still_there.len(),
        shown(&answered),
        shown(&found),
        honest.iter().map(|client| client.refused).sum::<usize>(),
        open_files(process),
    );
    assert!(percentile(&answered, 1.0) < ANSWERED_WITHIN);
    assert!(percentile(&found, 1.0) < FOUND_WITHIN);
    assert_eq!(working(), 0);
    assert!(after < before + MOST_GROWTH);
    let data = ["data/jobs", "data/files"].map(|folder| std::fs::read_dir(ken.path(folder)));
    assert_eq!(data.into_iter().flatten().flatten().count(), 0);
    for (asked, right) in &wanted {
        assert_eq!(answer(*asked).1, *right);
    }
    let log = std::fs::read_to_string(&serving.log).unwrap();
    assert!(!log.contains("panicked"), "{log}");
    drop(still_there);
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn slow_clients_hold_nothing_and_nobody_up() {
    come(200, 3);
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS, and takes minutes"]
fn slow_clients_hold_nothing_and_nobody_up_at_length() {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
    };
    come(
        number("KEN_TEST_CLIENTS", 10_000) as usize,
        number("KEN_TEST_SEED", 1),
    );
}
