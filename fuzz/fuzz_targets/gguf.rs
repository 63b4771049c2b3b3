//! Any bytes as a decoder's GGUF file: loading must end in a model or a typed error.

#![no_main]

// Each target uses a part of it.
#[allow(dead_code)]
#[path = "../../crates/model/tests/loading/load.rs"]
mod load;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use load::{Place, Reader};

static PLACE: LazyLock<Place> = LazyLock::new(|| Place::new(Reader::Gguf));

fuzz_target!(|bytes: &[u8]| {
    PLACE.load(bytes);
});
