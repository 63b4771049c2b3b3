//! Broken input of every kind but weights, which `loading` has: whatever the bytes, reading them ends
//! soon, in something that works or in a typed error. The bodies are those of the targets in `fuzz/`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod endpoint_json;
mod model_files;
#[path = "../loading/mutate.rs"]
mod mutate;
mod server_sent_events;
mod wheels;

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use model_files::{ModelFile, Place};

/// A case takes milliseconds; machines may be busy.
const LONGEST: Duration = Duration::from_secs(60);

/// Tries the valid bytes, and so many mutations of them, each within some time.
fn survives(name: &str, cases: u64, valid: &[u8], try_bytes: impl Fn(&[u8]) -> bool + Send) {
    assert!(try_bytes(valid), "{name}: the valid bytes were refused");
    std::thread::scope(|scope| {
        let (done, watched) = channel();
        let worker = scope.spawn(move || {
            for seed in 0..cases {
                let _ = try_bytes(&mutate::mutated(valid, seed));
                done.send(seed).unwrap();
            }
        });
        let mut next = 0;
        loop {
            match watched.recv_timeout(LONGEST) {
                Ok(seed) => next = seed + 1,
                Err(RecvTimeoutError::Disconnected) => break,
                // A thread that hangs cannot be ended.
                Err(RecvTimeoutError::Timeout) => {
                    let _ = writeln!(std::io::stderr(), "{name}: seed {next} hangs");
                    std::process::abort();
                }
            }
        }
        assert!(worker.join().is_ok(), "{name}: seed {next} panics");
    });
}

fn survives_as(file: ModelFile, cases: u64) {
    let place = Place::new(file);
    let valid = place.valid();
    survives(&format!("{file:?}"), cases, &valid, |bytes| {
        place.load(bytes)
    });
}

#[test]
fn tokenizers() {
    survives_as(ModelFile::DecoderTokenizer, 600);
    survives_as(ModelFile::EmbedderTokenizer, 600);
}

#[test]
fn configurations() {
    survives_as(ModelFile::DecoderConfig, 600);
    survives_as(ModelFile::EmbedderConfig, 600);
}

#[test]
fn chat_templates() {
    survives_as(ModelFile::Template, 600);
}

#[test]
fn adapters() {
    survives_as(ModelFile::AdapterSettings, 400);
    survives_as(ModelFile::AdapterTensors, 600);
}

#[test]
fn tokenizers_in_gguf_files() {
    survives_as(ModelFile::Gguf, 800);
}

#[test]
fn archives() {
    let place = wheels::Place::new();
    survives("wheel", 300, &wheels::valid(), |bytes| place.unpack(bytes));
}
