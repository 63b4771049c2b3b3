//! Any bytes as the `tokenizer.json` of a decoder and of an embedder, which have separate readers:
//! loading must end in a model or a typed error.

#![no_main]

// Each target uses a part of it.
#[allow(dead_code)]
#[path = "../../crates/model/tests/fuzzing/model_files.rs"]
mod model_files;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use model_files::{ModelFile, Place};

static DECODER: LazyLock<Place> = LazyLock::new(|| Place::new(ModelFile::DecoderTokenizer));
static EMBEDDER: LazyLock<Place> = LazyLock::new(|| Place::new(ModelFile::EmbedderTokenizer));

fuzz_target!(|bytes: &[u8]| {
    DECODER.load(bytes);
    EMBEDDER.load(bytes);
});
