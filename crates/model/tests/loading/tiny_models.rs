//! Tiny models with only valid files, for tests that break them file by file.

// Other tests use the rest of these helpers.
#![allow(dead_code)]

#[path = "../decoder/checkpoint.rs"]
pub(crate) mod checkpoint;
#[path = "../encoder_families/checkpoint.rs"]
mod embedder;
#[path = "../decoder/folder.rs"]
pub(crate) mod folder;
#[path = "../decoder/gguf.rs"]
mod gguf;
#[path = "../decoder/reference.rs"]
mod reference;
#[path = "../decoder/vocabulary.rs"]
mod vocabulary;

use std::path::Path;

use candle_core::quantized::GgmlDType;
use checkpoint::Tiny;
use ken_testing::with;

fn tiny() -> Tiny {
    with!(Tiny::new("llama"), layers: 1, tied: false)
}

/// Writes a decoder in Hugging Face's layout.
pub(crate) fn write_decoder(layout: folder::Layout, folder: &Path) {
    folder::write(&tiny(), layout, folder);
}

/// Writes a decoder in GGUF.
pub(crate) fn write_gguf(path: &Path) {
    gguf::write(&tiny(), GgmlDType::Q8_0, path);
}

/// Writes an embedder.
pub(crate) fn write_embedder(folder: &Path) {
    embedder::Tiny::default().write(folder);
}

/// Whether a model loaded. A refusal must be a typed error, given by its kind and message.
pub(crate) fn loaded(result: &Result<(), (&str, String)>) -> bool {
    if let Err((kind, message)) = result {
        assert!(!kind.is_empty() && !message.is_empty());
    }
    result.is_ok()
}
