//! Any text, segmented in every way: the segments must cover all of it.

#![no_main]

// Each target uses a part of it.
#[allow(dead_code)]
#[path = "../../crates/documents/tests/fuzzing/body.rs"]
mod body;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    body::cut(&String::from_utf8_lossy(bytes));
});
