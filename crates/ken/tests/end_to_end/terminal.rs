//! What a terminal gets: styles, lines that break between words, a short trace; and strangers' texts, such as
//! documents, file names, and what a model or an endpoint says. The terminal shows these and obeys none of them.
//! Elsewhere every byte stays, but errors are one line wherever they go.

use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Command, Stdio};

use ken_testing::{holds, says};
use serde_json::{Value, json};

use crate::harness::Ken;
use crate::loopback::{Reply, Server};

const ESCAPES: &str = "\u{1b}]0;FORGED\u{7}\u{1b}[2J\u{9b}31m\u{202e}";

/// A terminal of 60 columns, and the end that a program writes to.
#[allow(unsafe_code, reason = "the C library alone makes terminals")]
fn terminal() -> (File, OwnedFd) {
    let (mut master, mut slave) = (0, 0);
    let none = std::ptr::null_mut();
    let size = libc::winsize {
        ws_row: 24,
        ws_col: 60,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: The numbers and the size live until the call returns, and it takes null for name and settings.
    let opened = unsafe { libc::openpty(&mut master, &mut slave, none, none.cast(), &size) };
    assert_eq!(opened, 0);
    // SAFETY: The call above has opened both, and nothing else has them.
    unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) }
}

/// A call without models, except those that it names.
fn call(ken: &Ken, arguments: &[&str]) -> Command {
    let mut command = ken.command(arguments);
    command.env("KEN_MODEL", "").env("KEN_EMBEDDER", "");
    command.env("TERM", "xterm").env_remove("NO_COLOR");
    command
}

/// What a call writes to a pipe on stdout, and to one on stderr.
fn piped(ken: &Ken, arguments: &[&str]) -> [String; 2] {
    let output = call(ken, arguments).output().unwrap();
    [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap())
}

/// Everything that a call writes to a terminal, which is its stdout and stderr.
fn shown(ken: &Ken, arguments: &[&str]) -> String {
    shown_by(call(ken, arguments))
}

fn shown_by(mut command: Command) -> String {
    let (mut master, slave) = terminal();
    command.stdout(Stdio::from(slave.try_clone().unwrap()));
    command.stderr(Stdio::from(slave));
    let mut child = command.spawn().unwrap();
    // Closes this process's ends of the terminal, so that reading ends with the child's.
    drop(command);
    let mut bytes = Vec::new();
    // Linux tells of the end by an error.
    let _ = master.read_to_end(&mut bytes);
    child.wait().unwrap();
    String::from_utf8(bytes).unwrap()
}

/// The lines of a terminal without escape sequences and without overwritten progress.
fn bare(text: &str) -> Vec<String> {
    let mut bare = String::new();
    let mut parts = text.split('\u{1b}');
    bare += parts.next().unwrap_or_default();
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).unwrap();
        bare += &part[end + 1..];
    }
    // Progress is overwritten: the rest stands after the last carriage return.
    let lines = bare.split("\r\n");
    let lines = lines.map(|line| line.rsplit('\r').next().unwrap_or_default().to_owned());
    lines.collect()
}

/// Its text in one line, with single spaces.
fn words(text: &str) -> String {
    let lines = bare(text).join(" ");
    lines.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Checks that nothing of what strangers wrote controls a terminal. Colors and progress are ken's own.
fn obeys_nothing(text: &str) {
    for forged in ["\u{1b}]0;", "\u{1b}[2J", "\u{9b}", "\u{7}", "\u{202e}"] {
        assert!(!text.contains(forged), "{forged:?} in {text:?}");
    }
}

/// An endpoint that embeds, and whose model writes forbidden characters.
fn endpoint() -> Server {
    Server::start(|request| match request.path.as_str() {
        "/v1/models" => Reply::json(&json!({"data": [{"id": "tiny"}]})),
        "/v1/embeddings" => {
            let texts = request.body["input"].as_array().unwrap().iter();
            let data: Vec<Value> = texts.map(|_| json!({"embedding": [3, 4, 0]})).collect();
            Reply::json(&json!({"data": data}))
        }
        "/v1/completions" | "/v1/chat/completions" => {
            let text = format!("Ida {ESCAPES}");
            let choice = json!({"index": 0, "text": text, "delta": {"content": text},
                "message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
            let answer = json!({"choices": [choice]});
            match request.body["stream"] == true {
                true => Reply::events(&[answer]),
                false => Reply::json(&answer),
            }
        }
        _ => Reply::refusal(404, &format!("Not {ESCAPES}\nerror: all good")),
    })
}

fn ask<'a>(question: &'a str, model: &'a str, embedder: &'a str) -> Vec<&'a str> {
    let ask = ["ask", question, "--corpus", "c", "--policy", "always"];
    [&ask[..], &["--model", model, "--embedder", embedder]].concat()
}

#[test]
fn documents_and_answers_are_shown_and_not_obeyed() {
    let (ken, server) = (Ken::new(), endpoint());
    let embedder = format!("{}#tiny", server.url);
    let document = json!({"id": format!("a{ESCAPES}\nb"), "title": format!("Oil {ESCAPES}\nforged"),
        "contents": format!("The oil {ESCAPES} of the boat.")});
    ken.write("notes.jsonl", document.to_string());
    let ingest = ["ingest", "notes.jsonl", "--corpus", "c"];
    let ingest = [&ingest[..], &["--embedder", &embedder]].concat();
    assert_eq!(piped(&ken, &ingest)[1], "");
    let search = ["search", "oil", "--corpus", "c", "--embedder", &embedder];
    let on_terminal = shown(&ken, &search);
    obeys_nothing(&on_terminal);
    let said = words(&on_terminal);
    says!(said => "Oil \\u{1b}]0;FORGED\\u{7}\\u{1b}[2J\\u{9b}31m\\u{202e}\\u{a}forged The oil");
    says!(said => "The oil \\u{1b}]0;FORGED");
    // A pipe gets all of it, byte by byte.
    let [stdout, _] = piped(&ken, &search);
    says!(stdout => &format!("Oil {ESCAPES}\nforged\n"));

    let json = shown(&ken, &[&search[..], &["--json"]].concat());
    obeys_nothing(&json);
    let hits: Value = serde_json::from_str(&bare(&json)[0]).unwrap();
    assert_eq!(hits["hits"][0]["title"], document["title"]);
    let exported = shown(&ken, &["corpus", "export", "--corpus", "c"]);
    obeys_nothing(&exported);
    let line: Value = serde_json::from_str(&exported).unwrap();
    assert_eq!(line["contents"], document["contents"]);

    let ask = ask("Who changes the oil?", &server.url, &embedder);
    let answered = shown(&ken, &ask);
    obeys_nothing(&answered);
    let answer = words(&answered);
    holds!("{answered:?}" => answer.contains("Ida \\u{1b}]0;FORGED\\u{7}"));
    assert!(piped(&ken, &ask)[0].contains(&format!("Ida {ESCAPES}")));
}

#[test]
fn an_error_is_one_line_whatever_is_in_it() {
    let (ken, server) = (Ken::new(), endpoint());
    let embedder = format!("{}#tiny", server.url);
    let broken = format!("bad{ESCAPES}\nerror: all good.jsonl");
    ken.write(&format!("notes/{broken}"), "{broken");
    let ingest = ["ingest", "notes", "--corpus", "c", "--embedder", &embedder];
    let elsewhere = format!("{}/none{ESCAPES}\nerror: all good", server.url);
    for arguments in [
        &ingest[..],
        &[&ingest[..], &["--skip-broken"]].concat(),
        &["ingest", &broken, "--corpus", "c"],
        &["corpus", "info", "--corpus", &broken],
        &["search", "x", "--corpus", &broken],
        &["model", "info", &format!("./{broken}")],
        &["ask", "x", "--policy", "never", "--model", &elsewhere],
        &["ask", "x", &broken],
        &["search", "x", "--k", &broken],
        &["eval", &broken, "--corpus", "c", "--out", "o"],
    ] {
        let on_terminal = shown(&ken, arguments);
        obeys_nothing(&on_terminal);
        holds!("{arguments:?}: {on_terminal:?}" => !on_terminal.contains("\nerror: all good"));
        let [_, stderr] = piped(&ken, arguments);
        obeys_nothing(&stderr);
        holds!("{arguments:?}: {stderr:?}" =>
            !stderr.contains("\nerror: all good"),
            stderr.contains("error: all good"));
    }
}

/// A corpus of one document in `c`, by an embedder of the server.
fn ingested(ken: &Ken, server: &Server) -> String {
    let embedder = format!("{}#tiny", server.url);
    let document = json!({"id": "boat", "title": "The boat", "contents": format!(
        "{}The engine's oil is changed every hundred hours, and the filter with it. {}",
        "The boat lies in the harbour. ".repeat(9), "The sails are white. ".repeat(9))});
    ken.write("notes.jsonl", document.to_string());
    let ingest = ["ingest", "notes.jsonl", "--corpus", "c"];
    let flags = ["--segment", "words:200", "--embedder", &embedder];
    let ingest = [&ingest[..], &flags].concat();
    assert_eq!(piped(ken, &ingest)[1], "");
    embedder
}

#[test]
fn a_search_marks_what_fits_in_lines_of_the_terminal() {
    let (ken, server) = (Ken::new(), endpoint());
    let embedder = ingested(&ken, &server);
    let search = ["search", "changed filter", "--corpus", "c"];
    let search = [&search[..], &["--embedder", &embedder]].concat();
    let text = shown(&ken, &search);
    says!(text =>
        "\u{1b}[1mThe boat\u{1b}[0m", "\u{1b}[1m\u{1b}[33mchanged\u{1b}[0m",
        "\u{1b}[33mfilter\u{1b}[0m");
    let lines = bare(&text);
    holds!("{lines:?}" => lines.iter().all(|line| line.chars().count() <= 60));
    let wrapped = lines
        .iter()
        .filter(|line| line.starts_with("      ") && line.len() > 30);
    assert!(wrapped.count() > 1, "{lines:?}");
    let plain = shown(&ken, &[&search[..], &["--color", "never"]].concat());
    holds!("{plain:?}" => !plain.contains("\u{1b}[1m") && !plain.contains("\u{1b}[33m"));
    assert_eq!(bare(&plain), lines);
    let mut command = call(&ken, &search);
    command.env("NO_COLOR", "1");
    assert_eq!(bare(&shown_by(command)), lines);
    // A pipe gets one line for each, and styles only on request.
    let [pipe, _] = piped(&ken, &search);
    assert_eq!(pipe.lines().count(), 2, "{pipe}");
    assert!(!pipe.contains('\u{1b}'));
    let [styled, _] = piped(&ken, &[&search[..], &["--color", "always"]].concat());
    assert!(styled.contains("\u{1b}[33mchanged\u{1b}[0m"), "{styled:?}");
}

#[test]
fn the_trace_is_short_on_a_terminal() {
    let (ken, server) = (Ken::new(), endpoint());
    let embedder = ingested(&ken, &server);
    let ask = ask("When is the oil changed?", &server.url, &embedder);
    let short = words(&shown(&ken, &ask));
    says!(short => "route: corpus (always); 1 passage read; ");
    assert!(!short.contains("calls:"), "{short}");
    let whole = [&ask[..], &["-v"]].concat();
    let verbose = words(&shown(&ken, &whole));
    for part in [
        "route: corpus (always: ",
        "passages: 1 found, 1 read",
        "calls: ",
        "time: ",
    ] {
        assert!(verbose.contains(part), "{part} is not in {verbose}");
        assert!(piped(&ken, &ask)[0].contains(part));
    }
    let quiet = [&ask[..], &["--quiet"]].concat();
    assert!(!words(&shown(&ken, &quiet)).contains("route:"));
    assert_eq!(piped(&ken, &quiet)[0].lines().count(), 1);
    // A greeting is no matter of the policy.
    let hello: Vec<&str> = ["ask", "Hello!"].iter().chain(&ask[2..]).copied().collect();
    let [talk, _] = piped(&ken, &hello);
    says!(talk => "route: self (small talk: nothing is retrieved for it)");
    let [talk, _] = piped(&ken, &[&hello[..], &["--json"]].concat());
    let talk: Value = serde_json::from_str(&talk).unwrap();
    assert_eq!(talk["small_talk"], true);
    let [asked, _] = piped(&ken, &[&ask[..], &["--json"]].concat());
    let asked: Value = serde_json::from_str(&asked).unwrap();
    assert_eq!(asked["small_talk"], Value::Null);
}

#[test]
fn tables_fit_a_terminal() {
    let ken = Ken::new();
    let plan = ["plan", "--capacity", "--passages", "22k"];
    let lines = bare(&shown(&ken, &plan));
    holds!("{lines:?}" => lines.iter().all(|line| line.chars().count() <= 60));
    // Columns that do not fit stand below, behind what they are of.
    let heads = lines.iter().filter(|line| line.starts_with("what  "));
    assert!(heads.count() > 5, "{lines:?}");
    let [whole, _] = piped(&ken, &plan);
    assert!(whole.lines().any(|line| line.chars().count() > 100));
}
