//! Any bytes as a mail message and a mailbox: reading must end in documents and typed errors.

#![no_main]

// Each target uses a part of it.
#[allow(dead_code)]
#[path = "../../crates/documents/tests/fuzzing/body.rs"]
mod body;

use std::sync::LazyLock;

use body::Place;
use libfuzzer_sys::fuzz_target;

static PLACE: LazyLock<Place> = LazyLock::new(Place::new);

fuzz_target!(|bytes: &[u8]| {
    for name in ["m.eml", "m.mbox"] {
        PLACE.read(name, bytes);
    }
});
