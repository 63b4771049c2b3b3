//! Backups: beside a writer, interrupted, of damaged corpora, and into folders that are not empty.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use ken_corpus::{Backup, Change, CorpusError, Pruned, backup, history, verify};
use ken_testing::has;

use super::*;

/// A backup that is never stopped.
fn back_up(dir: &Path, to: &Path) -> Result<Backup, CorpusError> {
    let done = backup(dir, to, &mut |_| {}, &AtomicBool::new(false))?;
    Ok(done.expect("nobody stops it"))
}

/// A folder with a corpus of several segments, with marks, in `c`.
fn made() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let (dir, to) = (root.path().join("c"), root.path().join("b"));
    let mut writer = Writer::create(&dir, settings()).unwrap();
    ingest(
        &mut writer,
        &[document("a", "one two"), document("b", "three")],
    );
    ingest(&mut writer, &[document("a", "four five")]);
    writer.prune(vec![mark("b#0")]).unwrap();
    drop(writer);
    (root, dir, to)
}

#[track_caller]
fn assert_same(dir: &Path, to: &Path) {
    assert_eq!(verify(to, &mut |_| {}).unwrap(), []);
    let (own, copy) = (Corpus::open(dir).unwrap(), Corpus::open(to).unwrap());
    assert_eq!(own.fingerprint(), copy.fingerprint());
    assert_eq!(own.info(), copy.info());
    assert_eq!(contents(dir), contents(to));
    assert!(!to.join("staging").exists());
}

#[test]
fn a_backup_is_the_published_generation_and_a_corpus_itself() {
    let (root, dir, to) = made();
    let before = files(&dir);
    let done = back_up(&dir, &to).unwrap();
    has!(done, generation: 3, copied_bytes: done.bytes);
    assert_same(&dir, &to);
    assert_eq!(files(&dir), before);

    // Once restored, it continues as the corpus would have.
    let restored = root.path().join("r");
    back_up(&to, &restored).unwrap();
    assert_same(&dir, &restored);
    let mut writer = Writer::open(&restored).unwrap();
    assert_eq!(ingest(&mut writer, &[document("c", "six")]), 4);
    drop(writer);
    assert_eq!(
        contents(&restored),
        map(&[("a#0", "four"), ("a#1", "five"), ("c#0", "six")])
    );
    // It is no longer a backup.
    let error = back_up(&to, &restored).unwrap_err();
    assert_eq!(error.kind(), "backup_refused");
    assert!(error.to_string().contains("changed since"), "{error}");
}

#[test]
fn the_next_backup_copies_what_is_new_and_keeps_what_a_rollback_needs() {
    let (_root, dir, to) = made();
    back_up(&dir, &to).unwrap();
    let again = back_up(&dir, &to).unwrap();
    assert_eq!((again.copied_files, again.generation), (0, 3));

    let first = contents(&to);
    ingest(
        &mut Writer::open(&dir).unwrap(),
        &[document("c", "six seven")],
    );
    let next = back_up(&dir, &to).unwrap();
    // The new segment, and nothing of the two existing ones.
    has!(next, copied_files: 5, generation: 4);
    assert_same(&dir, &to);
    let kept: Vec<u64> = history(&to).unwrap().iter().map(|g| g.generation).collect();
    assert_eq!(kept, [3, 4]);

    let back = Writer::rollback(&to, 3).unwrap();
    assert_eq!(back, 5);
    assert_eq!(contents(&to), first);
}

#[test]
fn a_backup_in_which_a_file_was_lost_gets_it_again() {
    let (_root, dir, to) = made();
    back_up(&dir, &to).unwrap();
    fs::write(
        segment(&to, "00000001-000").join("passages.jsonl"),
        "shorter",
    )
    .unwrap();
    fs::remove_dir_all(to.join("marks")).unwrap();
    let done = back_up(&dir, &to).unwrap();
    // The other files of the segment are intact.
    assert_eq!(done.copied_files, 2);
    assert_same(&dir, &to);
}

#[test]
fn beside_a_writer_each_backup_is_one_of_its_generations() {
    let root = tempfile::tempdir().unwrap();
    let (dir, to) = (&root.path().join("c"), root.path().join("b"));
    ingest(
        &mut Writer::create(dir, settings()).unwrap(),
        &[document("a", "one two"), document("b", "kept")],
    );
    let mut published = BTreeMap::from([(1, contents(dir))]);
    let done = AtomicBool::new(false);
    let backups = std::thread::scope(|scope| {
        let backing_up = scope.spawn(|| {
            let mut found = Vec::new();
            while !done.load(Ordering::Relaxed) {
                let backup = back_up(dir, &to).unwrap();
                assert_eq!(verify(&to, &mut |_| {}).unwrap(), []);
                found.push((backup.generation, contents(&to)));
            }
            found
        });
        for round in 0..40 {
            let mut writer = Writer::open(dir).unwrap();
            let text = format!("round {round}");
            let mut note = |number| published.insert(number, contents(dir));
            note(ingest(&mut writer, &[document("a", &text)]));
            note(writer.prune(vec![mark("a#0")]).unwrap());
            let ids: Vec<String> = (writer.known().segments().iter())
                .map(|segment| segment.id().to_owned())
                .collect();
            let mut staged = writer.stage(0).unwrap();
            for segment in writer.known().segments() {
                staged
                    .copy::<CorpusError>(&segment, Pruned::Dropped, |_, _| Ok(()))
                    .unwrap();
            }
            note(writer.replace(Change::Compact, &ids, vec![staged]).unwrap());
        }
        done.store(true, Ordering::Relaxed);
        backing_up.join().unwrap()
    });
    let mut generations: Vec<u64> = backups.iter().map(|(number, _)| *number).collect();
    generations.dedup();
    assert!(generations.len() > 3, "{generations:?}");
    for (number, found) in backups {
        assert_eq!(found, published[&number], "generation {number}");
    }
}

#[test]
fn a_backup_that_is_stopped_leaves_the_last_one_and_is_resumed() {
    let (_root, dir, to) = made();
    let stopped_after = |steps: usize| {
        let (stop, mut left) = (AtomicBool::new(false), steps);
        let mut count = |_| match left {
            0 => stop.store(true, Ordering::Relaxed),
            _ => left -= 1,
        };
        backup(&dir, &to, &mut count, &stop).unwrap()
    };
    let mut steps = 0;
    while stopped_after(steps).is_none() {
        assert!(!Corpus::exists(&to));
        assert!(Corpus::open(&to).is_err());
        // Files copied earlier are kept.
        steps += 1;
        assert!(steps < 1000);
    }
    assert!(steps > 5);
    assert_same(&dir, &to);

    let last = contents(&to);
    ingest(
        &mut Writer::open(&dir).unwrap(),
        &[document("c", "six seven")],
    );
    for steps in [0, 4, 5] {
        assert_eq!(stopped_after(steps), None);
        assert_eq!(verify(&to, &mut |_| {}).unwrap(), []);
        assert_eq!(contents(&to), last);
    }
    // A damaged leftover is not used.
    let staged = to.join("staging").join("00000004-000");
    assert!(staged.is_dir());
    for name in files(&staged).keys() {
        let path = staged.join(name);
        let length = fs::metadata(&path).unwrap().len();
        fs::write(path, vec![b'x'; length as usize]).unwrap();
    }
    back_up(&dir, &to).unwrap();
    assert_same(&dir, &to);
}

#[test]
fn damage_of_the_corpus_is_named_and_never_copied() {
    let (root, dir, to) = made();
    back_up(&dir, &to).unwrap();
    let backed_up = files(&to);
    let new = root.path().join("new");
    for (name, bytes) in files(&dir) {
        let current = ["00000003", "CURRENT"]
            .iter()
            .any(|&own| name.contains(own));
        if bytes.is_empty() || (name.starts_with("generations") && !current) {
            continue;
        }
        let path = dir.join(&name);
        for harm in ["flipped", "cut", "gone"] {
            match harm {
                "flipped" => {
                    let mut flipped = bytes.clone();
                    flipped[bytes.len() / 2] ^= 1;
                    fs::write(&path, flipped).unwrap();
                }
                "cut" => fs::write(&path, &bytes[..bytes.len() / 2]).unwrap(),
                _ => fs::remove_file(&path).unwrap(),
            }
            let _ = fs::remove_dir_all(&new);
            let needed = is_needed(&dir, &name);
            match back_up(&dir, &new) {
                Err(error) => {
                    let file = path.file_name().unwrap().to_str().unwrap();
                    let is_named = error.to_string().contains(file) || name == "CURRENT";
                    assert!(needed && is_named, "{harm} {name}: {error}");
                    assert!(!Corpus::exists(&new), "{harm} {name}");
                }
                Ok(_) => assert!(!needed, "{harm} {name} was backed up"),
            }
            // Files that are already there are not read again.
            let again = back_up(&dir, &to).is_ok();
            assert!(!again || !needed || harm == "flipped", "{harm} {name}");
            assert_eq!(verify(&to, &mut |_| {}).unwrap(), []);
            fs::write(&path, &bytes).unwrap();
        }
    }
    let mut now = files(&to);
    now.retain(|name, _| !name.starts_with("staging"));
    assert_eq!(now, backed_up);
}

/// Whether the published generation of the corpus that [`made`] makes needs a file.
fn is_needed(dir: &Path, name: &str) -> bool {
    let manifest = fs::read_to_string(dir.join("generations/00000003.json"));
    let file = Path::new(name).file_name().unwrap().to_str().unwrap();
    name == "CURRENT"
        || name.starts_with("generations/00000003")
        || name.starts_with("segments")
        || manifest.is_ok_and(|text| text.contains(file))
}

#[test]
fn a_folder_that_holds_something_else_is_refused_and_left_alone() {
    let (root, dir, to) = made();
    let root = root.path();
    let refusal = |to: &Path, reason: &str| {
        let before = files(root);
        let error = back_up(&dir, to).unwrap_err();
        assert_eq!(error.kind(), "backup_refused", "{error}");
        assert!(error.to_string().contains(reason), "{error}");
        assert!(error.remedy().is_some());
        assert_eq!(files(root), before, "{error}");
    };
    refusal(&dir, "within the corpus");
    refusal(&dir.join("segments/backup"), "within the corpus");
    refusal(&dir.join("../c/staging"), "within the corpus");
    refusal(root, "the corpus is within it");

    let plain = root.join("plain");
    fs::write(&plain, "text").unwrap();
    refusal(&plain, "not a folder");
    let photos = root.join("photos");
    fs::create_dir(&photos).unwrap();
    fs::write(photos.join("one.jpg"), "one").unwrap();
    refusal(&photos, "other files");

    let other = root.join("other");
    ingest(
        &mut Writer::create(&other, settings()).unwrap(),
        &[document("z", "last")],
    );
    refusal(&other, "a corpus, not a backup");
    back_up(&other, &root.join("b-other")).unwrap();
    refusal(&root.join("b-other"), "a backup of");

    back_up(&dir, &to).unwrap();
    // The corpus is created again.
    fs::remove_dir_all(&dir).unwrap();
    ingest(
        &mut Writer::create(&dir, settings()).unwrap(),
        &[document("a", "another")],
    );
    refusal(&to, "generation 3");
    for _ in 0..4 {
        let mut writer = Writer::open(&dir).unwrap();
        let text = writer.generation().to_string();
        ingest(&mut writer, &[document("a", &text)]);
    }
    refusal(&to, "does not lead to generation 5");
}

#[test]
#[cfg(unix)]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let (root, dir, to) = made();
    let photos = root.path().join("photos");
    fs::create_dir(&photos).unwrap();
    fs::write(photos.join("one.jpg"), "one").unwrap();
    symlink(&photos, &to).unwrap();
    let error = back_up(&dir, &to).unwrap_err();
    assert!(error.to_string().contains("it is a link"), "{error}");
    fs::remove_file(&to).unwrap();

    back_up(&dir, &to).unwrap();
    ingest(&mut Writer::open(&dir).unwrap(), &[document("c", "six")]);
    for name in [
        "marks",
        "segments",
        "staging",
        "generations",
        "BACKUP",
        "CURRENT",
        "BACKUP.tmp",
    ] {
        let place = to.join(name);
        let aside = root.path().join("aside");
        let was_there = fs::rename(&place, &aside).is_ok();
        symlink(&photos, &place).unwrap();
        let error = back_up(&dir, &to).unwrap_err();
        assert!(error.to_string().contains("is a link"), "{name}: {error}");
        fs::remove_file(&place).unwrap();
        if was_there {
            fs::rename(&aside, &place).unwrap();
        }
    }
    // A corpus behind a link is the same corpus.
    let alias = root.path().join("alias");
    symlink(&dir, &alias).unwrap();
    back_up(&alias, &to).unwrap();
    assert_same(&dir, &to);
    assert_eq!(files(&photos).len(), 1);
}
