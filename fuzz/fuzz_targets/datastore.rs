//! Any bytes as the texts of a policy datastore: opening must end in a datastore or a typed error.

#![no_main]

// The seeds need more of it.
#[allow(dead_code)]
#[path = "../../crates/answer/tests/fuzzing/datastore.rs"]
mod datastore;

use std::sync::LazyLock;

use datastore::Place;
use libfuzzer_sys::fuzz_target;

static PLACE: LazyLock<Place> = LazyLock::new(Place::new);

fuzz_target!(|bytes: &[u8]| {
    // An error is as good as a datastore.
    let _ = PLACE.open(bytes);
});
