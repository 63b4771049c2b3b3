//! Broken input of every kind except weights, which `loading` covers: whatever the bytes, reading them ends soon,
//! with something that works or a typed error. The targets in `fuzz/` use the same functions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod endpoint_json;
mod model_files;
#[path = "../loading/mutate.rs"]
mod mutate;
mod server_sent_events;
mod survives;

use ken_testing::holds;
use model_files::{ModelFile, Place};
use survives::survives;

fn survives_as(file: ModelFile, cases: u64) {
    let place = Place::new(file);
    let valid = place.valid();
    survives(&format!("{file:?}"), cases, &valid, |bytes| {
        place.load(bytes)
    });
}

/// Reads seeds, which succeed unless they contain an error, and mutations of each, some of which succeed and some of
/// which are refused.
fn understood_or_refused(seeds: &[&str], mutations: u64, read: impl Fn(&[u8]) -> usize) {
    let mut understood = 0;
    for (place, seed) in seeds.iter().enumerate() {
        let is_error = seed.contains("error");
        assert_eq!(read(seed.as_bytes()) > 0, !is_error, "seed {place}");
        for number in 0..mutations {
            understood += u64::from(read(&mutate::mutated(seed.as_bytes(), number)) > 0);
        }
    }
    // Some changes matter and some do not.
    let cases = mutations * seeds.len() as u64;
    holds!("{understood} of {cases}" => (cases / 20..cases * 9 / 10).contains(&understood));
}

#[test]
fn tokenizers() {
    survives_as(ModelFile::DecoderTokenizer, 600);
    survives_as(ModelFile::EmbedderTokenizer, 600);
}

#[test]
fn configurations() {
    survives_as(ModelFile::DecoderConfig, 600);
    survives_as(ModelFile::EmbedderConfig, 600);
}

#[test]
fn chat_templates() {
    survives_as(ModelFile::Template, 600);
}

#[test]
fn adapters() {
    survives_as(ModelFile::AdapterSettings, 400);
    survives_as(ModelFile::AdapterTensors, 600);
}

#[test]
fn tokenizers_in_gguf_files() {
    survives_as(ModelFile::Gguf, 800);
}
