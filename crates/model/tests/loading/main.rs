//! Thousands of broken weight files of every kind: whatever the bytes, loading a model ends soon, with a model or a
//! typed error, and takes memory in proportion to the file. The targets in `fuzz/` search further.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod allocations;
mod changed;
mod load;
mod mutate;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use ken_testing::holds;
use load::{Place, Reader};

/// No file here is longer than 100 kB.
const MOST_BYTES_AT_ONCE: usize = 8 << 20;

/// A load takes milliseconds; machines may be busy.
const LONGEST: Duration = Duration::from_secs(60);

/// Loads the valid file and `cases` mutations of it.
fn survives(reader: Reader, cases: u64) {
    let (done, watched) = channel();
    let worker = std::thread::spawn(move || {
        let place = Place::new(reader);
        let valid = std::fs::read(place.weights()).unwrap();
        assert!(place.load(&valid), "the unchanged file was refused");
        let mut loaded = 0;
        for seed in 0..cases {
            loaded += u64::from(place.load(&mutate::mutated(&valid, seed)));
            done.send(seed).unwrap();
        }
        loaded
    });
    let mut next = 0;
    loop {
        match watched.recv_timeout(LONGEST) {
            Ok(seed) => next = seed + 1,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => panic!("{reader:?}: seed {next} hangs"),
        }
        let largest = allocations::largest();
        holds!("{reader:?}: by seed {next}, {largest} bytes were allocated at once" =>
            largest <= MOST_BYTES_AT_ONCE);
    }
    let Ok(loaded) = worker.join() else {
        panic!("{reader:?}: seed {next} panics")
    };
    // Some changes matter and some do not.
    holds!("{loaded} of {cases} load" => (cases / 100..cases * 9 / 10).contains(&loaded));
}

#[test]
fn a_gguf_file_loads_or_is_refused() {
    survives(Reader::Gguf, 1500);
}

#[test]
fn the_safetensors_of_a_decoder_load_or_are_refused() {
    survives(Reader::Decoder, 1500);
}

#[test]
fn the_safetensors_of_an_embedder_load_or_are_refused() {
    survives(Reader::Embedder, 1500);
}
