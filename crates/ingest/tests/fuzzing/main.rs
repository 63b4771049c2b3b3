//! Corpora in which something else replaces a file or a folder: every path with every replacement, under
//! every verb, and random bytes. `fuzz` continues from here.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod corpus_folder;
#[path = "../../../model/tests/loading/mutate.rs"]
mod mutate;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use corpus_folder::{Instead, Place, Verb};

/// A case takes milliseconds; machines may be busy.
const LONGEST: Duration = Duration::from_secs(60);

/// Tries cases one after another, each within a time limit: opening a pipe for reading would wait forever.
fn try_out(cases: Vec<(String, Vec<u8>)>) {
    let names: Vec<String> = cases.iter().map(|(name, _)| name.clone()).collect();
    let (done, watched) = channel();
    // A thread that hangs cannot be ended, so it is joined only once it is done.
    let worker = std::thread::spawn(move || {
        let place = Place::new();
        for (_, bytes) in cases {
            place.try_out(&bytes);
            done.send(()).unwrap();
        }
    });
    for name in &names {
        match watched.recv_timeout(LONGEST) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => panic!("{name} hangs"),
            Err(RecvTimeoutError::Disconnected) => {
                assert!(worker.join().is_ok(), "{name}");
                return;
            }
        }
    }
}

#[test]
fn whatever_stands_in_a_corpus_nothing_outside_changes_and_nothing_hangs() {
    let place = Place::new();
    let mut cases = Vec::new();
    for number in 0..place.count() {
        for (instead, shown) in Instead::ALL.iter().enumerate() {
            for (verb, done) in Verb::ALL.iter().enumerate() {
                let name = format!(
                    "{done:?} with {shown:?} at {}",
                    place.path(number).display()
                );
                cases.push((name, Place::case(number, instead, verb, b"[]")));
            }
        }
    }
    assert!(cases.len() > 1000, "{}", cases.len());
    try_out(cases);
}

#[test]
fn mutated_files_of_a_corpus_are_read_or_refused() {
    let place = Place::new();
    let mut cases = Vec::new();
    for (number, valid) in place.valid() {
        for seed in 0..20_usize {
            let name = format!("{} by seed {seed}", place.path(number).display());
            let bytes = mutate::mutated(valid, seed as u64);
            cases.push((name, Place::case(number, 1, seed, &bytes)));
        }
    }
    try_out(cases);
}
