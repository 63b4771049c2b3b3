//! Publishing documents, and refusals before anything is written.

use ken_corpus::CorpusError;
use ken_testing::says;

use super::*;

#[test]
fn new_unchanged_and_replaced_documents() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let (a, b) = (document("a", "one two"), document("b#x", "three"));
    let mut writer = Writer::create(dir, settings()).unwrap();
    assert_eq!(writer.known().state_of(&a).unwrap(), DocumentState::New);
    assert_eq!(
        ingest(&mut writer, &[a.clone(), b.clone(), document("empty", "")]),
        1
    );
    assert_eq!(
        writer.known().state_of(&a).unwrap(),
        DocumentState::Unchanged(0)
    );
    assert_eq!(
        ingest(&mut writer, &[a.clone(), b.clone(), document("empty", "")]),
        1
    );

    let old = Corpus::open(dir).unwrap();
    let changed = document("a", "four");
    assert_eq!(
        writer.known().state_of(&changed).unwrap(),
        DocumentState::Changed(0)
    );
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
    let mut writer = Writer::create(&here, settings()).unwrap();
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
    let mut writer = Writer::create(dir.path(), settings()).unwrap();
    let mut staged = writer.stage(0).unwrap();
    staged.push(&document("a", "x"), &["x".into()]).unwrap();
    assert!(matches!(
        staged.push(&document("a", "y"), &[]),
        Err(CorpusError::DuplicateDocument { .. })
    ));
    fs::create_dir(staged.dir().join("lexical")).unwrap();
    fs::write(staged.dir().join("lexical/terms"), "terms").unwrap();
    writer.publish(vec![staged]).unwrap();

    let corpus = Corpus::open(dir.path()).unwrap();
    let terms = corpus.segments()[0].dir().join("lexical/terms");
    assert_eq!(fs::read_to_string(&terms).unwrap(), "terms");
    fs::write(&terms, "term").unwrap();
    let error = Corpus::open(dir.path()).unwrap_err();
    says!(error.to_string() => "it has 4 bytes, not 5");
    fs::remove_file(&terms).unwrap();
    let error = Corpus::open(dir.path()).unwrap_err();
    assert_eq!(error.kind(), "corpus_file_missing");
}

#[test]
fn one_writer_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let writer = Writer::create(dir.path(), settings()).unwrap();
    let error = Writer::create(dir.path(), settings()).unwrap_err();
    assert!(matches!(error, CorpusError::Locked { .. }), "{error}");
    drop(writer);
    Writer::create(dir.path(), settings()).unwrap();
}

#[test]
fn a_folder_with_other_files_is_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("staging")).unwrap();
    fs::write(dir.path().join("staging/mine"), "x").unwrap();
    let error = Writer::create(dir.path(), settings()).unwrap_err();
    assert_eq!(error.kind(), "folder_in_use");
    assert!(dir.path().join("staging/mine").exists());
    assert!(!dir.path().join("LOCK").exists());
}

#[test]
fn what_systems_put_into_a_folder_does_not_keep_a_corpus_out() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("lost+found")).unwrap();
    fs::write(dir.path().join(".DS_Store"), "x").unwrap();
    drop(Writer::create(dir.path(), settings()).unwrap());
    // As an interrupted first publication leaves it.
    let mut writer = Writer::create(dir.path(), settings()).unwrap();
    assert_eq!(ingest(&mut writer, &[document("a", "one")]), 1);
    assert!(dir.path().join("lost+found").is_dir() && dir.path().join(".DS_Store").is_file());
    fs::write(dir.path().join("mine"), "x").unwrap();
    fs::remove_file(dir.path().join("CURRENT")).unwrap();
    drop(writer);
    let error = Writer::create(dir.path(), settings()).unwrap_err();
    assert_eq!(error.kind(), "folder_in_use");
}

#[test]
fn a_file_in_the_place_of_a_folder_is_named_with_the_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "x").unwrap();
    for path in [file.clone(), file.join("corpus")] {
        let error = Writer::create(&path, settings()).unwrap_err();
        let remedy = error.remedy().unwrap();
        assert!(
            remedy.mentions("is a file: choose another path"),
            "{remedy}"
        );
        assert!(
            error.to_string().contains(&*file.to_string_lossy()),
            "{error}"
        );
    }
}

#[test]
fn other_settings_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    ingest(
        &mut Writer::create(dir.path(), settings()).unwrap(),
        &[document("a", "x")],
    );
    let mut other = settings();
    other.embedder.reference = "local:large".into();
    assert!(
        Writer::create(dir.path(), other.clone()).is_ok(),
        "only the name differs"
    );
    other.embedder.fingerprint = "f1".into();
    let message = Writer::create(dir.path(), other).unwrap_err().to_string();
    says!(message => "local:tiny", "local:large");
    let mut other = settings();
    other.segmentation = "sentence".into();
    let message = Writer::create(dir.path(), other).unwrap_err().to_string();
    says!(message => "words:2", "sentence");
}
