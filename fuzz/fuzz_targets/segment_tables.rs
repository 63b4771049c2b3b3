//! Any bytes as the vectors of a segment in each of their types: a search must end in results or a
//! typed error.

#![no_main]

// Each target uses a part of it.
#[allow(dead_code)]
#[path = "../../crates/index/tests/fuzzing/read.rs"]
mod read;

use std::cell::LazyCell;

use libfuzzer_sys::fuzz_target;
use read::Tables;

thread_local! {
    static TABLES: LazyCell<Tables> = const { LazyCell::new(Tables::new) };
}

fuzz_target!(|bytes: &[u8]| {
    TABLES.with(|tables| tables.search(bytes));
});
