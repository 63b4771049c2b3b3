//! Cases that run in worker processes, so that a case which ends its process ends no other.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::process;
use crate::shim::{Control, Shim};
use crate::world::KEPT;

/// Starts a worker with a number, which works in `dir`/run-NUMBER, and waits for it. Returns how it failed, if it did.
///
/// # Panics
/// If it cannot be started.
pub fn start(shim: &Shim, world: &str, kind: &str, dir: &Path, number: usize) -> Option<String> {
    let control = dir.join(format!("control-{number}"));
    let _ = Control::create(&control);
    let mut command = process::command(world, kind, dir);
    shim.watch(&mut command, &dir.join(format!("run-{number}")).join(KEPT));
    command
        .env("TORTURE_CONTROL", &control)
        .env("TORTURE_NUMBER", number.to_string());
    let status = command.status().expect("the worker");
    (!status.success()).then(|| format!("the process ended with {status}"))
}

/// Has workers try cases, a new worker whenever one dies. `died` makes the result of a case that killed its worker, from
/// the exit status and the call that was struck last.
///
/// # Panics
/// If a worker makes no progress.
pub fn run<C, T>(
    shim: &Shim,
    world: &str,
    kind: &str,
    dir: &Path,
    cases: &[C],
    died: impl Fn(String, String) -> T + Sync,
) -> Vec<(C, T)>
where
    C: Serialize + Clone + Send + Sync,
    T: DeserializeOwned + Send,
{
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        let parts = cases.chunks(cases.len().div_ceil(threads).max(1));
        let workers: Vec<_> = parts
            .enumerate()
            .map(|(number, cases)| {
                let died = &died;
                scope.spawn(move || part(shim, world, kind, dir, number, cases, died))
            })
            .collect();
        let each = workers.into_iter();
        each.flat_map(|worker| worker.join().expect("a worker's thread"))
            .collect()
    })
}

fn part<C: Serialize + Clone, T: DeserializeOwned>(
    shim: &Shim,
    world: &str,
    kind: &str,
    dir: &Path,
    number: usize,
    cases: &[C],
    died: &impl Fn(String, String) -> T,
) -> Vec<(C, T)> {
    let mut results: Vec<(C, T)> = Vec::new();
    while results.len() < cases.len() {
        let rest = &cases[results.len()..];
        let text = serde_json::to_vec(rest).expect("the cases");
        fs::write(dir.join(format!("cases-{number}")), text).expect("the cases");
        let death = start(shim, world, kind, dir, number);
        let lines = fs::read_to_string(dir.join(format!("results-{number}"))).unwrap_or_default();
        let lines = lines
            .lines()
            .map(|line| serde_json::from_str(line).expect("a result"));
        let before = results.len();
        results.extend(rest.iter().cloned().zip(lines));
        if let Some(death) = death
            && let Some(case) = cases.get(results.len())
        {
            let control = Control::open(&dir.join(format!("control-{number}")));
            results.push((case.clone(), died(death, control.last())));
        }
        assert!(results.len() > before, "the workers get nowhere");
    }
    results
}

/// The number of this worker.
///
/// # Panics
/// If this process is not a worker.
#[must_use]
pub fn number() -> String {
    std::env::var("TORTURE_NUMBER").expect("the worker's number")
}

/// Tries the cases of this worker one by one, and writes the result of each.
///
/// # Panics
/// If a result cannot be written.
pub fn work<C: DeserializeOwned, T: Serialize>(dir: &Path, mut each: impl FnMut(C) -> T) {
    // Panics are results like others.
    std::panic::set_hook(Box::new(|_| {}));
    let number = number();
    let cases = fs::read(dir.join(format!("cases-{number}"))).expect("the cases");
    let cases: Vec<C> = serde_json::from_slice(&cases).expect("the cases");
    let mut out = File::create(dir.join(format!("results-{number}"))).expect("the results");
    for case in cases {
        let mut line = serde_json::to_vec(&each(case)).expect("a result");
        line.push(b'\n');
        out.write_all(&line).expect("a result");
    }
}
