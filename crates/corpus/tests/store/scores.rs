//! Scores of passages: what keeps them, what refuses them, and what an interruption leaves.

use std::sync::atomic::AtomicBool;

use ken_corpus::{CorpusInfo, PlaceMark, backup, history, join, verify};
use serde_json::{Value, json};

use super::*;

/// A corpus of two documents, three passages and one segment.
fn made(dir: &Path) -> Writer {
    let mut writer = Writer::create(dir, settings()).unwrap();
    let documents = [document("a", "one two"), document("b", "three")];
    ingest(&mut writer, &documents);
    writer
}

fn scored(pairs: &[(&str, f32)]) -> BTreeMap<String, f32> {
    let pairs = pairs.iter().map(|&(id, score)| (id.to_owned(), score));
    pairs.collect()
}

fn values(pairs: &[(&str, f64)]) -> BTreeMap<String, Value> {
    let pairs = pairs
        .iter()
        .map(|&(id, score)| (id.to_owned(), json!(score)));
    pairs.collect()
}

#[test]
fn scores_stand_beside_the_metadata_and_filters_read_them() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut writer = made(dir);
    assert_eq!(
        score(
            &mut writer,
            "mastery",
            &scored(&[("a#0", 0.1), ("b#0", 0.9)])
        ),
        2
    );
    // Of what one writer publishes, only the last can be restored.
    drop(writer);
    let mut writer = Writer::open(dir).unwrap();
    let other = scored(&[("a#1", f32::INFINITY), ("b#0", 7.5)]);
    assert_eq!(score(&mut writer, "perplexity", &other), 3);
    assert_eq!(
        scores(dir, "mastery"),
        values(&[("a#0", 0.1), ("b#0", 0.9)])
    );
    assert_eq!(scores(dir, "perplexity"), values(&[("b#0", 7.5)]));
    let corpus = Corpus::open(dir).unwrap();
    for (filter, expected) in [
        ("mastery<=0.1", 1),
        ("mastery>=0.9", 1),
        ("NOT mastery>=0.9", 2),
        ("EXISTS mastery", 2),
        ("EXISTS perplexity AND mastery>0.5", 1),
        ("NOT EXISTS mastery", 1),
        ("margin<1", 0),
    ] {
        assert_eq!(selected(&corpus, filter), expected, "{filter}");
    }
    let info = CorpusInfo::read(dir).unwrap();
    assert_eq!(
        info.scores.into_iter().collect::<Vec<_>>(),
        ["mastery", "perplexity"]
    );

    // What is added later has none, and what is replaced loses them.
    ingest(
        &mut writer,
        &[document("a", "one two three"), document("c", "four")],
    );
    assert_eq!(scores(dir, "mastery"), values(&[("b#0", 0.9)]));
    // No scores at all are none that are kept.
    score(&mut writer, "perplexity", &scored(&[]));
    let info = CorpusInfo::read(dir).unwrap();
    assert_eq!(info.scores.into_iter().collect::<Vec<_>>(), ["mastery"]);
    drop(writer);
    Writer::rollback(dir, 2).unwrap();
    assert_eq!(
        scores(dir, "mastery"),
        values(&[("a#0", 0.1), ("b#0", 0.9)])
    );
    assert_eq!(
        history(dir).unwrap().last().unwrap().change.to_string(),
        "rollback"
    );
}

#[test]
fn a_score_hides_a_field_of_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(dir.path(), settings()).unwrap();
    let mut graded = document("a", "one two");
    graded
        .metadata
        .insert("mastery".to_owned(), json!("by hand"));
    ingest(&mut writer, &[graded]);
    score(&mut writer, "mastery", &scored(&[("a#1", 0.5)]));
    let expected = [("a#0", json!("by hand")), ("a#1", json!(0.5))];
    let expected = expected.map(|(id, value)| (id.to_owned(), value));
    assert_eq!(scores(dir.path(), "mastery"), BTreeMap::from(expected));
}

#[test]
fn what_is_no_name_or_no_passage_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = made(dir.path());
    let place = PlaceMark {
        segment: 0,
        ordinal: 0,
        score: 0.5,
    };
    for name in ["", "Mastery", "a.b", "../a", "a b"] {
        let error = writer.score(name, &[place]).unwrap_err();
        assert_eq!(error.kind(), "bad_score_name", "{name}");
    }
    let error = writer.places(&[mark("c#0")]).unwrap_err();
    assert_eq!(error.kind(), "unknown_passage");
    assert_eq!(writer.generation(), 1);
}

#[test]
fn a_crash_at_any_step_of_scoring_leaves_the_scores_before() {
    let (before, after) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut writer = made(before.path());
    score(&mut writer, "mastery", &scored(&[("a#0", 0.1)]));
    drop(writer);
    copy(before.path(), after.path());
    let mut writer = Writer::open(after.path()).unwrap();
    score(&mut writer, "mastery", &scored(&[("b#0", 0.9)]));
    drop(writer);

    // What each step leaves, in order, all after the first including the ones before.
    let file = "marks/00000003.00000001-000.mastery.f32";
    let partial = format!("{file}.tmp");
    let steps = [
        (file, partial.as_str()),
        (file, file),
        ("generations/00000003.json", "generations/00000003.json.tmp"),
        ("generations/00000003.json", "generations/00000003.json"),
        ("CURRENT", "CURRENT.tmp"),
    ];
    for count in 1..=steps.len() {
        let crashed = tempfile::tempdir().unwrap();
        let dir = crashed.path();
        copy(before.path(), dir);
        for (from, to) in &steps[..count] {
            copy(&after.path().join(from), &dir.join(to));
        }
        assert_eq!(
            scores(dir, "mastery"),
            values(&[("a#0", 0.1)]),
            "step {count}"
        );
        let mut writer = Writer::open(dir).unwrap();
        assert!(!dir.join(file).exists(), "step {count}");
        assert_eq!(score(&mut writer, "mastery", &scored(&[("a#1", 0.2)])), 3);
        assert_eq!(
            scores(dir, "mastery"),
            values(&[("a#1", 0.2)]),
            "step {count}"
        );
    }
}

#[test]
fn damaged_scores_are_named_and_never_read() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut writer = made(dir);
    score(&mut writer, "mastery", &scored(&[("a#0", 0.1)]));
    drop(writer);
    let file = dir.join("marks/00000002.00000001-000.mastery.f32");
    let whole = fs::read(&file).unwrap();
    assert_eq!(whole.len(), 12);
    let mut flipped = whole.clone();
    flipped[0] ^= 1;
    for broken in [&flipped[..], &whole[..8], &whole[..0]] {
        fs::write(&file, broken).unwrap();
        assert_eq!(Corpus::open(dir).unwrap_err().kind(), "corpus_damaged");
        let damages = verify(dir, &mut |_| {}).unwrap();
        assert_eq!(damages.len(), 1);
        assert_eq!(damages[0].file, file);
    }
    fs::remove_file(&file).unwrap();
    assert_eq!(Corpus::open(dir).unwrap_err().kind(), "corpus_file_missing");
    fs::write(&file, whole).unwrap();
    assert_eq!(scores(dir, "mastery"), values(&[("a#0", 0.1)]));
}

#[test]
fn backups_and_joined_corpora_have_the_scores() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let mut writer = made(&at("c"));
    let never = AtomicBool::new(false);
    for (n, expected) in [0.1, 0.2].into_iter().enumerate() {
        score(&mut writer, "mastery", &scored(&[("a#1", expected as f32)]));
        let done = backup(&at("c"), &at("b"), &mut |_| {}, &never)
            .unwrap()
            .unwrap();
        assert_eq!(done.generation, n as u64 + 2);
        assert_eq!(scores(&at("b"), "mastery"), values(&[("a#1", expected)]));
        assert_eq!(verify(&at("b"), &mut |_| {}).unwrap(), []);
    }
    join(&at("j"), &[at("c")], false, &mut |_| {}).unwrap();
    assert_eq!(scores(&at("j"), "mastery"), values(&[("a#1", 0.2)]));
    assert_eq!(verify(&at("j"), &mut |_| {}).unwrap(), []);
}
