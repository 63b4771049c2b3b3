//! Some ten thousand broken files and hostile texts: for any bytes, a search ends in
//! a typed error or with results within the passages, and takes memory in proportion to
//! the file. The targets in `fuzz/` continue from there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../model/tests/loading/allocations.rs"]
mod allocations;
#[path = "../../../model/tests/loading/mutate.rs"]
mod mutate;
mod read;

use read::{Asked, Segment, TABLES, Tables};

/// No file here is longer than 100 kB. What is built before the damage takes more.
const MOST_BYTES_AT_ONCE: usize = 8 << 20;

/// Runs `search` with every byte inverted, the file cut wherever a part may
/// begin, and seeded damage.
fn survives(valid: &[u8], search: impl Fn(&[u8]) -> bool) {
    assert!(search(valid), "the unchanged file was refused");
    let mut bytes = valid.to_vec();
    for at in 0..valid.len() {
        let flips = [0xff, 1 << (at / 2 % 8)][at % 2];
        bytes[at] ^= flips;
        search(&bytes);
        bytes[at] ^= flips;
    }
    let lengths = (0..64).map(|power| 1usize << power);
    for length in lengths.take_while(|&length| length < valid.len()) {
        for length in [length - 1, length, length + 1, valid.len() - length] {
            assert!(!search(&valid[..length.min(valid.len() - 1)]), "{length}");
        }
    }
    for seed in 0..500 {
        search(&mutate::mutated(valid, seed));
    }
    let largest = allocations::largest();
    assert!(largest <= MOST_BYTES_AT_ONCE, "{largest} bytes at once");
}

#[test]
fn a_graph_is_walked_or_refused() {
    for layout in ["graph", "disk"] {
        let segment = Segment::new(layout);
        let valid = std::fs::read(segment.file("vectors.graph")).unwrap();
        survives(&valid, |bytes| segment.search("vectors.graph", bytes));
    }
}

#[test]
fn vectors_are_searched_or_refused() {
    let tables = Tables::new();
    for (layout, name) in (0..).zip(TABLES) {
        // Of the longest files, only the first rows: the others are alike.
        let valid = tables.valid(layout);
        assert!(tables.search(&valid), "{name}");
        let mut bytes = valid.clone();
        for at in 1..valid.len().min(1000) {
            bytes[at] ^= 0xff;
            assert!(tables.search(&bytes), "{name} {at}");
            bytes[at] ^= 0xff;
        }
        for seed in 0..200 {
            let mut bytes = mutate::mutated(&valid[1..], seed);
            bytes.insert(0, layout | if seed % 2 == 0 { 0x80 } else { 0 });
            tables.search(&bytes);
        }
        for length in (0..24).map(|power| 1usize << power) {
            assert!(!tables.search(&valid[..length.min(valid.len() - 1)]));
        }
    }
    let largest = allocations::largest();
    assert!(largest <= MOST_BYTES_AT_ONCE, "{largest} bytes at once");
}

#[test]
fn any_text_is_a_query_and_no_text_breaks_a_filter() {
    let asked = Asked::new();
    let seeds = [
        "who drives the tide?",
        "year>=1969",
        " lang != zh ",
        "北京在哪里? ガイド e\u{301}\u{489}",
        "((\"a\" AND (b OR c:*)) ~2^9 [x TO y]",
        "open=true=false<<>>!=",
        "1e999999999<=0x",
    ];
    for (number, seed) in seeds.iter().enumerate() {
        asked.ask(seed.as_bytes());
        for case in 0..200 {
            asked.ask(&mutate::mutated(seed.as_bytes(), case * 7 + number as u64));
        }
    }
}
