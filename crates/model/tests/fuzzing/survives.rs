//! Mutations of valid bytes, one by one: none may hang or panic.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::mutate;

/// A case takes milliseconds; machines may be busy.
const LONGEST: Duration = Duration::from_secs(60);

/// Tries the valid bytes and `cases` mutations of them, each within a time limit.
pub(crate) fn survives(
    name: &str,
    cases: u64,
    valid: &[u8],
    try_bytes: impl Fn(&[u8]) -> bool + Send,
) {
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
