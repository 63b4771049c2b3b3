//! Seeded damage to a file: flipped bits, inserted, deleted and truncated bytes, and numbers overwritten with typical
//! edge cases. Independent of formats, except that headers come first.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// Headers lie within this many bytes.
const HEAD_BYTES: usize = 6000;

/// Numbers at which counters, sizes and signs turn over.
const NUMBERS: [u64; 14] = [
    0,
    1,
    2,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0001,
    1 << 60,
    1 << 63,
    u64::MAX,
];

/// As above for text headers.
const TEXTS: [&str; 10] = [
    "0",
    "-1",
    "1e9",
    "9007199254740993",
    "18446744073709551615",
    "[[[[[[[[",
    "\"\":",
    "null",
    "{}",
    "\u{fffd}",
];

/// The file with one to four changes, determined by the seed.
pub(crate) fn mutated(valid: &[u8], seed: u64) -> Vec<u8> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut bytes = valid.to_vec();
    for _ in 0..random.random_range(1..=4) {
        change(&mut bytes, &mut random);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, random: &mut StdRng) {
    let reach = match random.random_range(0..8) {
        0 => bytes.len(),
        _ => bytes.len().min(HEAD_BYTES),
    };
    let at = random.random_range(0..=reach);
    match random.random_range(0..7) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.random_range(0..8);
            }
        }
        1 => {
            let inserted: Vec<u8> = (0..random.random_range(1..=9))
                .map(|_| random.random())
                .collect();
            bytes.splice(at..at, inserted);
        }
        2 => {
            let end = bytes.len().min(at + random.random_range(1..=9));
            bytes.drain(at..end);
        }
        3 => bytes.truncate(at),
        4 => {
            let text = TEXTS.choose(random).copied().unwrap_or_default();
            overwrite(bytes, at, text.as_bytes());
        }
        _ => {
            let number = NUMBERS.choose(random).copied().unwrap_or_default();
            let width = [1, 2, 4, 8].choose(random).copied().unwrap_or(8);
            overwrite(bytes, at, &number.to_le_bytes()[..width]);
        }
    }
}

fn overwrite(bytes: &mut [u8], at: usize, new: &[u8]) {
    for (byte, &new) in bytes[at..].iter_mut().zip(new) {
        *byte = new;
    }
}
