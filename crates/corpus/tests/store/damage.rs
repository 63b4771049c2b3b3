//! Damaged files: the errors of opening, the results of a check, and the corpus after a repair.

use std::path::PathBuf;

use ken_corpus::Damage;
use ken_corpus::verify;
use ken_testing::{cases, says};

use super::*;

/// Two generations, the second of which marks documents of the first.
fn good() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(dir.path(), settings()).unwrap();
    ingest(&mut writer, &[document("a", "x y"), document("b", "z")]);
    ingest(&mut writer, &[document("a", "new words")]);
    dir
}

fn damages(dir: &Path) -> Vec<Damage> {
    verify(dir, &mut |_| {}).unwrap()
}

#[test]
fn damage_is_told_by_file() {
    let good = good();
    let manifest = fs::read_to_string(good.path().join("generations/00000002.json")).unwrap();
    let newer = manifest.replacen("\"format\":2", "\"format\":9", 1);
    let first = "{\"format\":1,\"number\":2,\"segments\":[]}";
    let renumbered = manifest.replacen("\"number\":2", "\"number\":1", 1);
    let cases = cases![
        "CURRENT" => Some("x"), "corpus_damaged";
        "CURRENT" => Some("3 abc"), "corpus_file_missing";
        "CURRENT" => Some("2 abc"), "corpus_damaged";
        "generations/00000002.json" => Some("{"), "corpus_damaged";
        "generations/00000002.json" => None, "corpus_file_missing";
        "generations/00000002.json" => Some(&newer), "other_corpus_format";
        "generations/00000002.json" => Some(first), "other_corpus_format";
        "generations/00000002.json" => Some(&renumbered), "corpus_damaged";
        "marks/00000002.00000001-000.json" => Some("{}"), "corpus_damaged";
        "marks/00000002.00000001-000.json" => None, "corpus_file_missing";
        "segments/00000001-000/passages.jsonl" => None, "corpus_file_missing";
        "segments/00000001-000/passages.index" => Some("12345678"), "corpus_damaged";
        "segments/00000001-000/documents.jsonl" => Some("{}"), "corpus_damaged";
    ];
    for (name, contents, kind) in cases {
        let dir = tempfile::tempdir().unwrap();
        copy(good.path(), dir.path());
        let path = dir.path().join(name);
        match contents {
            Some(contents) => fs::write(&path, contents).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let error = Corpus::open(dir.path()).unwrap_err();
        assert_eq!(error.kind(), kind, "{name}: {error}");
        assert!(error.remedy().is_some());
        assert!(!error.to_string().is_empty());
        if kind != "other_corpus_format" {
            let files: Vec<PathBuf> = damages(dir.path()).into_iter().map(|d| d.file).collect();
            match name == "CURRENT" && kind == "corpus_file_missing" {
                true => assert_eq!(files, [dir.path().join("generations/00000003.json")]),
                false => assert_eq!(files, [path]),
            }
        }
    }
}

#[test]
fn flipped_bits_all_over_the_files_are_named_and_nothing_panics() {
    let good = good();
    assert_eq!(damages(good.path()), []);
    let mut kinds = 0;
    for folder in [
        "",
        "generations",
        "marks",
        "segments/00000001-000",
        "segments/00000002-000",
    ] {
        for entry in fs::read_dir(good.path().join(folder)).unwrap() {
            let name = Path::new(folder).join(entry.unwrap().file_name());
            let bytes = fs::read(good.path().join(&name)).unwrap_or_default();
            kinds += usize::from(!bytes.is_empty());
            for at in (0..bytes.len()).step_by(1 + bytes.len() / 40) {
                let dir = tempfile::tempdir().unwrap();
                copy(good.path(), dir.path());
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << (at % 8);
                fs::write(dir.path().join(&name), flipped).unwrap();
                // Another layout's number is an error of its own.
                let files: Vec<PathBuf> = match verify(dir.path(), &mut |_| {}) {
                    Ok(found) => found.into_iter().map(|d| d.file).collect(),
                    Err(error) => {
                        assert_eq!(error.kind(), "other_corpus_format");
                        continue;
                    }
                };
                let named = files.iter().any(|file| file.ends_with(&name));
                let elsewhere = name == Path::new("CURRENT") && !files.is_empty();
                assert!(
                    named || elsewhere,
                    "{} byte {at}: {files:?}",
                    name.display()
                );
                // Reads that succeed anyway may be wrong, but do not panic.
                if let Ok(corpus) = Corpus::open(dir.path()) {
                    let _ = corpus.passages().count();
                    let _ = corpus.find(&PassageId("a#0".into()));
                }
            }
        }
    }
    assert!(kinds > 10);
}

#[test]
fn a_repair_drops_the_damaged_segment_alone_and_an_ingest_brings_it_back() {
    let good = good();
    let full = contents(good.path());
    for name in [
        "segments/00000002-000/passages.jsonl",
        "marks/00000002.00000001-000.json",
    ] {
        let dir = tempfile::tempdir().unwrap();
        copy(good.path(), dir.path());
        let dir = dir.path();
        fs::write(dir.join(name), "x").unwrap();
        assert!(Corpus::open(dir).is_err());
        let generation = Writer::repair(dir, &damages(dir)).unwrap();
        assert_eq!(generation, 3);
        assert_eq!(damages(dir), []);
        let left = contents(dir);
        assert!(
            left.len() < full.len() && left.iter().all(|(id, text)| full.get(id) == Some(text))
        );
        let mut writer = Writer::open(dir).unwrap();
        ingest(
            &mut writer,
            &[document("a", "new words"), document("b", "z")],
        );
        assert_eq!(contents(dir), full);
    }
}

#[test]
fn damage_is_not_copied_into_files_that_would_be_found_sound() {
    let good = good();
    let path = good.path().join("segments/00000001-000/passages.jsonl");
    let mut bytes = fs::read(&path).unwrap();
    let letter = bytes.iter().position(|&byte| byte == b'z').unwrap();
    bytes[letter] = b'y';
    // Earlier damage keeps it from being opened.
    let writer = Writer::open(good.path()).unwrap();
    fs::write(&path, bytes).unwrap();

    let ids = ["00000001-000".to_owned()];
    let error = writer.check_segments(&ids).unwrap_err();
    assert_eq!(error.kind(), "corpus_damaged");
    assert!(error.to_string().contains("passages.jsonl"), "{error}");
    writer.check_segments(&["00000002-000".to_owned()]).unwrap();
    drop(writer);

    let whole = tempfile::tempdir().unwrap();
    let parts = [good.path().to_owned()];
    let error =
        ken_corpus::join(&whole.path().join("whole"), &parts, false, &mut |_| {}).unwrap_err();
    assert_eq!(error.kind(), "corpus_damaged");
    says!(error.to_string() => &path.display().to_string());
}
