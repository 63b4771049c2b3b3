//! The store under replacement, crashes, locks and damage, against a plain model of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ken_corpus::{
    Corpus, CorpusError, Document, DocumentState, EmbedderIdentity, PassageId, Settings, Writer,
};
use proptest::prelude::*;

fn settings() -> Settings {
    Settings {
        embedder: EmbedderIdentity {
            reference: "local:tiny".into(),
            fingerprint: "f0".into(),
            dimensions: 4,
        },
        segmentation: "words:2".into(),
    }
}

fn document(id: &str, text: &str) -> Document {
    Document {
        id: id.into(),
        title: format!("Title of {id}"),
        text: text.into(),
        metadata: serde_json::Map::new(),
        record: false,
    }
}

/// The passages of a test's document: its words.
fn cut(document: &Document) -> Vec<String> {
    document
        .text
        .split(' ')
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Publishes what is new or changed, as an ingest does.
fn ingest(writer: &mut Writer, documents: &[Document]) -> u64 {
    let mut staged = writer.stage().unwrap();
    for document in documents {
        if writer.known().state_of(document) != DocumentState::Unchanged {
            let passages = staged.push(document, &cut(document)).unwrap();
            assert_eq!(passages.len(), cut(document).len());
        }
    }
    writer.publish(staged).unwrap()
}

/// Passage id to text, as a reader sees them.
fn contents(dir: &Path) -> BTreeMap<String, String> {
    let corpus = Corpus::open(dir).unwrap();
    let mut all = BTreeMap::new();
    for passage in corpus.passages() {
        let passage = passage.unwrap();
        assert_eq!(corpus.find(&passage.id).unwrap().as_ref(), Some(&passage));
        assert_eq!(passage.title, format!("Title of {}", passage.doc_id));
        assert_eq!(all.insert(passage.id.0, passage.text), None);
    }
    assert_eq!(corpus.passage_count(), all.len());
    all
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|&(id, text)| (id.to_owned(), text.to_owned()))
        .collect()
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let name = entry.unwrap().file_name();
            copy(&from.join(&name), &to.join(&name));
        }
    } else {
        fs::copy(from, to).unwrap();
    }
}

#[test]
fn new_unchanged_and_replaced_documents() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let (a, b) = (document("a", "one two"), document("b#x", "three"));
    let mut writer = Writer::open(dir, settings()).unwrap();
    assert_eq!(writer.known().state_of(&a), DocumentState::New);
    assert_eq!(
        ingest(&mut writer, &[a.clone(), b.clone(), document("empty", "")]),
        1
    );
    assert_eq!(writer.known().state_of(&a), DocumentState::Unchanged);
    assert_eq!(
        ingest(&mut writer, &[a.clone(), b.clone(), document("empty", "")]),
        1
    );

    let old = Corpus::open(dir).unwrap();
    let changed = document("a", "four");
    assert_eq!(writer.known().state_of(&changed), DocumentState::Changed);
    assert_eq!(ingest(&mut writer, &[changed, b]), 2);
    assert_eq!(contents(dir), map(&[("a#0", "four"), ("b#x#0", "three")]));

    let corpus = Corpus::open(dir).unwrap();
    assert_eq!((corpus.generation(), corpus.document_count()), (2, 3));
    assert_eq!(corpus.segments().len(), 2);
    assert_eq!(corpus.segments()[0].passage_count(), 3);
    let live: Vec<bool> = (0..4).map(|n| corpus.segments()[0].is_live(n)).collect();
    assert_eq!(live, [false, false, true, false]);
    assert_eq!(corpus.find(&PassageId("a#1".into())).unwrap(), None);
    assert_eq!(corpus.find(&PassageId("a#00".into())).unwrap(), None);
    assert_eq!(corpus.find(&PassageId("none#0".into())).unwrap(), None);
    assert!(corpus.segments()[0].passage(3).is_err());

    // A reader that was open keeps its generation.
    assert_eq!(
        old.find(&PassageId("a#1".into())).unwrap().unwrap().text,
        "two"
    );
}

#[test]
fn a_fingerprint_follows_the_contents_and_not_the_place() {
    let dir = tempfile::tempdir().unwrap();
    let (here, there) = (dir.path().join("here"), dir.path().join("there"));
    let mut writer = Writer::open(&here, settings()).unwrap();
    ingest(&mut writer, &[document("a", "one two")]);
    let fingerprint = |dir: &Path| Corpus::open(dir).unwrap().fingerprint();
    let first = fingerprint(&here);
    assert_eq!(first.len(), 32);
    copy(&here, &there);
    assert_eq!(fingerprint(&there), first);
    ingest(&mut writer, &[document("a", "three")]);
    assert_ne!(fingerprint(&here), first);
    assert_eq!(fingerprint(&there), first);
}

#[test]
fn files_added_to_a_stage_are_published_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(dir.path(), settings()).unwrap();
    let mut staged = writer.stage().unwrap();
    staged.push(&document("a", "x"), &["x".into()]).unwrap();
    assert!(matches!(
        staged.push(&document("a", "y"), &[]),
        Err(CorpusError::DuplicateDocument { .. })
    ));
    fs::create_dir(staged.dir().join("lexical")).unwrap();
    fs::write(staged.dir().join("lexical/terms"), "terms").unwrap();
    writer.publish(staged).unwrap();

    let corpus = Corpus::open(dir.path()).unwrap();
    let terms = corpus.segments()[0].dir().join("lexical/terms");
    assert_eq!(fs::read_to_string(&terms).unwrap(), "terms");
    fs::write(&terms, "term").unwrap();
    let error = Corpus::open(dir.path()).unwrap_err();
    assert!(
        error.to_string().contains("it has 4 bytes, not 5"),
        "{error}"
    );
    fs::remove_file(&terms).unwrap();
    let error = Corpus::open(dir.path()).unwrap_err();
    assert_eq!(error.kind(), "corpus_file_missing");
}

#[test]
fn a_crash_at_any_step_of_publishing_leaves_the_generation_before() {
    let (before, after) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = [document("a", "one two"), document("b", "three")];
    ingest(
        &mut Writer::open(before.path(), settings()).unwrap(),
        &first,
    );
    copy(before.path(), after.path());
    ingest(
        &mut Writer::open(after.path(), settings()).unwrap(),
        &[document("a", "new words"), document("c", "more")],
    );

    // What each step leaves, in order, all after the first including the ones before.
    let steps = [
        ("segments/00000002", "staging/00000001"),
        ("segments/00000002", "segments/00000002"),
        ("generations/00000002.json", "generations/00000002.json.tmp"),
        ("generations/00000002.json", "generations/00000002.json"),
        ("CURRENT", "CURRENT.tmp"),
    ];
    for count in 1..=steps.len() {
        let crashed = tempfile::tempdir().unwrap();
        let dir = crashed.path();
        copy(before.path(), dir);
        for (from, to) in &steps[..count] {
            copy(&after.path().join(from), &dir.join(to));
        }
        let old = map(&[("a#0", "one"), ("a#1", "two"), ("b#0", "three")]);
        assert_eq!(contents(dir), old, "step {count}");
        assert_eq!(Corpus::open(dir).unwrap().generation(), 1);

        let mut writer = Writer::open(dir, settings()).unwrap();
        assert!(!dir.join("staging").exists() && !dir.join("segments/00000002").exists());
        assert_eq!(ingest(&mut writer, &[document("b", "other")]), 2);
        let new = map(&[("a#0", "one"), ("a#1", "two"), ("b#0", "other")]);
        assert_eq!(contents(dir), new, "step {count}");
    }
}

#[test]
fn a_crash_before_the_first_generation_leaves_no_corpus_and_no_obstacle() {
    let full = tempfile::tempdir().unwrap();
    ingest(
        &mut Writer::open(full.path(), settings()).unwrap(),
        &[document("a", "one")],
    );
    fs::rename(full.path().join("CURRENT"), full.path().join("CURRENT.tmp")).unwrap();
    assert!(!Corpus::exists(full.path()));
    let error = Corpus::open(full.path()).unwrap_err();
    assert_eq!(error.kind(), "not_a_corpus");
    assert!(error.hint().unwrap().contains("ken ingest"));
    let mut writer = Writer::open(full.path(), settings()).unwrap();
    assert_eq!(ingest(&mut writer, &[document("b", "two")]), 1);
    assert_eq!(contents(full.path()), map(&[("b#0", "two")]));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_nothing_and_the_writer_can_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(dir.path(), settings()).unwrap();
    ingest(&mut writer, &[document("a", "one")]);
    let obstacle = dir.path().join("CURRENT.tmp");
    std::os::unix::fs::symlink("/dev/full", &obstacle).unwrap();
    let mut staged = writer.stage().unwrap();
    staged.push(&document("a", "two"), &["two".into()]).unwrap();
    let error = writer.publish(staged).unwrap_err();
    assert_eq!(error.kind(), "no_disk_space", "{error}");
    assert!(error.hint().unwrap().contains("free some disk space"));
    assert!(std::error::Error::source(&error).is_some());
    assert_eq!(contents(dir.path()), map(&[("a#0", "one")]));
    fs::remove_file(&obstacle).unwrap();
    assert_eq!(ingest(&mut writer, &[document("a", "two")]), 2);
    assert_eq!(contents(dir.path()), map(&[("a#0", "two")]));
}

#[test]
fn refused_folders_name_the_remedy() {
    for (kind, name) in [
        (std::io::ErrorKind::PermissionDenied, "permission_denied"),
        (std::io::ErrorKind::ReadOnlyFilesystem, "read_only"),
    ] {
        let error = CorpusError::Io {
            action: "create",
            path: "/there".into(),
            source: kind.into(),
        };
        assert_eq!(error.kind(), name);
        assert!(error.hint().unwrap().contains("/there"));
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = Writer::open(&file.path().join("corpus"), settings()).unwrap_err();
    assert!(error.to_string().starts_with("cannot create "), "{error}");
    assert_eq!(
        Corpus::open(file.path()).unwrap_err().kind(),
        "not_a_corpus"
    );
}

#[test]
fn one_writer_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let writer = Writer::open(dir.path(), settings()).unwrap();
    let error = Writer::open(dir.path(), settings()).unwrap_err();
    assert!(matches!(error, CorpusError::Locked { .. }), "{error}");
    drop(writer);
    Writer::open(dir.path(), settings()).unwrap();
}

#[test]
fn a_folder_with_other_files_is_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("staging")).unwrap();
    fs::write(dir.path().join("staging/mine"), "x").unwrap();
    let error = Writer::open(dir.path(), settings()).unwrap_err();
    assert_eq!(error.kind(), "folder_in_use");
    assert!(dir.path().join("staging/mine").exists());
    assert!(!dir.path().join("LOCK").exists());
}

#[test]
fn other_settings_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    ingest(
        &mut Writer::open(dir.path(), settings()).unwrap(),
        &[document("a", "x")],
    );
    let mut other = settings();
    other.embedder.reference = "local:large".into();
    assert!(
        Writer::open(dir.path(), other.clone()).is_ok(),
        "only the name differs"
    );
    other.embedder.fingerprint = "f1".into();
    let message = Writer::open(dir.path(), other).unwrap_err().to_string();
    assert!(
        message.contains("local:tiny") && message.contains("local:large"),
        "{message}"
    );
    let mut other = settings();
    other.segmentation = "sentence".into();
    let message = Writer::open(dir.path(), other).unwrap_err().to_string();
    assert!(
        message.contains("words:2") && message.contains("sentence"),
        "{message}"
    );
}

#[test]
fn damage_is_told_by_file() {
    let good = tempfile::tempdir().unwrap();
    ingest(
        &mut Writer::open(good.path(), settings()).unwrap(),
        &[document("a", "x y")],
    );
    let manifest = fs::read_to_string(good.path().join("generations/00000001.json")).unwrap();
    let newer = manifest.replacen("\"format\":1", "\"format\":9", 1);
    let renumbered = manifest.replacen("\"number\":1", "\"number\":2", 1);
    let dead = manifest.replacen("\"tombstones\":[]", "\"tombstones\":[7]", 1);
    let cases = [
        ("CURRENT", Some("x"), "corpus_damaged"),
        ("CURRENT", Some("2"), "corpus_file_missing"),
        ("generations/00000001.json", Some("{"), "corpus_damaged"),
        ("generations/00000001.json", None, "corpus_file_missing"),
        ("generations/00000001.json", Some(&newer), "newer_format"),
        (
            "generations/00000001.json",
            Some(&renumbered),
            "corpus_damaged",
        ),
        ("generations/00000001.json", Some(&dead), "corpus_damaged"),
        (
            "segments/00000001/passages.jsonl",
            None,
            "corpus_file_missing",
        ),
        (
            "segments/00000001/passages.offsets",
            Some("12345678"),
            "corpus_damaged",
        ),
        (
            "segments/00000001/documents.jsonl",
            Some("{}"),
            "corpus_damaged",
        ),
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
        assert!(error.hint().is_some());
        assert!(!error.to_string().is_empty());
    }

    // Same lengths, other contents: found when the passage is read, never a panic.
    for (name, byte) in [("passages.jsonl", b'!'), ("passages.offsets", 0xff)] {
        let dir = tempfile::tempdir().unwrap();
        copy(good.path(), dir.path());
        let path = dir.path().join("segments/00000001").join(name);
        let length = fs::read(&path).unwrap().len();
        fs::write(&path, vec![byte; length]).unwrap();
        let corpus = Corpus::open(dir.path()).unwrap();
        for ordinal in 0..2 {
            let error = corpus.segments()[0].passage(ordinal).unwrap_err();
            assert_eq!(error.kind(), "corpus_damaged");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any sequence of ingests leaves what a plain map would hold.
    #[test]
    fn the_store_equals_a_map(
        batches in prop::collection::vec(
            (prop::collection::btree_map(0_u8..6, "[ab]{0,2}( [ab]{1,2}){0,2}", 0..5), any::<bool>()),
            1..6,
        )
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut model: BTreeMap<String, Document> = BTreeMap::new();
        let mut writer = Writer::open(dir.path(), settings()).unwrap();
        let mut generation = 0;
        for (batch, reopen) in batches {
            if reopen {
                drop(writer);
                writer = Writer::open(dir.path(), settings()).unwrap();
            }
            let batch: Vec<Document> = batch
                .into_iter()
                .map(|(id, text)| document(&id.to_string(), &text))
                .collect();
            let mut news = false;
            for document in &batch {
                let expected = match model.get(&document.id) {
                    None => DocumentState::New,
                    Some(old) if old == document => DocumentState::Unchanged,
                    Some(_) => DocumentState::Changed,
                };
                prop_assert_eq!(writer.known().state_of(document), expected);
                news |= expected != DocumentState::Unchanged;
            }
            generation += u64::from(news);
            prop_assert_eq!(ingest(&mut writer, &batch), generation);
            model.extend(batch.into_iter().map(|document| (document.id.clone(), document)));
            if generation == 0 {
                continue;
            }
            let expected: BTreeMap<String, String> = model
                .values()
                .flat_map(|document| {
                    let ids = (0..).map(|n| PassageId::new(&document.id, n).0);
                    ids.zip(cut(document)).collect::<Vec<_>>()
                })
                .collect();
            prop_assert_eq!(contents(dir.path()), expected);
            prop_assert_eq!(Corpus::open(dir.path()).unwrap().document_count(), model.len());
        }
    }
}
