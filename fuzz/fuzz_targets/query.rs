//! Any text as a query and as a filter of a search: it must end in results, and the terms within their
//! bounds.

#![no_main]

// Each target uses a part of it.
#[allow(dead_code)]
#[path = "../../crates/index/tests/fuzzing/read.rs"]
mod read;

use std::cell::LazyCell;

use libfuzzer_sys::fuzz_target;
use read::Asked;

thread_local! {
    static ASKED: LazyCell<Asked> = const { LazyCell::new(Asked::new) };
}

fuzz_target!(|bytes: &[u8]| {
    ASKED.with(|asked| asked.ask(bytes));
});
