//! What strangers wrote on a terminal: documents, names of files, and what a model or an endpoint says. It is shown,
//! and the terminal obeys none of it. Elsewhere every byte stays, but errors are one line wherever they go.

use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::Ken;
use crate::loopback::{Reply, Server};

const ESCAPES: &str = "\u{1b}]0;FORGED\u{7}\u{1b}[2J\u{9b}31m\u{202e}";

/// A terminal, and what a program writes to.
#[allow(unsafe_code, reason = "the C library alone makes terminals")]
fn terminal() -> (File, OwnedFd) {
    let (mut master, mut slave) = (0, 0);
    let none = std::ptr::null_mut();
    // SAFETY: Both numbers live until the call returns, and it takes null for name and settings.
    let opened = unsafe { libc::openpty(&mut master, &mut slave, none, none.cast(), none.cast()) };
    assert_eq!(opened, 0);
    // SAFETY: The call above has opened both, and nobody else has them.
    unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) }
}

/// A call without models but those that it names.
fn call(ken: &Ken, arguments: &[&str]) -> Command {
    let mut command = ken.command(arguments);
    command.env("KEN_MODEL", "").env("KEN_EMBEDDER", "");
    command
}

/// What a call writes to a pipe on stdout, and to one on stderr.
fn piped(ken: &Ken, arguments: &[&str]) -> [String; 2] {
    let output = call(ken, arguments).output().unwrap();
    [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap())
}

/// All that a call writes to a terminal, on which it has stdout and stderr.
fn shown(ken: &Ken, arguments: &[&str]) -> String {
    let (mut master, slave) = terminal();
    let mut command = call(ken, arguments);
    command.stdout(Stdio::from(slave.try_clone().unwrap()));
    command.stderr(Stdio::from(slave));
    let mut child = command.spawn().unwrap();
    // Its ends of the terminal, after which reading ends with the child's.
    drop(command);
    let mut bytes = Vec::new();
    // Linux tells of the end by an error.
    let _ = master.read_to_end(&mut bytes);
    child.wait().unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Checks that nothing of what strangers wrote reaches a terminal. Colors and progress are ken's own.
fn obeys_nothing(text: &str) {
    for forged in ["\u{1b}]0;", "\u{1b}[2J", "\u{9b}", "\u{7}", "\u{202e}"] {
        assert!(!text.contains(forged), "{forged:?} in {text:?}");
    }
}

/// An endpoint that embeds, and whose model writes what it must not.
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

#[test]
fn documents_and_answers_are_shown_and_not_obeyed() {
    let (ken, server) = (Ken::new(), endpoint());
    let embedder = format!("{}#tiny", server.url);
    let document = json!({"id": format!("a{ESCAPES}\nb"), "title": format!("Oil {ESCAPES}\nforged"),
        "contents": format!("The oil {ESCAPES} of the boat.")});
    ken.write("notes.jsonl", document.to_string());
    let ingest = [
        "ingest",
        "notes.jsonl",
        "--corpus",
        "c",
        "--embedder",
        &embedder,
    ];
    assert_eq!(piped(&ken, &ingest)[1], "");
    let search = ["search", "oil", "--corpus", "c", "--embedder", &embedder];
    let on_terminal = shown(&ken, &search);
    obeys_nothing(&on_terminal);
    assert!(
        on_terminal
            .contains("Oil \\u{1b}]0;FORGED\\u{7}\\u{1b}[2J\\u{9b}31m\\u{202e}\\u{a}forged\r\n"),
        "{on_terminal:?}"
    );
    assert!(
        on_terminal.contains("The oil \\u{1b}]0;FORGED"),
        "{on_terminal:?}"
    );
    // A pipe gets all of it, byte by byte.
    let [stdout, _] = piped(&ken, &search);
    assert!(
        stdout.contains(&format!("Oil {ESCAPES}\nforged\n")),
        "{stdout:?}"
    );

    let json = shown(&ken, &[&search[..], &["--json"]].concat());
    obeys_nothing(&json);
    let hits: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(hits["hits"][0]["title"], document["title"]);
    let exported = shown(&ken, &["corpus", "export", "--corpus", "c"]);
    obeys_nothing(&exported);
    let line: Value = serde_json::from_str(&exported).unwrap();
    assert_eq!(line["contents"], document["contents"]);

    let ask = [
        "ask",
        "Who changes the oil?",
        "--corpus",
        "c",
        "--model",
        &server.url,
    ];
    let ask = [&ask[..], &["--embedder", &embedder, "--policy", "always"]].concat();
    let answered = shown(&ken, &ask);
    obeys_nothing(&answered);
    assert!(
        answered.contains("Ida \\u{1b}]0;FORGED\\u{7}"),
        "{answered:?}"
    );
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
        assert!(
            !on_terminal.contains("\nerror: all good"),
            "{arguments:?}: {on_terminal:?}"
        );
        let [_, stderr] = piped(&ken, arguments);
        obeys_nothing(&stderr);
        assert!(
            !stderr.contains("\nerror: all good"),
            "{arguments:?}: {stderr:?}"
        );
        assert!(
            stderr.contains("error: all good"),
            "{arguments:?}: {stderr:?}"
        );
    }
}
