//! The bodies of the fuzz targets over mutated files: a short, deterministic run.
//! `KEN_FUZZ_ROUNDS` makes it longer.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod body;
#[path = "../files/mod.rs"]
mod files;
mod mutate;
mod seeds;

use std::env;
use std::time::{Duration, Instant};

use body::Place;
use files::hostile::Random;
use proptest::prelude::*;

/// How often each seed is mutated.
const ROUNDS: u64 = 24;

/// The longest time of an input. The slowest takes a hundredth of it, so that no test fails on a busy machine.
const LONGEST: Duration = Duration::from_secs(20);

/// The most memory that this program takes over all inputs: what the largest file that a budget of
/// 256 KiB lets through needs, many times over.
#[cfg(target_os = "linux")]
const MOST_MEMORY: u64 = 768 << 20;

fn rounds() -> u64 {
    let given = env::var("KEN_FUZZ_ROUNDS").ok();
    given.and_then(|given| given.parse().ok()).unwrap_or(ROUNDS)
}

#[test]
fn mutated_files_are_read_or_told() {
    let place = Place::new();
    let mut slowest = (Duration::ZERO, "");
    for (name, seed) in seeds::all() {
        for round in 0..rounds() {
            let mut random = Random::new(round + 1);
            let bytes = match round {
                0 => seed.clone(),
                _ => mutate::mutated(&seed, &mut random),
            };
            let begun = Instant::now();
            place.read(name, &bytes);
            let taken = begun.elapsed();
            assert!(taken < LONGEST, "{name}, round {round}: {taken:?}");
            slowest = slowest.max((taken, name));
        }
    }
    println!("the slowest: {slowest:?}");
    #[cfg(target_os = "linux")]
    {
        let peak = peak_memory();
        assert!(peak < MOST_MEMORY, "{} MiB", peak >> 20);
    }
}

#[test]
fn mutated_texts_are_cut() {
    for (name, seed) in seeds::all() {
        for round in 0..rounds() / 4 {
            let bytes = mutate::mutated(&seed, &mut Random::new(round + 1));
            let begun = Instant::now();
            body::cut(&String::from_utf8_lossy(&bytes));
            let taken = begun.elapsed();
            assert!(taken < LONGEST, "{name}, round {round}: {taken:?}");
        }
    }
}

/// The most memory that this process had at once, in bytes.
#[cfg(target_os = "linux")]
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.unwrap().trim().trim_end_matches(" kB");
    kibibytes.parse::<u64>().unwrap() << 10
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    /// Bytes are changed, cut out and doubled. Failing inputs are shrunk.
    #[test]
    fn broken_files_are_read_or_told(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..4, any::<u8>(), 1_usize..40), 1..8),
    ) {
        let place = Place::new();
        for (name, mut bytes) in seeds::small() {
            for (at, change, byte, count) in &changes {
                let at = at.index(bytes.len().max(1));
                let end = (at + count).min(bytes.len());
                match change {
                    0 if at < bytes.len() => bytes[at] = *byte,
                    1 => drop(bytes.drain(at.min(end)..end)),
                    2 => {
                        let part = bytes[at.min(end)..end].to_vec();
                        bytes.splice(at.min(end)..at.min(end), part);
                    }
                    _ => bytes.truncate(at.max(1)),
                }
            }
            place.read(name, &bytes);
        }
    }
}
