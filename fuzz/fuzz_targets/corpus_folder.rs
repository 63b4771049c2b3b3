//! Any bytes as replacements of files and folders of a corpus, and what is done to it afterwards: it must end in a
//! result or a typed error, and nothing outside may change.

#![no_main]

// The target uses a part of it.
#[allow(dead_code)]
#[path = "../../crates/ingest/tests/fuzzing/corpus_folder.rs"]
mod corpus_folder;

use std::cell::LazyCell;

use corpus_folder::Place;
use libfuzzer_sys::fuzz_target;

thread_local! {
    static PLACE: LazyCell<Place> = const { LazyCell::new(Place::new) };
}

fuzz_target!(|bytes: &[u8]| {
    PLACE.with(|place| place.try_out(bytes));
});
