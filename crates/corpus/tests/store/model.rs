//! Any sequence of changes leaves what a plain model of the corpus holds.

use std::collections::BTreeSet;

use ken_corpus::{Change, CorpusInfo, Pruned, history, verify};
use proptest::prelude::*;

use super::*;

/// A change of a corpus.
#[derive(Debug, Clone)]
enum Step {
    /// Documents are added or replaced, by id and text.
    Ingest(BTreeMap<u8, String>),
    Delete(u8),
    /// One in this many passages is pruned.
    Prune(usize),
    /// One in this many pruned passages is restored.
    Restore(usize),
    /// All passages pruned by such a step are restored.
    Undo(usize),
    /// One in this many passages gets a score, and no other keeps one.
    Score(usize),
    Compact,
    /// Segments are merged without losing anything.
    Merge,
    /// Rolls back by that many of the kept generations.
    Rollback(usize),
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let documents = prop::collection::btree_map(0_u8..6, "[ab]{0,2}( [ab]{1,2}){0,2}", 1..5);
    let step = prop_oneof![
        4 => documents.prop_map(Step::Ingest),
        2 => (0_u8..6).prop_map(Step::Delete),
        3 => (1_usize..4).prop_map(Step::Prune),
        1 => (1_usize..4).prop_map(Step::Restore),
        1 => (1_usize..4).prop_map(Step::Undo),
        3 => (1_usize..4).prop_map(Step::Score),
        1 => Just(Step::Compact),
        1 => Just(Step::Merge),
        2 => (0_usize..4).prop_map(Step::Rollback),
        2 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..14)
}

/// The reason for pruning one in this many passages.
fn reason(every: usize) -> String {
    format!("one in {every}")
}

/// A generation as a plain model holds it.
#[derive(Debug, Clone, Default, PartialEq)]
struct State {
    documents: BTreeMap<String, Document>,
    /// Passages that are left out, by id, with the reason.
    pruned: BTreeMap<String, String>,
    /// Those that a compaction dropped from the files.
    dropped: BTreeSet<String>,
    /// By the id of the passage.
    scores: BTreeMap<String, f32>,
}

impl State {
    fn all(&self) -> BTreeMap<String, String> {
        let passages = self.documents.values().flat_map(|document| {
            let ids = (0..).map(|n| PassageId::new(&document.id, n).0);
            let texts = cut(document).into_iter().map(|piece| piece.text);
            ids.zip(texts).collect::<Vec<_>>()
        });
        passages.collect()
    }

    fn live(&self) -> BTreeMap<String, String> {
        let mut all = self.all();
        all.retain(|id, _| !self.pruned.contains_key(id) && !self.dropped.contains(id));
        all
    }

    /// How many passages are pruned, by reason.
    fn reasons(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for reason in self.pruned.values() {
            *counts.entry(reason.as_str()).or_default() += 1;
        }
        counts
    }

    fn put(&mut self, document: Document) {
        self.forget(&document.id);
        self.documents.insert(document.id.clone(), document);
    }

    fn forget(&mut self, id: &str) {
        self.documents.remove(id);
        let stays = |passage: &String| PassageId(passage.clone()).split().unwrap().0 != id;
        self.pruned.retain(|passage, _| stays(passage));
        self.dropped.retain(stays);
        self.scores.retain(|passage, _| stays(passage));
    }

    /// The scores of the live passages.
    fn live_scores(&self) -> BTreeMap<String, f32> {
        let live = self.live();
        let mut scores = self.scores.clone();
        scores.retain(|id, _| live.contains_key(id));
        scores
    }
}

/// Merges the segments of each shard into one.
fn rewrite(writer: &mut Writer, change: Change, pruned: Pruned) {
    let shards = writer.settings().sharding.count;
    for shard in 0..shards {
        let segments = writer.known().segments();
        let own: Vec<_> = segments.iter().filter(|s| s.shard() == shard).collect();
        let ids: Vec<String> = own.iter().map(|s| s.id().to_owned()).collect();
        let mut staged = writer.stage(shard).unwrap();
        for segment in own {
            staged
                .copy::<ken_corpus::CorpusError>(segment, pruned, |ordinal, passage| {
                    assert_eq!(segment.passage(ordinal)?, passage);
                    Ok(())
                })
                .unwrap();
        }
        writer.replace(change, &ids, vec![staged]).unwrap();
    }
    if change == Change::Compact {
        writer.forget_history().unwrap();
    }
}

/// Adds documents to the shards that the first letters of their ids choose.
fn ingest_by_shard(writer: &mut Writer, documents: &[Document]) {
    let shards = writer.settings().sharding.count;
    let mut stages = BTreeMap::new();
    for document in documents {
        let state = writer.known().state_of(document).unwrap();
        let shard = match state {
            DocumentState::Unchanged(_) => continue,
            DocumentState::Changed(shard) => shard,
            DocumentState::New => u32::from(document.id.as_bytes()[0]) % shards,
        };
        let stage = stages
            .entry(shard)
            .or_insert_with(|| writer.stage(shard).unwrap());
        stage.push(document, &cut(document)).unwrap();
    }
    writer.publish(stages.into_values().collect()).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_sequence_of_changes_equals_the_model(steps in steps(), shards in 1_u32..4) {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let mut writer = Writer::create(dir, sharded(shards)).unwrap();
        ingest_by_shard(&mut writer, &[document("first", "x y z")]);
        let mut state = State::default();
        state.put(document("first", "x y z"));
        let mut past = BTreeMap::from([(1, state.clone())]);

        for step in steps {
            match step {
                Step::Ingest(texts) => {
                    let texts = texts.into_iter();
                    let documents: Vec<_> =
                        texts.map(|(id, text)| document(&id.to_string(), &text)).collect();
                    ingest_by_shard(&mut writer, &documents);
                    for document in documents {
                        // Unchanged documents stay as they are, including their pruned passages.
                        if state.documents.get(&document.id) != Some(&document) {
                            state.put(document);
                        }
                    }
                }
                Step::Delete(id) => {
                    let id = id.to_string();
                    let deleted = writer.delete(std::slice::from_ref(&id));
                    prop_assert_eq!(deleted.is_ok(), state.documents.contains_key(&id));
                    state.forget(&id);
                }
                Step::Prune(every) => {
                    let chosen: Vec<String> = state.live().into_keys().step_by(every).collect();
                    let reason = reason(every);
                    let marks = chosen.iter().map(|id| PruneMark { reason: reason.clone(), ..mark(id) });
                    writer.prune(marks.collect()).unwrap();
                    state.pruned.extend(chosen.into_iter().map(|id| (id, reason.clone())));
                }
                Step::Restore(every) => {
                    let chosen: Vec<String> = state.pruned.keys().step_by(every).cloned().collect();
                    let ids: Vec<PassageId> = chosen.iter().cloned().map(PassageId).collect();
                    writer.restore(&ids, &[]).unwrap();
                    state.pruned.retain(|id, _| !chosen.contains(id));
                    for id in state.dropped.iter().take(1) {
                        prop_assert!(writer.restore(&[PassageId(id.clone())], &[]).is_err());
                    }
                }
                Step::Undo(every) => {
                    let reason = reason(every);
                    // Marks on deleted documents remain until a compaction.
                    if state.reasons().contains_key(reason.as_str()) {
                        writer.restore(&[], std::slice::from_ref(&reason)).unwrap();
                    }
                    state.pruned.retain(|_, own| *own != reason);
                }
                Step::Score(every) => {
                    let mut all = state.all();
                    all.retain(|id, _| !state.dropped.contains(id));
                    let chosen = all.into_keys().step_by(every).enumerate();
                    state.scores = chosen.map(|(n, id)| (id, n as f32 / 10.0)).collect();
                    score(&mut writer, "mastery", &state.scores);
                }
                Step::Compact => {
                    rewrite(&mut writer, Change::Compact, Pruned::Dropped);
                    let gone = std::mem::take(&mut state.pruned);
                    state.dropped.extend(gone.into_keys());
                }
                Step::Merge => rewrite(&mut writer, Change::Ingest, Pruned::Kept),
                Step::Rollback(back) => {
                    let kept = history(dir).unwrap();
                    let target = kept[kept.len().saturating_sub(1 + back)].generation;
                    drop(writer);
                    Writer::rollback(dir, target).unwrap();
                    writer = Writer::create(dir, sharded(shards)).unwrap();
                    state = past[&target].clone();
                }
                Step::Reopen => {
                    drop(writer);
                    writer = Writer::create(dir, sharded(shards)).unwrap();
                }
            }
            past.insert(writer.generation(), state.clone());
            prop_assert_eq!(contents(dir), state.live());
            let info = CorpusInfo::read(dir).unwrap();
            prop_assert_eq!(info.generation, writer.generation());
            prop_assert_eq!(info.documents, state.documents.len() as u64);
            prop_assert_eq!(info.passages, state.live().len() as u64);
            let corpus = Corpus::open(dir).unwrap();
            let live_scores = state.live_scores();
            // Tenths, as people write them.
            let shown = live_scores.iter().map(|(id, score)| (id.clone(), score.to_string()));
            let found = scores(dir, "mastery").into_iter().map(|(id, score)| {
                (id, score.as_f64().unwrap().to_string())
            });
            prop_assert_eq!(found.collect::<BTreeMap<_, _>>(), shown.collect::<BTreeMap<_, _>>());
            let low = live_scores.values().filter(|score| **score < 0.2).count();
            prop_assert_eq!(selected(&corpus, "mastery<0.2"), low);
            let high = live_scores.values().filter(|score| **score >= 0.2).count();
            prop_assert_eq!(selected(&corpus, "NOT mastery>=0.2"), state.live().len() - high);
            let prunings = corpus.prunings().unwrap();
            let counts = prunings.iter().map(|pruning| (pruning.reason.as_str(), pruning.passages));
            prop_assert_eq!(counts.collect::<BTreeMap<_, _>>(), state.reasons());
            let mut pruned = BTreeMap::new();
            for document in corpus.pruned_documents().unwrap() {
                prop_assert_eq!(&document.title, &format!("Title of {}", document.id));
                prop_assert!(document.passages <= cut(&state.documents[&document.id]).len());
                pruned.extend(document.pruned.into_iter().map(|mark| (mark.passage_id.0, mark.reason)));
            }
            prop_assert_eq!(&pruned, &state.pruned);
            prop_assert_eq!(&listed(&corpus, false), &state.documents.keys().cloned().collect());
            prop_assert_eq!(listed(&corpus, false), listed(&corpus, true));
            prop_assert_eq!(verify(dir, &mut |_| {}).unwrap(), []);
        }
    }
}

/// The ids of the documents, read in pages of two.
fn listed(corpus: &Corpus, newest_first: bool) -> BTreeSet<String> {
    let mut ids: Vec<String> = Vec::new();
    loop {
        let page = corpus.documents(ids.last().map(String::as_str), newest_first);
        let page: Vec<String> = page.take(2).map(|document| document.unwrap().id).collect();
        if page.is_empty() {
            let all: Vec<String> = (corpus.documents(None, newest_first))
                .map(|document| document.unwrap().id)
                .collect();
            assert_eq!(ids, all);
            let mut nothing = corpus.documents(Some("nothing"), newest_first);
            let error = nothing.next().unwrap().unwrap_err();
            assert_eq!(error.kind(), "unknown_document");
            assert!(nothing.next().is_none());
            return ids.into_iter().collect();
        }
        ids.extend(page);
    }
}
