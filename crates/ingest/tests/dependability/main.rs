//! A corpus whose writer is killed, or refused by the system, at any call that changes a file: it
//! always opens, holds every published document and no half of one, and the work goes on.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../ingest/embedder.rs"]
#[allow(dead_code)]
mod embedder;
mod script;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use tempfile::TempDir;

/// How often a writer is killed, and how often it is refused with each error, at calls of each kind.
const KILLS: usize = 100;
const REFUSALS: usize = 25;

/// All calls that change a file, and those between a full stage and a published generation, which are
/// few and matter most.
const CALLS: [&str; 2] = ["all", "publishing"];

const NO_SPACE: &str = "28";
const INPUT_OUTPUT: &str = "5";

/// What a worker that was refused says of the error.
const REFUSED: i32 = 3;

/// A folder in memory where there is one: a run syncs its files thousands of times.
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => tempfile::tempdir_in(memory).unwrap(),
        false => tempfile::tempdir().unwrap(),
    }
}

/// The contents before the first step, and after each.
type States = Vec<BTreeMap<String, String>>;

fn states() -> States {
    let dir = folder();
    let mut states = vec![BTreeMap::new()];
    for step in 0..script::count() {
        script::take(dir.path(), step).unwrap();
        states.push(script::contents(dir.path()));
    }
    states
}

/// The library that lets calls fail.
fn shim(dir: &TempDir) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dependability/shim.c");
    let library = dir.path().join("shim.so");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .status()
        .unwrap();
    assert!(status.success(), "the C compiler failed");
    library
}

/// Steps that were taken to their end.
fn taken(dir: &Path) -> usize {
    fs::read(dir.join("taken")).map_or(0, |log| log.len())
}

/// Takes the steps that are left, in a process of its own.
fn work(dir: &Path, shim: &Path, which: &str, fault: &str, at: usize) -> ExitStatus {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "worker", "--ignored", "--nocapture"])
        .env("KEN_WORK", dir)
        .env("LD_PRELOAD", shim)
        .env("KEN_FAULT_BELOW", dir.join("corpus"))
        .env("KEN_FAULT_CALLS", which)
        .env("KEN_FAULT", fault)
        .env("KEN_FAULT_AT", at.to_string())
        .env("KEN_FAULT_COUNT", dir.join("count"))
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .unwrap()
        .status
}

#[test]
#[ignore = "the process that the tests here start"]
fn worker() {
    let Some(dir) = std::env::var_os("KEN_WORK").map(PathBuf::from) else {
        return;
    };
    let mut log = fs::File::options()
        .create(true)
        .append(true)
        .open(dir.join("taken"))
        .unwrap();
    for step in taken(&dir)..script::count() {
        if let Err(error) = script::take(&dir, step) {
            let said = format!("{} {}", error.kind(), error.hint().is_some());
            fs::write(dir.join("refused"), said).unwrap();
            std::process::exit(REFUSED);
        }
        log.write_all(b".").unwrap();
    }
}

/// Calls that change a file in a whole run.
fn calls(shim: &Path, which: &str) -> usize {
    let dir = folder();
    assert!(work(dir.path(), shim, which, "kill", 0).success());
    let count = fs::read_to_string(dir.path().join("count")).unwrap();
    let count = count.parse().unwrap();
    assert!(count > 2 * KILLS, "only {count} calls were seen");
    count
}

/// Checks what a run left that ended early, and that another one completes it.
fn check(dir: &Path, shim: &Path, states: &States, what: &str) {
    let (taken, found) = (taken(dir), script::contents(dir));
    // The step at which it ended is published, or it is not.
    let next = states.get(taken + 1);
    assert!(
        found == states[taken] || Some(&found) == next,
        "{what}, step {taken}: {found:?}"
    );
    assert!(
        work(dir, shim, "all", "kill", 0).success(),
        "{what}, step {taken}"
    );
    assert_eq!(Some(&script::contents(dir)), states.last(), "{what}");
    let staged = fs::read_dir(dir.join("corpus/staging")).map_or(0, Iterator::count);
    assert_eq!(staged, 0, "{what}");
}

/// Numbers up to `calls`, spread over all of them, but not evenly.
fn moments(calls: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |n| (n * calls / count + n * 7919 % (calls / count + 1)) % calls + 1)
}

#[test]
fn a_writer_that_is_killed_at_any_call_leaves_a_whole_corpus() {
    let tools = folder();
    let (shim, states) = (shim(&tools), states());
    for which in CALLS {
        let mut killed = 0;
        for at in moments(calls(&shim, which), KILLS) {
            let dir = folder();
            let status = work(dir.path(), &shim, which, "kill", at);
            killed += usize::from(status.signal() == Some(9));
            let what = format!("killed at call {at} of {which}");
            check(dir.path(), &shim, &states, &what);
        }
        // Threads may make a call or two less.
        assert!(killed >= KILLS - 2, "only {killed} were killed");
    }
}

#[test]
fn a_call_that_the_system_refuses_is_an_error_and_costs_nothing() {
    let tools = folder();
    let (shim, states) = (shim(&tools), states());
    let errors = [(NO_SPACE, "no_disk_space true"), (INPUT_OUTPUT, "io false")];
    let mut refused = 0;
    for (which, (error, kind)) in CALLS.into_iter().flat_map(|w| errors.map(|e| (w, e))) {
        for at in moments(calls(&shim, which), REFUSALS) {
            let dir = folder();
            let status = work(dir.path(), &shim, which, error, at);
            let what = format!("error {error} at call {at} of {which}");
            match status.code() {
                // What fails to be cleared away is cleared away later.
                Some(0) => {}
                Some(REFUSED) => {
                    let said = fs::read_to_string(dir.path().join("refused")).unwrap();
                    assert_eq!(said, kind, "{what}");
                    refused += 1;
                }
                other => panic!("{what}: ended with {other:?}, signal {:?}", status.signal()),
            }
            check(dir.path(), &shim, &states, &what);
        }
    }
    assert!(refused > 2 * REFUSALS, "only {refused} were refused");
}
