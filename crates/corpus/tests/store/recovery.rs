//! Corpora with a wrong `CURRENT`, manifest or name: published generations never count as unpublished,
//! and can be recovered.

use ken_corpus::{join, verify};
use ken_testing::has;
use serde_json::{Value, json};

use super::*;

/// Three generations by three writers: a, a and b, all three.
fn three() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (id, text) in [("a", "one two"), ("b", "three"), ("c", "four")] {
        let mut writer = Writer::create(dir.path(), settings()).unwrap();
        ingest(&mut writer, &[document(id, text)]);
    }
    dir
}

fn generation(dir: &Path, number: u64) -> std::path::PathBuf {
    dir.join(format!("generations/{number:08}.json"))
}

/// Repairs a corpus by what a check of it finds.
fn repair(dir: &Path) -> Result<u64, ken_corpus::CorpusError> {
    Writer::repair(dir, &verify(dir, &mut |_| {}).unwrap())
}

/// Changes one place of a manifest and seals it again.
fn reseal(path: &Path, place: &str, value: Value) -> String {
    let mut sealed: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    *sealed["manifest"].pointer_mut(place).unwrap() = value;
    let hash = blake3::hash(sealed["manifest"].to_string().as_bytes()).to_hex();
    sealed["blake3"] = json!(hash.as_str());
    fs::write(path, sealed.to_string()).unwrap();
    hash.to_string()
}

#[test]
fn a_lost_current_is_refused_until_somebody_asks_for_the_newest_generation() {
    let dir = three();
    let dir = dir.path();
    let full = contents(dir);
    fs::remove_file(dir.join("CURRENT")).unwrap();
    let before = files(dir);

    let refusals = [
        Writer::create(dir, settings()).map(|_| ()).unwrap_err(),
        Writer::open(dir).map(|_| ()).unwrap_err(),
        Corpus::open(dir).map(|_| ()).unwrap_err(),
        Settings::of(dir).map(|_| ()).unwrap_err(),
    ];
    for error in refusals {
        assert_eq!(error.kind(), "current_lost");
        assert!(error.to_string().contains("generations 1, 2, 3"), "{error}");
        assert!(error.remedy().unwrap().mentions("RepairCorpus("));
    }
    assert_eq!(files(dir), before);

    let damages = verify(dir, &mut |_| {}).unwrap();
    assert_eq!(damages.len(), 1);
    assert_eq!(damages[0].file, dir.join("CURRENT"));
    assert_eq!(repair(dir).unwrap(), 4);
    assert_eq!(contents(dir), full);
    assert_eq!(verify(dir, &mut |_| {}).unwrap(), []);
}

#[test]
fn a_copy_without_current_or_generations_is_no_empty_folder() {
    for missing in [&["CURRENT", "generations"][..], &["CURRENT", "LOCK"]] {
        let dir = three();
        for name in missing {
            let path = dir.path().join(name);
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        }
        let before = files(dir.path());
        let error = Writer::create(dir.path(), settings()).unwrap_err();
        assert!(["current_lost", "folder_in_use"].contains(&error.kind()));
        let mut after = files(dir.path());
        after.remove("LOCK");
        assert_eq!(after, {
            let mut before = before;
            before.remove("LOCK");
            before
        });
    }
}

#[test]
fn a_current_put_back_to_an_earlier_state_costs_no_newer_generation() {
    let dir = three();
    let dir = dir.path();
    let full = contents(dir);
    let first = fs::read_to_string(generation(dir, 1)).unwrap();
    let first: Value = serde_json::from_str(&first).unwrap();
    let current = format!("1 {}\n", first["blake3"].as_str().unwrap());
    fs::write(dir.join("CURRENT"), current).unwrap();

    let error = Writer::open(dir).unwrap_err();
    assert_eq!(error.kind(), "current_lost", "{error}");
    assert!(generation(dir, 3).exists());
    let damages = verify(dir, &mut |_| {}).unwrap();
    assert_eq!(damages[0].file, dir.join("CURRENT"));
    assert_eq!(repair(dir).unwrap(), 4);
    assert_eq!(contents(dir), full);
}

#[test]
fn a_damaged_current_manifest_is_no_dead_end() {
    for damage in [None, Some("{"), Some("")] {
        for way in ["rollback", "repair"] {
            let dir = three();
            let dir = dir.path();
            match damage {
                Some(text) => fs::write(generation(dir, 3), text).unwrap(),
                None => fs::remove_file(generation(dir, 3)).unwrap(),
            }
            assert!(Corpus::open(dir).is_err());
            match way {
                "rollback" => assert_eq!(Writer::rollback(dir, 1).unwrap(), 4),
                _ => assert_eq!(repair(dir).unwrap(), 4),
            }
            let left = contents(dir);
            assert_eq!(left.contains_key("b#0"), way == "repair", "{way}");
            assert_eq!(left.get("a#1").unwrap(), "two");
            if way == "repair" {
                assert_eq!(verify(dir, &mut |_| {}).unwrap(), []);
            }
            // Writing continues.
            let mut writer = Writer::open(dir).unwrap();
            assert_eq!(ingest(&mut writer, &[document("d", "five")]), 5);
            assert!(contents(dir).contains_key("d#0"));
        }
    }
}

#[test]
fn a_damaged_segment_of_the_current_generation_does_not_keep_from_rolling_back() {
    let dir = three();
    fs::remove_file(dir.path().join("segments/00000003-000/passages.jsonl")).unwrap();
    assert!(Corpus::open(dir.path()).is_err());
    assert_eq!(Writer::rollback(dir.path(), 2).unwrap(), 4);
    assert!(contents(dir.path()).contains_key("b#0"));
}

#[test]
fn where_no_generation_is_whole_the_rest_of_the_newest_is_kept() {
    let dir = three();
    let dir = dir.path();
    fs::write(dir.join("segments/00000001-000/passages.jsonl"), "").unwrap();
    fs::write(dir.join("CURRENT"), "").unwrap();
    assert_eq!(repair(dir).unwrap(), 4);
    assert_eq!(contents(dir), map(&[("b#0", "three"), ("c#0", "four")]));
    assert_eq!(verify(dir, &mut |_| {}).unwrap(), []);

    for number in 1..=4 {
        let _ = fs::write(generation(dir, number), "{");
    }
    let error = repair(dir).unwrap_err();
    assert_eq!(error.kind(), "corpus_unrecoverable");
    assert!(error.remedy().unwrap().mentions("passages.jsonl"));
    assert!(dir.join("segments/00000003-000/passages.jsonl").exists());
}

#[test]
fn damage_in_an_earlier_generation_is_named_and_costs_only_that() {
    let dir = three();
    let dir = dir.path();
    Writer::open(dir)
        .unwrap()
        .delete(&["a".to_owned()])
        .unwrap();
    Writer::rollback(dir, 3).unwrap();
    let full = contents(dir);
    let marks = dir.join("marks/00000004.00000001-000.json");
    fs::write(&marks, "{}").unwrap();
    let damages = verify(dir, &mut |_| {}).unwrap();
    assert_eq!(damages.len(), 1);
    has!(damages[0], file: marks, generations[..]: [4][..], current: false);
    assert_eq!(Writer::repair(dir, &damages).unwrap(), 5);
    assert_eq!(verify(dir, &mut |_| {}).unwrap(), []);
    assert_eq!(contents(dir), full);
    assert_eq!(
        Writer::rollback(dir, 4).unwrap_err().kind(),
        "unknown_generation"
    );
}

#[test]
fn a_manifest_that_cannot_be_read_just_now_costs_nothing() {
    let dir = three();
    let dir = dir.path();
    // Reading a folder fails as a disk does, and not as damage.
    let (path, aside) = (generation(dir, 1), dir.join("aside"));
    fs::rename(&path, &aside).unwrap();
    fs::create_dir(&path).unwrap();
    let mut writer = Writer::open(dir).unwrap();
    for n in 0..20 {
        ingest(&mut writer, &[document("a", &format!("text {n}"))]);
    }
    drop(writer);
    fs::remove_dir(&path).unwrap();
    fs::rename(&aside, &path).unwrap();
    Writer::rollback(dir, 1).unwrap();
    assert_eq!(contents(dir), map(&[("a#0", "one"), ("a#1", "two")]));
}

#[test]
fn names_that_lead_elsewhere_and_absurd_counts_are_damage() {
    let marks = json!({"name": "../1.json", "bytes": 1, "blake3": ""});
    let changes = [
        ("/segments/0/files/0/name", json!("../../../x")),
        ("/segments/0/files/0/name", json!("/etc/x")),
        ("/segments/0/id", json!("../00000001-000")),
        // Named twice.
        ("/segments/0/id", json!("00000002-000")),
        ("/segments/0/marks", marks),
        ("/sharding/count", json!(4_000_000_000_u32)),
        ("/embedder/dimensions", json!(u64::MAX)),
        ("/segments/0/shard", json!(1)),
        ("/segments/0/passages", json!(u64::MAX)),
        ("/segments/0/live_passages", json!(u64::MAX)),
        ("/segments/0/files/0/bytes", json!(u64::MAX)),
    ];
    for (place, value) in changes {
        let root = tempfile::tempdir().unwrap();
        let part = root.path().join("part");
        let mut writer = Writer::create(&part, settings()).unwrap();
        ingest(&mut writer, &[document("a", "one")]);
        ingest(&mut writer, &[document("b", "two")]);
        drop(writer);
        fs::write(root.path().join("x"), "precious").unwrap();
        let what = format!("{place}: {value}");
        let hash = reseal(&generation(&part, 2), place, value);
        fs::write(part.join("CURRENT"), format!("2 {hash}\n")).unwrap();
        let whole = root.path().join("whole");
        let errors = [
            Corpus::open(&part).map(|_| ()).unwrap_err(),
            join(&whole, std::slice::from_ref(&part), false, &mut |_| {})
                .map(|_| ())
                .unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), "corpus_damaged", "{what}: {error}");
        }
        assert!(!verify(&part, &mut |_| {}).unwrap().is_empty(), "{what}");
        assert_eq!(fs::read(root.path().join("x")).unwrap(), b"precious");
    }
}
