//! Any bytes as the graph of a segment: a search must end in results or a typed error. The first byte
//! selects the metric.

#![no_main]

// Each target uses a part of it.
#[allow(dead_code)]
#[path = "../../crates/index/tests/fuzzing/read.rs"]
mod read;

use std::cell::LazyCell;

use libfuzzer_sys::fuzz_target;
use read::Segment;

thread_local! {
    static SEGMENTS: LazyCell<[Segment; 2]> =
        const { LazyCell::new(|| ["graph", "disk"].map(Segment::new)) };
}

fuzz_target!(|bytes: &[u8]| {
    if let Some((choice, bytes)) = bytes.split_first() {
        SEGMENTS.with(|segments| segments[usize::from(choice % 2)].search("vectors.graph", bytes));
    }
});
