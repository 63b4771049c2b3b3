//! The time of a vote of a question's neighbors. `cargo xtask bench datastore` runs it, or
//! `cargo bench -p ken-answer --bench datastore -- ENTRIES DIMENSIONS`.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::time::Instant;

use ken_answer::Datastore;
use ken_answer::datastore::{By, Entry, KeyedBy, NEIGHBORS, mean_of};

/// The clusters of states.
const GROUPS: usize = 2000;
const QUERIES: usize = 500;

/// Makes a datastore of so many entries with states of so many numbers, and prints the seconds of that, and the
/// milliseconds of a vote.
fn main() {
    let mut given = std::env::args().filter_map(|word| word.parse().ok());
    let (count, dimensions): (usize, usize) =
        (given.next().unwrap_or(10_000), given.next().unwrap_or(96));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d");
    let sources = ["self", "notes", "wiki"];
    let entries = (0..count).map(|number| entry(number, sources[number % GROUPS % 3]));
    let states: Vec<Vec<f32>> = (0..count).map(|number| state(number, dimensions)).collect();
    let keyed_by = KeyedBy {
        model: "m".to_owned(),
        prompt: "p".to_owned(),
        layer: 2,
        center: mean_of(&states),
    };
    let started = Instant::now();
    let store = Datastore::create(
        &path,
        keyed_by,
        NEIGHBORS,
        &["notes", "wiki"],
        entries.collect(),
        &states,
    )
    .unwrap();
    let made = started.elapsed().as_secs_f64();
    drop(store);
    let started = Instant::now();
    let store = Datastore::open(&path).unwrap();
    let opened = started.elapsed().as_secs_f64();
    let mut times = Vec::new();
    let mut right = 0.0;
    for number in 0..QUERIES {
        let query = state(count + number * 37, dimensions);
        let started = Instant::now();
        let shares = store.shares(&query).unwrap();
        times.push(started.elapsed().as_secs_f64() * 1000.0);
        right += shares[(count + number * 37) % GROUPS % 3] / QUERIES as f64;
    }
    times.sort_by(f64::total_cmp);
    println!(
        "{{\"entries\": {count}, \"dimensions\": {dimensions}, \"make_s\": {made:.1}, \
         \"open_s\": {opened:.2}, \"p50_ms\": {:.3}, \"p95_ms\": {:.3}, \"max_ms\": {:.3}, \
         \"share_of_own_group\": {right:.3}}}",
        times[QUERIES / 2],
        times[QUERIES * 95 / 100],
        times[QUERIES - 1],
    );
}

fn entry(number: usize, source: &str) -> Entry {
    Entry::new(&number.to_string(), "", source, By::Measured)
}

/// A point near the centre of its group.
fn state(number: usize, dimensions: usize) -> Vec<f32> {
    let draw = |seed: usize, place: usize| {
        let mixed = (seed as u64 + 1)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .wrapping_add(place as u64)
            .wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed >> 40) as f32 / (1u64 << 24) as f32) - 0.5
    };
    let group = number % GROUPS;
    let of = |place| draw(group, place) + 0.7 * draw(GROUPS + number, place);
    (0..dimensions).map(of).collect()
}
