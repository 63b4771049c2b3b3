//! Any bytes as a chat template: loading must end in a model or a typed error.

#![no_main]

// Each target uses a part of it.
#[allow(dead_code)]
#[path = "../../crates/model/tests/fuzzing/model_files.rs"]
mod model_files;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use model_files::{ModelFile, Place};

static TEMPLATE: LazyLock<Place> = LazyLock::new(|| Place::new(ModelFile::Template));

fuzz_target!(|bytes: &[u8]| {
    TEMPLATE.load(bytes);
});
