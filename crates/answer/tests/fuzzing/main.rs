//! Damaged files of a policy datastore by the thousand: opening ends in a datastore or a typed error,
//! never in a panic or in memory that no file accounts for. `fuzz` continues from here.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod datastore;
#[path = "../../../model/tests/loading/mutate.rs"]
mod mutate;

use datastore::Place;
use ken_testing::cases;

const MUTATIONS: u64 = 4000;

#[test]
fn a_damaged_datastore_is_opened_or_refused() {
    let place = Place::new();
    place.open(place.valid()).unwrap();
    let mut opened = 0;
    for seed in 0..MUTATIONS {
        match place.open(&mutate::mutated(place.valid(), seed)) {
            Ok(()) => opened += 1,
            Err(error) => assert!(!error.to_string().is_empty() && !error.kind().is_empty()),
        }
    }
    // Words in questions may change, and then it is another datastore.
    assert!(opened > 0 && opened < MUTATIONS / 2, "{opened}");
}

#[test]
fn a_datastore_names_no_files_but_its_own() {
    let place = Place::new();
    let valid = String::from_utf8(place.valid().to_vec()).unwrap();
    for (from, to) in cases![
        "\"keys-1\"" => "\"../keys-1\"";
        "\"keys-1\"" => "\"/keys-1\"";
        "\"keys-1\"" => "\"keys-1/\"";
        "\"keys-1\"" => "\"keys-01\"";
        "\"keys-1\"" => "\"keys-+1\"";
        "\"keys-1\"" => "\"keys-0\"";
        "\"keys-1\"" => "\"keys-2\"";
        "\"keys-1\"" => "\"keys-\"";
        "\"keys-1\"" => "\"\"";
        // Counts that no file accounts for.
        "\"keys\":6" => "\"keys\":7";
        "\"keys\":6" => "\"keys\":1152921504606846976";
        "\"keys\":6" => "\"keys\":18446744073709551615";
        "\"center\":[0.5,0.0]" => "\"center\":[]";
        "\"center\":[0.5,0.0]" => "\"center\":[0.5]";
        "\"center\":[0.5,0.0]" => "\"center\":[0.5,1e39]";
        "\"generation\":1" => "\"generation\":18446744073709551615";
        "{\"folder\":\"keys-1\",\"keys\":6}" =>
            "{\"folder\":\"keys-1\",\"keys\":6},{\"folder\":\"keys-1\",\"keys\":6}";
    ] {
        let changed = valid.replacen(from, to, 1);
        assert_ne!(changed, valid, "{from}");
        let error = place.open(changed.as_bytes()).unwrap_err();
        let kinds = ["not_a_datastore", "vectors_size"];
        assert!(kinds.contains(&error.kind()), "{to}: {error}");
    }
}
