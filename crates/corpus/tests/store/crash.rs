//! The state after a crash or an error of the system.

use std::path::Path;

use ken_corpus::CorpusError;
use ken_storage::StorageError;
use ken_testing::cases;

use super::*;

#[test]
fn a_crash_at_any_step_of_publishing_leaves_the_generation_before() {
    let (before, after) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = [document("a", "one two"), document("b", "three")];
    ingest(
        &mut Writer::create(before.path(), settings()).unwrap(),
        &first,
    );
    copy(before.path(), after.path());
    ingest(
        &mut Writer::create(after.path(), settings()).unwrap(),
        &[document("a", "new words"), document("c", "more")],
    );

    // The files that each step leaves, cumulatively and in order.
    let steps = cases![
        "marks/00000002.00000001-000.json" => "marks/00000002.00000001-000.json.tmp";
        "marks/00000002.00000001-000.json" => "marks/00000002.00000001-000.json";
        "segments/00000002-000" => "staging/00000001";
        "segments/00000002-000" => "segments/00000002-000";
        "generations/00000002.json" => "generations/00000002.json.tmp";
        "generations/00000002.json" => "generations/00000002.json";
        "CURRENT" => "CURRENT.tmp";
    ];
    for count in 1..=steps.len() {
        let crashed = tempfile::tempdir().unwrap();
        let dir = crashed.path();
        copy(before.path(), dir);
        for (from, to) in &steps[..count] {
            fs::create_dir_all(dir.join(to).parent().unwrap()).unwrap();
            copy(&after.path().join(from), &dir.join(to));
        }
        let old = map(&[("a#0", "one"), ("a#1", "two"), ("b#0", "three")]);
        assert_eq!(contents(dir), old, "step {count}");
        assert_eq!(Corpus::open(dir).unwrap().generation(), 1);

        let mut writer = Writer::create(dir, settings()).unwrap();
        assert!(!dir.join("staging").exists() && !dir.join("segments/00000002-000").exists());
        assert_eq!(ingest(&mut writer, &[document("b", "other")]), 2);
        let new = map(&[("a#0", "one"), ("a#1", "two"), ("b#0", "other")]);
        assert_eq!(contents(dir), new, "step {count}");
    }
}

#[test]
fn a_crash_before_the_first_generation_is_published_is_no_obstacle() {
    let full = tempfile::tempdir().unwrap();
    ingest(
        &mut Writer::create(full.path(), settings()).unwrap(),
        &[document("a", "one")],
    );
    fs::rename(full.path().join("CURRENT"), full.path().join("CURRENT.tmp")).unwrap();
    assert!(!Corpus::exists(full.path()));
    let unsealed = tempfile::tempdir().unwrap();
    copy(full.path(), unsealed.path());
    let manifest = unsealed.path().join("generations/00000001.json");
    fs::rename(&manifest, manifest.with_extension("json.tmp")).unwrap();
    let error = Corpus::open(unsealed.path()).unwrap_err();
    assert_eq!(error.kind(), "not_a_corpus");
    assert!(error.remedy().unwrap().mentions("Ingest("));
    let mut writer = Writer::create(unsealed.path(), settings()).unwrap();
    assert_eq!(ingest(&mut writer, &[document("b", "two")]), 1);
    assert_eq!(contents(unsealed.path()), map(&[("b#0", "two")]));

    // Once it is sealed it is whole, and may have been published.
    let error = Corpus::open(full.path()).unwrap_err();
    assert_eq!(error.kind(), "current_lost");
    assert_eq!(Settings::of(full.path()).unwrap(), Some(settings()));
    let mut writer = Writer::create(full.path(), settings()).unwrap();
    assert_eq!(ingest(&mut writer, &[document("b", "two")]), 2);
    assert_eq!(
        contents(full.path()),
        map(&[("a#0", "one"), ("b#0", "two")])
    );
}

#[cfg(unix)]
#[test]
fn a_publication_that_fails_loses_nothing_and_the_writer_can_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(dir.path(), settings()).unwrap();
    ingest(&mut writer, &[document("a", "one")]);
    let obstacle = dir.path().join("CURRENT.tmp");
    std::os::unix::fs::symlink("/dev/full", &obstacle).unwrap();
    let mut staged = writer.stage(0).unwrap();
    staged.push(&document("a", "two"), &["two".into()]).unwrap();
    let error = writer.publish(vec![staged]).unwrap_err();
    assert_eq!(error.kind(), "not_a_plain_file", "{error}");
    std::fs::remove_file(&obstacle).unwrap();
    assert_eq!(contents(dir.path()), map(&[("a#0", "one")]));
    assert_eq!(ingest(&mut writer, &[document("a", "two")]), 2);
    assert_eq!(contents(dir.path()), map(&[("a#0", "two")]));
}

#[test]
fn refused_folders_name_the_remedy() {
    for (kind, name) in [
        (std::io::ErrorKind::PermissionDenied, "permission_denied"),
        (std::io::ErrorKind::ReadOnlyFilesystem, "read_only"),
    ] {
        let refused = StorageError::new("create", Path::new("/there"))(kind.into());
        let error = CorpusError::Io(refused);
        assert_eq!(error.kind(), name);
        assert!(error.remedy().unwrap().mentions("/there"));
    }
    let full =
        StorageError::new("write", Path::new("/there"))(std::io::ErrorKind::StorageFull.into());
    let full = CorpusError::Io(full);
    assert_eq!(full.kind(), "no_disk_space");
    assert!(full.remedy().unwrap().mentions("free some disk space"));
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = Writer::create(&file.path().join("corpus"), settings()).unwrap_err();
    assert!(error.to_string().starts_with("cannot create "), "{error}");
    assert_eq!(
        Corpus::open(file.path()).unwrap_err().kind(),
        "not_a_corpus"
    );
}
