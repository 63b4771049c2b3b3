//! Deleting, pruning, restoring and compacting, and which generations and files are kept.

use ken_corpus::{Active, Change, CorpusInfo, PlaceMark, Pruned, Pruning, Selection, history};
use ken_testing::with;

use super::*;

/// Three documents of two passages each.
fn three(dir: &Path) -> Writer {
    let mut writer = Writer::create(dir, settings()).unwrap();
    let documents = ["a", "b", "c"].map(|id| document(id, "one two"));
    ingest(&mut writer, &documents);
    writer
}

fn compact(writer: &mut Writer) {
    let segments = writer.known().segments();
    let ids: Vec<String> = segments.iter().map(|s| s.id().to_owned()).collect();
    let mut staged = writer.stage(0).unwrap();
    for segment in segments {
        staged
            .copy::<ken_corpus::CorpusError>(&segment, Pruned::Dropped, |_, _| Ok(()))
            .unwrap();
    }
    writer.replace(Change::Compact, &ids, vec![staged]).unwrap();
}

fn changes(dir: &Path) -> Vec<(u64, Change)> {
    let kept = history(dir).unwrap().into_iter();
    kept.map(|past| (past.generation, past.change)).collect()
}

#[test]
fn pruned_passages_come_back_with_a_rollback_and_go_for_good_with_a_compaction() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    drop(three(dir));
    let full = contents(dir);
    Writer::open(dir)
        .unwrap()
        .prune(vec![mark("a#0"), mark("c#1")])
        .unwrap();
    let left = map(&[
        ("a#1", "two"),
        ("b#0", "one"),
        ("b#1", "two"),
        ("c#0", "one"),
    ]);
    assert_eq!(contents(dir), left);
    let info = CorpusInfo::read(dir).unwrap();
    assert_eq!((info.documents, info.passages, info.pruned), (3, 4, 2));

    Writer::rollback(dir, 1).unwrap();
    assert_eq!(contents(dir), full);
    assert_eq!(CorpusInfo::read(dir).unwrap().generation, 3);
    Writer::rollback(dir, 2).unwrap();
    assert_eq!(contents(dir), left);

    let before = CorpusInfo::read(dir).unwrap().bytes;
    let mut writer = Writer::open(dir).unwrap();
    compact(&mut writer);
    assert_eq!(contents(dir), left);
    let info = CorpusInfo::read(dir).unwrap();
    assert_eq!((info.passages, info.pruned), (4, 0));
    assert!(info.bytes < before);
    assert_eq!(changes(dir), [(5, Change::Compact)]);
    drop(writer);
    let error = Writer::rollback(dir, 2).unwrap_err();
    assert_eq!(error.kind(), "unknown_generation");
    assert!(error.remedy().unwrap().mentions("it keeps 5"));
    // An unchanged document does not bring its pruned passages back.
    let mut writer = Writer::open(dir).unwrap();
    ingest(&mut writer, &[document("a", "one two")]);
    assert_eq!(contents(dir), left);
    // The remaining passages keep their ids.
    let corpus = Corpus::open(dir).unwrap();
    let passage = corpus.find(&PassageId("a#1".into())).unwrap().unwrap();
    assert_eq!(passage.text, "two");
    assert_eq!(corpus.find(&PassageId("a#0".into())).unwrap(), None);
}

#[test]
fn lists_go_on_behind_what_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut writer = three(dir);
    writer.delete(&["b".into()]).unwrap();
    let documents = |after: &str, newest_first: bool| {
        let corpus = Corpus::open(dir).unwrap();
        let listed = corpus.documents(Some(after), newest_first);
        let ids = listed.map(|document| document.map(|document| document.id));
        ids.collect::<Result<Vec<String>, _>>()
    };
    assert_eq!(documents("b", false).unwrap(), ["c"]);
    assert_eq!(documents("b", true).unwrap(), ["a"]);

    writer.prune(vec![mark("c#0")]).unwrap();
    compact(&mut writer);
    assert_eq!(
        documents("b", false).unwrap_err().kind(),
        "unknown_document"
    );
    let passages = |after: &str| {
        let corpus = Corpus::open(dir).unwrap();
        let listed = corpus.passages_of("c", Some(after))?.unwrap();
        let ids = listed.map(|passage| passage.map(|(passage, _)| passage.id.0));
        ids.collect::<Result<Vec<String>, _>>()
    };
    assert_eq!(passages("c#0").unwrap(), ["c#1"]);
    assert!(passages("c#1").unwrap().is_empty() && passages("c#7").unwrap().is_empty());
    for other in ["a#0", "c", "c#x", ""] {
        let error = passages(other).unwrap_err();
        assert_eq!(error.kind(), "unknown_passage", "{other}");
    }
}

#[test]
fn what_is_not_there_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = three(dir.path());
    let error = writer.delete(&["a".into(), "x".into()]).unwrap_err();
    assert_eq!(error.kind(), "unknown_document");
    for id in ["x#0", "a#2", "a#00", "a"] {
        let error = writer.prune(vec![mark("a#0"), mark(id)]).unwrap_err();
        assert_eq!(error.kind(), "unknown_passage");
    }
    assert_eq!(writer.generation(), 1);
    assert_eq!(contents(dir.path()).len(), 6);
    assert_eq!(writer.delete(&[]).unwrap(), 1);
}

#[test]
fn a_later_mark_on_a_passage_takes_the_place_of_the_earlier() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = three(dir.path());
    writer.prune(vec![mark("a#0")]).unwrap();
    writer
        .prune(vec![mark("a#0"), mark("b#0"), mark("b#0")])
        .unwrap();
    assert_eq!(CorpusInfo::read(dir.path()).unwrap().pruned, 2);
    writer.delete(&["a".into()]).unwrap();
    assert_eq!(CorpusInfo::read(dir.path()).unwrap().pruned, 1);
}

#[test]
fn a_reader_keeps_its_generation_whatever_comes() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut writer = three(dir);
    let reader = Corpus::open(dir).unwrap();
    writer.delete(&["a".into()]).unwrap();
    compact(&mut writer);
    // Not even its files go, though it has not looked at them yet.
    assert!(segment(dir, "00000001-000/passages.jsonl").exists());
    assert_eq!(reader.passages().count(), 6);
    assert_eq!(Corpus::open(dir).unwrap().passage_count(), 4);
    drop(reader);
    ingest(&mut writer, &[document("d", "x")]);
    assert!(!segment(dir, "00000001-000").exists());
}

#[test]
fn the_steps_of_one_run_leave_no_history_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut writer = three(dir);
    for n in 0..5 {
        ingest(&mut writer, &[document("d", &n.to_string())]);
    }
    assert_eq!(changes(dir), [(6, Change::Ingest)]);
    drop(writer);
    for n in 0..12 {
        let mut writer = Writer::open(dir).unwrap();
        ingest(&mut writer, &[document("e", &n.to_string())]);
    }
    let kept: Vec<u64> = changes(dir).iter().map(|&(number, _)| number).collect();
    assert_eq!(kept, (9..=18).collect::<Vec<_>>());
}

#[test]
fn inactive_shards_are_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut writer = Writer::create(dir, sharded(3)).unwrap();
    let stages = (0..3).map(|shard| {
        let mut staged = writer.stage(shard).unwrap();
        let document = document(&format!("d{shard}"), "x");
        staged.push(&document, &["x".into()]).unwrap();
        staged
    });
    let stages = stages.collect();
    writer.publish(stages).unwrap();
    let documents = |active| {
        let corpus = Corpus::open_shards(dir, active).unwrap();
        let passages = corpus.passages().map(|passage| passage.unwrap().doc_id);
        (passages.collect::<Vec<_>>().join(" "), corpus.fingerprint())
    };
    let (all, first, last) = (
        documents(Active::All),
        documents(Active::First(2)),
        documents(Active::Last(1)),
    );
    assert_eq!((&*all.0, &*first.0, &*last.0), ("d0 d1 d2", "d0 d1", "d2"));
    assert!(all.1 != first.1 && first.1 != last.1);
    fs::remove_dir_all(segment(dir, "00000001-002")).unwrap();
    assert_eq!(documents(Active::First(2)), first);
    for scale in [0, 4] {
        let error = Corpus::open_shards(dir, Active::First(scale)).unwrap_err();
        assert_eq!(error.kind(), "too_few_shards");
    }
    let info = CorpusInfo::read(dir).unwrap();
    assert_eq!(info.shards.len(), 3);
    assert!(
        info.shards
            .iter()
            .all(|shard| shard.documents == 1 && shard.bytes > 0)
    );
    drop(writer);
    let error = Writer::create(dir, settings()).unwrap_err();
    assert_eq!(error.kind(), "other_sharding");
    assert!(error.remedy().unwrap().mentions("shards 3"));
}

#[test]
fn marks_of_one_kind_are_set_anew_and_others_stay() {
    const KIND: &str = "score: ";
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut writer = three(dir);
    writer.prune(vec![mark("a#0")]).unwrap();
    let place = |ordinal| PlaceMark {
        segment: 0,
        ordinal,
        score: 0.9,
    };
    let mut prune = |ordinals: &[usize]| {
        let marks: Vec<PlaceMark> = ordinals.iter().copied().map(place).collect();
        writer.replace_pruned(KIND, "score: head", &marks).unwrap()
    };
    // In the order of their documents: a#0, a#1, b#0 and so on.
    assert_eq!(prune(&[1, 2]), 3);
    let info = CorpusInfo::read(dir).unwrap();
    assert_eq!((info.passages, info.pruned), (3, 3));
    assert_eq!(prune(&[2, 5]), 4);
    let left = map(&[("a#1", "two"), ("b#1", "two"), ("c#0", "one")]);
    assert_eq!(contents(dir), left);
    assert_eq!(prune(&[2, 5]), 4, "the same marks make no generation");
    {
        let corpus = Corpus::open(dir).unwrap();
        assert_eq!(corpus.segments()[0].pruned_for(KIND).unwrap(), [2, 5]);
        let mut all = Selection::with_pruned_for(&corpus, KIND).unwrap();
        assert_eq!(all.ordinals(0).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        all.remove(0, 2);
        all.remove(0, 2);
        assert_eq!((all.total(), all.contains(0, 2)), (4, false));
    }
    assert_eq!(prune(&[]), 5);
    assert_eq!(CorpusInfo::read(dir).unwrap().pruned, 1);
    writer.delete(&["b".to_owned()]).unwrap();
    writer
        .replace_pruned(KIND, "score: head", &[place(2)])
        .unwrap();
    let corpus = Corpus::open(dir).unwrap();
    assert!(corpus.segments()[0].pruned_for(KIND).unwrap().is_empty());
}

#[test]
fn pruned_passages_are_told_and_restored_by_name_and_by_reason() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut writer = three(dir);
    let by =
        |id: &str, reason: &str, score| with!(mark(id), reason: reason.to_owned(), score: score);
    let marks = vec![
        by("a#0", "run", 0.9),
        by("b#0", "run", 0.5),
        by("b#1", "by hand", 0.0),
    ];
    assert_eq!(writer.prune(marks.clone()).unwrap(), 2);
    let corpus = Corpus::open(dir).unwrap();
    let prunings = corpus.prunings().unwrap();
    let pruning = |reason: &str, passages, documents, lowest_score, highest_score| Pruning {
        reason: reason.to_owned(),
        passages,
        documents,
        lowest_score,
        highest_score,
    };
    let expected = [
        pruning("by hand", 1, 1, 0.0, 0.0),
        pruning("run", 2, 2, 0.5, 0.9),
    ];
    assert_eq!(prunings, expected);
    let documents = corpus.pruned_documents().unwrap();
    let pruned: Vec<_> = documents
        .iter()
        .map(|past| (past.id.as_str(), past.passages, past.pruned.as_slice()))
        .collect();
    assert_eq!(pruned, [("b", 2, &marks[1..]), ("a", 2, &marks[..1])]);

    // Neither a refused change nor restoring a restored passage changes anything.
    let none = [PassageId("b#9".to_owned())];
    let error = writer.restore(&none, &["run".to_owned()]).unwrap_err();
    assert_eq!(error.kind(), "unknown_passage");
    let reasons = ["run".to_owned(), "ru".to_owned()];
    let error = writer.restore(&[], &reasons).unwrap_err();
    assert_eq!(error.kind(), "nothing_pruned");
    assert_eq!(
        writer.restore(&[PassageId("a#1".to_owned())], &[]).unwrap(),
        2
    );
    let all_of_b = writer.known().passages_of("b").unwrap();
    assert_eq!(all_of_b, ["b#0", "b#1"].map(|id| PassageId(id.to_owned())));
    assert_eq!(writer.restore(&all_of_b, &[]).unwrap(), 3);
    assert_eq!(CorpusInfo::read(dir).unwrap().pruned, 1);
    assert_eq!(writer.restore(&[], &reasons[..1]).unwrap(), 4);
    assert_eq!(CorpusInfo::read(dir).unwrap().pruned, 0);
    let error = writer.known().passages_of("none").unwrap_err();
    assert_eq!(error.kind(), "unknown_document");
    // A document that is deleted has no pruned passages.
    writer.prune(marks).unwrap();
    writer.delete(&["a".to_owned(), "b".to_owned()]).unwrap();
    let corpus = Corpus::open(dir).unwrap();
    assert_eq!(corpus.prunings().unwrap(), []);
    assert_eq!(corpus.pruned_documents().unwrap(), []);
}
