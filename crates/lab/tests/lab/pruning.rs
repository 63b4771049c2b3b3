//! Pruning a corpus on a model with a known boundary: known passages are pruned, ratios are exact, and a guarantee is
//! kept or refused.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ken_answer::BackEnd;
use ken_corpus::{Corpus, Filter, PlaceMark, Selection, Writer};
use ken_index::{Index, Mode};
use ken_lab::LearnOptions;
use ken_lab::heads::pruner::{PrunerLabels, PrunerReport, learn_pruner, pruner_labels};
use ken_lab::mastery::AnsweredPair;
use ken_lab::pruning::{
    Basis, CoverageQuestion, Guarantee, GuaranteedRatio, Method, PassageVectors, PrunePlan, REASON,
    Scored, Work, candidates, count, largest_ratio, order, scored,
};
use ken_lab::{LearnError, MasteryRecord, PruningError};
use ken_language::{Embedder, Role};
use ken_policy::Head;
use ken_testing::{FnEmbedder, cases, fails, holds, with};
use ken_train::heads::Shape;
use serde_json::json;
use tempfile::TempDir;

use crate::fixture::{in_folder, ingested};
use crate::{go_on, learn_options};

/// Trades whose masters the model knows, and others. The model knows a third of all passages.
const KNOWN: [&str; 2] = ["clockmaker", "baker"];
const UNKNOWN: [&str; 4] = ["miller", "smith", "keeper", "weaver"];
const TOWNS: usize = 50;

const OPTIONS: LearnOptions = learn_options(Shape::Logistic, 5, 0.3);

/// Every passage with its document's id, its words, and whether the model knows it.
fn passages() -> Vec<(String, String, bool)> {
    let trades = KNOWN.iter().chain(&UNKNOWN).enumerate();
    let passages = trades.flat_map(|(number, trade)| {
        (0..TOWNS).map(move |town| {
            let text = format!("The {trade} of town{town} is Master{number}x{town}.");
            (format!("d{number}-{town}"), text, number < KNOWN.len())
        })
    });
    passages.collect()
}

fn take_in(folder: &TempDir, passages: &[(String, String, bool)]) -> Corpus {
    let documents = passages
        .iter()
        .map(|(id, text, _)| json!({"id": id, "contents": text}));
    ingested(folder, "corpus", documents, &FnEmbedder::bag_of_words())
}

/// All passages in a corpus, searched.
fn indexed() -> (TempDir, Index) {
    in_folder(|folder| Index::open(Arc::new(take_in(folder, &passages()))).unwrap())
}

/// All passages in a corpus on disk.
fn stored() -> (TempDir, Corpus) {
    in_folder(|folder| take_in(folder, &passages()))
}

/// The measurements of a labeling with three questions per sentence.
fn records(passages: &[(String, String, bool)]) -> Vec<MasteryRecord> {
    let documents = passages.iter().enumerate().map(|(number, (id, text, known))| {
        // One in ten is measured wrong.
        let mastery = if *known == (number % 10 != 3) { 1.0 } else { f64::from(number as u32 % 2) / 3.0 };
        serde_json::from_value(json!({
            "id": format!("{id}#0/0"), "passage_id": format!("{id}#0"), "title": "", "sentence": text,
            "mastery": mastery, "interval": null, "pairs": [], "wanted": 3,
            "dropped": {"unwritten": 0, "unsupported": 0, "given_away": 0, "other_answer": 0,
                        "repeated": 0, "invalid": 0},
            "error": null,
            "fingerprint": {"model": "table", "writer": "table", "corpus": "c", "prompt": "p"},
        }))
        .unwrap()
    });
    documents.collect()
}

fn learned_from(
    labels: &PrunerLabels,
    corpus: &Corpus,
) -> Result<(Head, PrunerReport), LearnError> {
    let corpus = Corpus::open(corpus.dir()).unwrap();
    let searched = BackEnd::from(Index::open(Arc::new(corpus)).unwrap());
    let vectors = [PassageVectors::Stored];
    learn_pruner(labels, &searched, &vectors, OPTIONS, &mut go_on)
}

fn learned(corpus: &Corpus) -> (Head, PrunerReport) {
    let labels = pruner_labels(&records(&passages())).unwrap();
    learned_from(&labels, corpus).unwrap()
}

fn by(head: &Head) -> Method<'_> {
    Method::Pruner { head, reader: None }
}

fn scores(
    index: &Index,
    candidates: &Selection,
    method: Method<'_>,
) -> Result<Vec<Scored>, PruningError> {
    let work = Work { index, candidates };
    let mut done = 0;
    let scored = scored(method, work, &mut |n, _| done = n, &AtomicBool::new(false))?.unwrap();
    assert_eq!(done, candidates.total());
    Ok(scored)
}

fn ordered(index: &Index, candidates: &Selection, method: Method<'_>) -> Vec<Scored> {
    order(index.corpus(), scores(index, candidates, method).unwrap()).unwrap()
}

fn ids(corpus: &Corpus, order: &[Scored]) -> Vec<String> {
    let id = |passage: &Scored| {
        let segment = &corpus.segments()[passage.segment as usize];
        segment.passage(passage.ordinal as usize).unwrap().doc_id
    };
    order.iter().map(id).collect()
}

/// The share of passages that the model knows.
fn known_share(corpus: &Corpus, order: &[Scored]) -> f64 {
    let is_known = |(id, _, known): (String, String, bool)| known.then_some(id);
    let known: BTreeSet<String> = passages().into_iter().filter_map(is_known).collect();
    let gone = ids(corpus, order);
    gone.iter().filter(|id| known.contains(*id)).count() as f64 / gone.len() as f64
}

#[test]
fn what_goes_is_what_is_known() {
    let (_folder, index) = indexed();
    let corpus = index.corpus();
    let (head, report) = learned(corpus);
    holds!("{report:?}" => report.measured.rank_correlation.unwrap() > 0.5);
    let [low, high] = report.measured.rank_correlation_interval.unwrap();
    holds!("{report:?}" => low < report.measured.rank_correlation.unwrap() && high < 1.0);
    assert!(
        report.measured.squared_error.unwrap()
            < 0.85 * report.measured.squared_error_of_mean.unwrap(),
        "{report:?}"
    );
    let all = candidates(corpus).unwrap();
    assert_eq!(all.total(), passages().len());
    // At the true share of known passages.
    let goes = count(1.0 / 3.0, all.total());
    assert_eq!(goes, 100);
    let by_head = ordered(&index, &all, by(&head));
    let known = known_share(corpus, &by_head[..goes]);
    assert!(known >= 0.85, "{known}");
    let by_lot = ordered(&index, &all, Method::Random { seed: 1 });
    let known = known_share(corpus, &by_lot[..goes]);
    assert!((0.2..0.5).contains(&known), "{known}");
    assert_eq!(by_lot, ordered(&index, &all, Method::Random { seed: 1 }));
    assert_ne!(by_lot, ordered(&index, &all, Method::Random { seed: 2 }));
}

#[test]
fn equal_scores_go_by_their_ids_however_the_corpus_lies() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut backwards = passages();
    backwards.reverse();
    let mut all = Vec::new();
    for (folder, passages) in [(&folder, passages()), (&other, backwards)] {
        let index = Index::open(Arc::new(take_in(folder, &passages))).unwrap();
        let (head, _) = learned(index.corpus());
        let selection = candidates(index.corpus()).unwrap();
        let mut scored = scores(&index, &selection, by(&head)).unwrap();
        for passage in &mut scored {
            passage.score = (passage.score * 4.0).round();
        }
        scored[0].score = f32::NAN;
        let order = order(index.corpus(), scored).unwrap();
        holds!("what is no number goes last" => order.last().unwrap().score.is_nan());
        let ids = ids(index.corpus(), &order);
        let others = ids.into_iter().filter(|id| id != "d0-0" && id != "d5-49");
        all.push(others.collect::<Vec<_>>());
    }
    assert_eq!(all[0], all[1]);
}

#[test]
fn of_passages_that_say_the_same_all_but_one_go() {
    let folder = tempfile::tempdir().unwrap();
    let mut passages: Vec<(String, String, bool)> = passages().into_iter().take(40).collect();
    for copy in 0..2 {
        let (_, text, known) = passages[7].clone();
        passages.push((format!("copy{copy}"), text, known));
    }
    let index = Index::open(Arc::new(take_in(&folder, &passages))).unwrap();
    let all = candidates(index.corpus()).unwrap();
    let order = ordered(&index, &all, Method::NearDuplicates);
    let gone = ids(index.corpus(), &order);
    let first: BTreeSet<&str> = gone[..2].iter().map(String::as_str).collect();
    assert_eq!(first, BTreeSet::from(["copy0", "copy1"]));
    assert_eq!(
        gone.iter().collect::<BTreeSet<_>>().len(),
        42,
        "every passage has its place"
    );
}

#[test]
fn earlier_marks_by_score_are_replaced_and_others_stay() {
    let (_folder, corpus) = stored();
    let dir = corpus.dir().to_owned();
    let (head, _) = learned(&corpus);
    drop(corpus);
    let by_hand = ken_corpus::PruneMark {
        passage_id: ken_corpus::PassageId("d0-0#0".to_owned()),
        score: 1.0,
        reason: "by hand".to_owned(),
    };
    Writer::open(&dir).unwrap().prune(vec![by_hand]).unwrap();
    let prune = |ratio: f64| {
        let mut writer = Writer::open(&dir).unwrap();
        let index = Index::open(Arc::new(Corpus::open(&dir).unwrap())).unwrap();
        let all = candidates(index.corpus()).unwrap();
        let order = ordered(&index, &all, by(&head));
        let marks: Vec<PlaceMark> = order[..count(ratio, order.len())]
            .iter()
            .map(|passage| PlaceMark {
                segment: passage.segment as usize,
                ordinal: passage.ordinal as usize,
                score: f64::from(passage.score),
            })
            .collect();
        writer.replace_pruned(REASON, REASON, &marks).unwrap();
        (order.len(), Corpus::open(&dir).unwrap().passage_count())
    };
    assert_eq!(prune(0.5), (299, 150));
    assert_eq!(prune(0.5), (299, 150), "the same again");
    assert_eq!(prune(0.1), (299, 270));
    assert_eq!(prune(0.0), (299, 299));
    // Labels of passages that were pruned still teach.
    prune(0.5);
    learned(&Corpus::open(&dir).unwrap());
}

#[test]
fn a_threshold_leaves_out_what_a_ratio_would_prune() {
    let (_folder, corpus) = stored();
    let dir = corpus.dir().to_owned();
    let (head, _) = learned(&corpus);
    let basis = Basis::new(Some(head.clone()), None).unwrap();
    let cancel = AtomicBool::new(false);
    let plan = PrunePlan::new(&dir, by(&head), &basis, &mut |_, _| {}, &cancel).unwrap();
    let mut writer = Writer::open(&dir).unwrap();
    writer.score("mastery", &plan.scores()).unwrap();
    let corpus = Corpus::open(&dir).unwrap();
    let all = corpus.passage_count();
    for ratio in [0.1, 0.3, 0.5, 0.9] {
        let threshold = plan.threshold(ratio).unwrap();
        // Equal scores are pruned together.
        assert!(threshold.pruned >= count(ratio, all), "{threshold:?}");
        let filter = format!("NOT mastery>={}", threshold.score);
        let filter: Filter = filter.parse().unwrap();
        let left = Selection::new(&corpus, &[filter]).unwrap();
        assert_eq!(left.total(), all - threshold.pruned, "{threshold:?}");
        for mark in plan.marks(ratio).unwrap() {
            let is_left = left.contains(mark.segment, mark.ordinal);
            assert!(!is_left, "{threshold:?}");
        }
    }
    assert_eq!(plan.threshold(0.0), None);
    let unknown = Method::Kept { name: "perplexity" };
    let error = PrunePlan::new(&dir, unknown, &basis, &mut |_, _| {}, &cancel);
    let error = error.err().unwrap();
    assert_eq!(error.kind(), "unknown_score", "{error}");
    assert!(error.remedy().unwrap().mentions("it keeps mastery"));
}

fn asked(passages: &[(String, String, bool)]) -> Vec<CoverageQuestion> {
    let each = passages.iter().map(|(_, text, _)| {
        let (question, answer) = text.trim_end_matches('.').split_once(" is ").unwrap();
        let text = format!("who is {}?", question.to_lowercase());
        let vectors = FnEmbedder::bag_of_words().embed(&[&text], Role::Query);
        CoverageQuestion {
            vector: vectors.unwrap().pop(),
            text,
            golden_answers: vec![answer.to_owned()],
        }
    });
    each.collect()
}

/// The guarantee of pruning at most `most` passages.
fn guarantee(max_loss: f64, most: usize) -> Guarantee {
    Guarantee {
        max_loss,
        confidence: 0.95,
        mode: Mode::Lexical,
        k: 1,
        most,
    }
}

fn try_largest(
    index: &Index,
    order: &[Scored],
    asked: &[CoverageQuestion],
    guarantee: Guarantee,
    cancel: bool,
) -> Result<Option<GuaranteedRatio>, PruningError> {
    let all = candidates(index.corpus()).unwrap();
    let cancel = AtomicBool::new(cancel);
    largest_ratio(index, &all, order, asked, guarantee, &mut |_| {}, &cancel)
}

fn largest(
    index: &Index,
    order: &[Scored],
    asked: &[CoverageQuestion],
    guarantee: Guarantee,
) -> GuaranteedRatio {
    let largest = try_largest(index, order, asked, guarantee, false);
    largest.unwrap().unwrap()
}

#[test]
fn the_largest_ratio_keeps_the_guarantee_on_every_question_counted() {
    let (_folder, index) = indexed();
    let (head, _) = learned(index.corpus());
    let all = candidates(index.corpus()).unwrap();
    let by_head = ordered(&index, &all, by(&head));
    // The questions are about what the model does not know.
    let unknown: Vec<_> = passages()
        .into_iter()
        .filter(|passage| !passage.2)
        .collect();
    let promised = guarantee(0.05, by_head.len());
    let kept = largest(&index, &by_head, &asked(&unknown), promised);
    assert_eq!((kept.questions, kept.coverage), (200, 1.0));
    let ratio = kept.ratio.unwrap();
    holds!("{kept:?}" =>
        (0.2..0.4).contains(&ratio),
        kept.loss <= kept.loss_bound && kept.loss_bound <= 0.05);
    // Counted by hand: the asked passages that are pruned at that ratio.
    let gone = ids(index.corpus(), &by_head[..count(ratio, by_head.len())]);
    let lost = unknown
        .iter()
        .filter(|passage| gone.contains(&passage.0))
        .count();
    assert!((kept.loss - lost as f64 / 200.0).abs() < 1e-12, "{kept:?}");
    // No more than the limit are pruned, and the ratio is one of all passages.
    let most = by_head.len() / 10;
    let limited = guarantee(0.05, most);
    let kept = largest(&index, &by_head, &asked(&unknown), limited);
    assert_eq!(kept.ratio, Some(0.1), "{kept:?}");
    // Randomly, every hundredth loses a hundredth.
    let by_lot = ordered(&index, &all, Method::Random { seed: 1 });
    let ratio = largest(&index, &by_lot, &asked(&unknown), promised)
        .ratio
        .unwrap_or(0.0);
    assert!(ratio <= 0.05, "{ratio}");
}

#[test]
fn a_guarantee_that_cannot_be_kept_says_how_many_questions_would_do() {
    let (_folder, index) = indexed();
    let all = candidates(index.corpus()).unwrap();
    let by_lot = ordered(&index, &all, Method::Random { seed: 1 });
    let few = asked(&passages()[250..280]);
    let kept = largest(&index, &by_lot, &few, guarantee(0.01, by_lot.len()));
    assert_eq!(kept.ratio, None);
    // Without a loss among them, 0.99^n <= 0.05.
    assert_eq!(kept.needed, Some(299), "{kept:?}");
    let mut open = few.clone();
    open.iter_mut()
        .for_each(|asked| asked.golden_answers.clear());
    let guarantee = with!(guarantee(0.1, by_lot.len()), confidence: 0.9);
    let error = try_largest(&index, &by_lot, &open, guarantee, false);
    assert_eq!(error.unwrap_err().kind(), "no_golden_answers");
    let stopped = try_largest(&index, &by_lot, &few, guarantee, true);
    assert_eq!(stopped.unwrap(), None);
}

#[test]
fn labels_of_something_else_are_refused() {
    let (_folder, corpus) = stored();
    type Change = fn(&mut Vec<MasteryRecord>);
    let cases: [(Change, &str, &str); 6] = cases![
        |records| records[3].sentence = "Other words.".to_owned() => "other_corpus", "LabelMastery";
        |records| records[3].passage_id = "gone#0".to_owned() => "other_corpus", "LabelMastery";
        |records| records[3].fingerprint.model = "other".to_owned() => "several_models", "one model";
        |records| records.truncate(12) => "too_few_labels", "limit";
        |records| records.iter_mut().for_each(|record| record.mastery = Some(1.0)) => "one_value", "limit";
        |records| records.iter_mut().for_each(|record| record.mastery = None) => "no_labels", "writer";
    ];
    for (change, kind, hint) in cases {
        let mut records = records(&passages());
        change(&mut records);
        let labels = pruner_labels(&records);
        fails!(labels.and_then(|labels| learned_from(&labels, &corpus)) => kind; hint);
    }

    let (mut head, _) = learned(&corpus);
    head.measured_on.embedder = Some("another".to_owned());
    let index = Index::open(Arc::new(corpus)).unwrap();
    let all = candidates(index.corpus()).unwrap();
    fails!(scores(&index, &all, by(&head)) => "other_pruner"; "TrainPruner");
}

#[test]
fn questions_that_made_the_labels_guarantee_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let passages = passages();
    let corpus = take_in(&folder, &passages);
    let asked = asked(&passages);
    let (taught, others) = asked.split_at(asked.len() / 3);
    let mut records = records(&passages);
    for (record, asked) in records.iter_mut().zip(taught) {
        record.pairs.push(AnsweredPair {
            question: asked.text.clone(),
            answer: "a".to_owned(),
            prediction: "a".to_owned(),
            correct: true,
            validity: None,
        });
    }
    let labels = pruner_labels(&records).unwrap();
    let (head, _) = learned_from(&labels, &corpus).unwrap();
    // With the labels, or only with the pruner that was learned from them.
    for basis in [
        Basis::new(None, Some(labels.clone())).unwrap(),
        Basis::new(Some(head), None).unwrap(),
    ] {
        basis.check_questions(others).unwrap();
        let count = taught.len().to_string();
        fails!(basis.check_questions(&asked) => "taught_questions", &count; "held_out");
        assert_eq!(
            basis.taught(asked.iter().map(|question| question.text.as_str())),
            taught.len()
        );
    }
}
