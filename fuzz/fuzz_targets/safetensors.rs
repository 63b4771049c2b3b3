//! Any bytes as the safetensors of a decoder and of an embedder, which have separate readers:
//! loading must end in a model or a typed error.

#![no_main]

// Each target uses a part of it.
#[allow(dead_code)]
#[path = "../../crates/model/tests/loading/load.rs"]
mod load;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use load::{Place, Reader};

static DECODER: LazyLock<Place> = LazyLock::new(|| Place::new(Reader::Decoder));
static EMBEDDER: LazyLock<Place> = LazyLock::new(|| Place::new(Reader::Embedder));

fuzz_target!(|bytes: &[u8]| {
    DECODER.load(bytes);
    EMBEDDER.load(bytes);
});
