//! Files of weights that another program changes while or after they are read: at worst an error, never the end of
//! the process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ken_language::Role;
use ken_model::Precision;
use ken_model::decoder::{Checkpoint, Decoder, DecoderError, LoadOptions};
use ken_model::encoder::Encoder;
use ken_testing::fails;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::load::{Place, Reader};

/// Small files are read whole before anything else; with this much after the tensors they count as large.
const PADDING: usize = 3 << 20;

/// The file with padding after its tensors.
fn padded(reader: Reader, mut bytes: Vec<u8>) -> Vec<u8> {
    if let Reader::Gguf = reader {
        bytes.resize(bytes.len() + PADDING, 0);
        return bytes;
    }
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let data = bytes.split_off(8 + length);
    header["padding"] = serde_json::json!({
        "dtype": "U8",
        "shape": [PADDING],
        "data_offsets": [data.len(), data.len() + PADDING],
    });
    let header = header.to_string();
    let length = (header.len() as u64).to_le_bytes();
    [&length[..], header.as_bytes(), &data, &vec![0; PADDING]].concat()
}

fn survives_changes(reader: Reader) {
    let place = Place::new(reader);
    let whole = padded(reader, std::fs::read(place.weights()).unwrap());
    assert!(place.load(&whole), "the unchanged file was refused");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = StdRng::seed_from_u64(7);
            let file = std::fs::File::options().write(true).open(place.weights());
            let file = file.unwrap();
            while !done.load(Ordering::Relaxed) {
                file.set_len(random.random_range(0..whole.len() as u64))
                    .unwrap();
                std::thread::sleep(Duration::from_micros(random.random_range(0..1500)));
                std::fs::write(place.weights(), &whole).unwrap();
                std::thread::sleep(Duration::from_micros(random.random_range(0..3000)));
            }
        });
        let loaded = (0..150).filter(|_| place.load_what_is_there()).count();
        done.store(true, Ordering::Relaxed);
        assert!(loaded < 150, "no change was noticed");
    });
    std::fs::write(place.weights(), &whole).unwrap();
    assert!(place.load_what_is_there());
}

#[test]
fn a_gguf_file_that_changes_is_an_error() {
    survives_changes(Reader::Gguf);
}

#[test]
fn safetensors_that_change_are_an_error() {
    survives_changes(Reader::Decoder);
    survives_changes(Reader::Embedder);
}

/// A file that is partly read after it was opened.
fn large_gguf() -> (Place, Vec<u8>) {
    let place = Place::new(Reader::Gguf);
    let whole = padded(Reader::Gguf, std::fs::read(place.weights()).unwrap());
    std::fs::write(place.weights(), &whole).unwrap();
    (place, whole)
}

fn numbers(checkpoint: &Checkpoint) -> Result<Vec<Vec<f32>>, DecoderError> {
    let tensors = checkpoint.tensors().map(|named| {
        let (_, tensor) = named?;
        Ok(tensor.flatten_all()?.to_vec1()?)
    });
    tensors.collect()
}

#[test]
fn a_gguf_file_that_is_replaced_while_it_is_open_is_read_to_its_end() {
    let (place, whole) = large_gguf();
    let checkpoint = Checkpoint::open(&place.weights(), None).unwrap();
    let before = numbers(&checkpoint).unwrap();
    std::fs::rename(place.weights(), place.weights().with_extension("old")).unwrap();
    std::fs::write(place.weights(), &whole[..100]).unwrap();
    assert_eq!(numbers(&checkpoint).unwrap(), before);
}

#[test]
fn a_gguf_file_that_shrinks_or_is_written_over_while_it_is_open_is_an_error() {
    let (place, whole) = large_gguf();
    let checkpoint = Checkpoint::open(&place.weights(), None).unwrap();
    let file = std::fs::File::options().write(true).open(place.weights());
    file.unwrap().set_len(5000).unwrap();
    let error = numbers(&checkpoint).unwrap_err();
    assert!(error.to_string().contains("cut short"), "{error}");
    // The same length, with other weights.
    let mut other = whole.clone();
    let tensors = other.len() - PADDING;
    other[tensors - 1000..tensors].fill(0);
    std::fs::write(place.weights(), &whole).unwrap();
    let checkpoint = Checkpoint::open(&place.weights(), None).unwrap();
    // File systems may count time in steps.
    std::thread::sleep(Duration::from_millis(20));
    std::fs::write(place.weights(), &other).unwrap();
    let error = numbers(&checkpoint).unwrap_err();
    assert!(error.to_string().contains("changed while"), "{error}");
}

#[test]
fn once_loaded_a_decoder_reads_nothing_of_its_file() {
    let (place, _) = large_gguf();
    let decoder = Decoder::load(&place.weights(), &LoadOptions::default()).unwrap();
    let score = || {
        let prompt = decoder.prompt("", "the thing").unwrap();
        decoder.score(&prompt, &[" a"]).unwrap()
    };
    let before = score();
    std::fs::write(place.weights(), "").unwrap();
    assert_eq!(score(), before);
    std::fs::remove_file(place.weights()).unwrap();
    assert_eq!(score(), before);
}

#[test]
fn an_embedder_whose_file_is_emptied_is_an_error() {
    let place = Place::new(Reader::Embedder);
    let whole = padded(Reader::Embedder, std::fs::read(place.weights()).unwrap());
    std::fs::write(place.weights(), &whole).unwrap();
    let folder = place.weights().parent().unwrap().to_owned();
    let encoder = Encoder::load(&folder, Precision::F32).unwrap();
    let before = encoder.embed(&["w1 w2"], Role::Passage).unwrap();
    // A replacement is another file.
    std::fs::rename(place.weights(), folder.join("old")).unwrap();
    std::fs::write(place.weights(), &whole[..10]).unwrap();
    assert_eq!(encoder.embed(&["w1 w2"], Role::Passage).unwrap(), before);
    std::fs::write(folder.join("old"), "").unwrap();
    fails!(encoder.embed(&["w1 w2"], Role::Passage) => "encoder_file_unreadable");
}
