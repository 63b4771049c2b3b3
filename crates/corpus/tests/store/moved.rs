//! Documents that moved keep the prune marks and the scores of their passages.

use ken_corpus::{Change, CorpusError, Pruned};
use serde_json::{Value, json};

use super::*;

/// Publishes a document that was published as `former`, behind another one.
fn publish_moved(writer: &mut Writer, document: &Document, former: &str) {
    let mut staged = writer.stage(0).unwrap();
    let other = super::document(&format!("beside {former}"), "four five");
    staged.push(&other, &cut(&other)).unwrap();
    let pushed = staged.push_moved(document, &cut(document), former).unwrap();
    assert_eq!(pushed.len(), cut(document).len());
    writer.publish(vec![staged]).unwrap();
}

fn pruned(dir: &Path) -> Vec<PruneMark> {
    let documents = Corpus::open(dir).unwrap().pruned_documents().unwrap();
    let marks = documents.into_iter().flat_map(|document| document.pruned);
    marks.collect()
}

fn values<const N: usize>(pairs: [(&str, f64); N]) -> BTreeMap<String, Value> {
    BTreeMap::from(pairs.map(|(id, score)| (id.to_owned(), json!(score))))
}

#[test]
fn a_document_keeps_marks_and_scores_while_its_contents_are_equal() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut writer = Writer::create(dir, settings()).unwrap();
    let before = document("a", "one two three");
    ingest(&mut writer, &[document("x", "zero"), before.clone()]);
    writer.prune(vec![mark("a#1")]).unwrap();
    let mastery = [("a#0", 0.25), ("a#2", 0.75)].map(|(id, score)| (id.to_owned(), score));
    score(&mut writer, "mastery", &BTreeMap::from(mastery));

    let elsewhere = with!(before, origin: Some("/new/a".into()));
    publish_moved(&mut writer, &elsewhere, "a");
    assert_eq!(pruned(dir), [mark("a#1")]);
    let kept = values([("a#0", 0.25), ("a#2", 0.75)]);
    assert_eq!(scores(dir, "mastery"), kept);

    let renamed = with!(elsewhere, id: "b".into());
    publish_moved(&mut writer, &renamed, "a");
    writer.delete(&["a".to_owned()]).unwrap();
    assert_eq!(pruned(dir), [mark("b#1")]);
    let kept = values([("b#0", 0.25), ("b#2", 0.75)]);
    assert_eq!(scores(dir, "mastery"), kept);

    let changed = with!(renamed, text: "one two four".into());
    publish_moved(&mut writer, &changed, "b");
    publish_moved(&mut writer, &document("c", "six"), "never published");
    assert!(pruned(dir).is_empty());
    assert!(scores(dir, "mastery").is_empty());
}

#[test]
fn marks_stay_with_their_passages_where_others_were_compacted_away() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut writer = Writer::create(dir, settings()).unwrap();
    let before = document("a", "one two three");
    ingest(&mut writer, std::slice::from_ref(&before));
    writer.prune(vec![mark("a#0")]).unwrap();
    let segments = writer.known().segments();
    let mut staged = writer.stage(0).unwrap();
    for segment in &segments {
        let copied = staged.copy(segment, Pruned::Dropped, |_, _| Ok::<_, CorpusError>(()));
        copied.unwrap();
    }
    let ids: Vec<String> = segments.iter().map(|segment| segment.id().into()).collect();
    writer.replace(Change::Compact, &ids, vec![staged]).unwrap();
    writer.prune(vec![mark("a#1")]).unwrap();
    score(
        &mut writer,
        "mastery",
        &BTreeMap::from([("a#2".to_owned(), 0.75)]),
    );
    publish_moved(&mut writer, &before, "a");
    assert_eq!(pruned(dir), [mark("a#1")]);
    assert_eq!(scores(dir, "mastery"), values([("a#2", 0.75)]));
}
