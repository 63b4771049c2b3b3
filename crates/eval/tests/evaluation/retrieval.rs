//! Measures of retrieval against values recorded from ir-measures and against a plain reference, and files that
//! cannot be read. `fixtures/README.md` says how the values were recorded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ken_eval::randomization_test;
use ken_eval::retrieval::{
    DocumentScore, JudgedQuery, Judgments, Qrels, RetrievalError, SearchQuery, TrecRun,
    evaluate_retrieval, judged_queries, measures, read_queries,
};
use ken_testing::cases;
use proptest::prelude::*;
use serde::Deserialize;
use tempfile::TempDir;

#[derive(Deserialize)]
struct Recorded {
    cases: Vec<Case>,
    paired: Vec<PairedCase>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    qrels: Vec<String>,
    run: Vec<String>,
    /// By query, in the order of `measures`.
    measures: BTreeMap<String, Vec<f64>>,
}

#[derive(Deserialize)]
struct PairedCase {
    differences: Vec<f64>,
    p: f64,
}

fn recorded() -> Recorded {
    serde_json::from_str(include_str!("../fixtures/retrieval.json")).unwrap()
}

/// A file in its own folder.
fn file(name: &str, text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

fn read_qrels(text: &str) -> Result<Qrels, RetrievalError> {
    let (_folder, path) = file("qrels.tsv", text);
    Qrels::read(&path)
}

fn read_run(text: &str) -> Result<TrecRun, RetrievalError> {
    let (_folder, path) = file("bm25.run", text);
    TrecRun::read(&path)
}

fn queries_of(text: &str) -> Result<Vec<SearchQuery>, RetrievalError> {
    let (_folder, path) = file("queries.jsonl", text);
    read_queries(&path)
}

/// Queries by id with their judgments.
fn judged<'a>(ids: impl IntoIterator<Item = &'a String>, qrels: Qrels) -> Vec<JudgedQuery> {
    let queries = ids.into_iter().map(|id| SearchQuery {
        id: id.clone(),
        text: "anything".to_owned(),
    });
    judged_queries(queries.collect(), qrels).unwrap().0
}

#[test]
fn measures_equal_those_of_trec_eval() {
    for case in recorded().cases {
        let qrels = read_qrels(&case.qrels.join("\n")).unwrap();
        let run = read_run(&case.run.join("\n")).unwrap();
        let queries = judged(case.measures.keys(), qrels);
        let evaluation = evaluate_retrieval(&queries, &[run], 100, 0).unwrap();
        assert_eq!(evaluation.n, case.measures.len(), "{}", case.name);
        for (at, measured) in evaluation.systems[0].measures.iter().enumerate() {
            for (query, value) in evaluation.queries.iter().zip(&measured.each) {
                let expected = case.measures[query][at];
                assert!(
                    (value - expected).abs() < 1e-9,
                    "{}, {query}, {}: {value} and not {expected}",
                    case.name,
                    measured.measure
                );
            }
            let expected = case.measures.values().map(|values| values[at]).sum::<f64>();
            let expected = expected / case.measures.len() as f64;
            assert!((measured.mean.unwrap() - expected).abs() < 1e-9);
        }
    }
}

#[test]
fn a_run_that_was_written_measures_alike() {
    let case = &recorded().cases[1];
    let run = read_run(&case.run.join("\n")).unwrap();
    let (_folder, path) = file("bm25.run", "");
    run.write(&path).unwrap();
    assert_eq!(TrecRun::read(&path).unwrap(), run);
    let spaced = DocumentScore {
        document: "a b.md".to_owned(),
        score: 1.0,
    };
    let run = TrecRun::new("dense", BTreeMap::from([("q".to_owned(), vec![spaced])]));
    assert_eq!(run.write(&path).unwrap_err().kind(), "id_with_space");
}

#[test]
fn random_signs_agree_with_all_signs() {
    for case in recorded().paired {
        let p = randomization_test(&case.differences, 0).unwrap();
        assert!((p - case.p).abs() < 0.015, "{p} and not {}", case.p);
    }
}

#[test]
fn systems_are_compared_with_the_first() {
    let case = &recorded().cases[0];
    let one = read_run(&case.run.join("\n")).unwrap();
    let queries = judged(
        case.measures.keys(),
        read_qrels(&case.qrels.join("\n")).unwrap(),
    );
    let nothing = TrecRun::new("nothing", BTreeMap::new());
    let evaluation = evaluate_retrieval(&queries, &[one.clone(), nothing], 100, 0).unwrap();
    let [first, second] = &evaluation.systems[..] else {
        panic!("{evaluation:?}")
    };
    assert!(
        first
            .measures
            .iter()
            .all(|measure| measure.against_first.is_none())
    );
    let against = second.measures[0].against_first.as_ref().unwrap();
    assert_eq!(against.difference, first.measures[0].mean.map(|mean| -mean));
    assert!(against.p.unwrap() < 0.05 && against.better == 0 && against.worse > 5);
    assert!(against.interval.unwrap()[1] < 0.0, "{against:?}");
    let notice = format!("nothing ranks nothing for {} of the queries", evaluation.n);
    assert!(
        evaluation
            .notices
            .iter()
            .any(|shown| shown.starts_with(&notice)),
        "{evaluation:?}"
    );
    let twice = evaluate_retrieval(&queries, &[one.clone(), one], 100, 0).unwrap_err();
    assert_eq!(twice.to_string(), "two systems have the name \"bm25\"");
}

#[test]
fn judgments_are_read_in_both_formats() {
    let trec = read_qrels("q1 0 d1 2\nq1 0 d2 0\n\nq2 0 d1 -1\n").unwrap();
    let beir = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td1\t-1\n";
    assert_eq!(read_qrels(beir).unwrap(), trec);
    let without_header = &beir[beir.find("q1").unwrap()..];
    assert_eq!(read_qrels(without_header).unwrap(), trec);
}

#[test]
fn queries_are_read_in_both_formats() {
    let ours =
        queries_of("{\"id\": \"1\", \"question\": \" Who? \", \"golden_answers\": [\"I\"]}\n");
    let beir = queries_of("{\"_id\": \"1\", \"text\": \"Who?\", \"metadata\": {}}\n");
    assert_eq!(ours.unwrap(), beir.unwrap());
}

/// The kind of an error, and the message without the folder.
fn refused<T: std::fmt::Debug>(outcome: Result<T, RetrievalError>) -> (&'static str, String) {
    let error = outcome.unwrap_err();
    assert!(error.remedy().is_some(), "{error}");
    let message = error.to_string();
    let name = message
        .split('/')
        .next_back()
        .unwrap_or_default()
        .to_owned();
    (error.kind(), name)
}

#[test]
fn broken_files_are_refused_by_line() {
    let cases = cases![
        refused(read_qrels("q 0 d 1\nq 0 d 2\n")) => "judged_twice",
            "qrels.tsv, line 2: \"d\" was judged for the query \"q\" in line 1";
        refused(read_qrels("q 0 d high\n")) => "not_a_judgment",
            "qrels.tsv, line 1: not a judgment: the relevance \"high\" is no integer";
        refused(read_qrels("q 0 d 1\nq d\n")) => "not_a_judgment",
            "qrels.tsv, line 2: not a judgment: neither 4 columns nor 3";
        refused(read_qrels("query-id\tcorpus-id\tscore\n")) => "no_judgments", "qrels.tsv holds no judgments";
        refused(read_run("q Q0 d 1 0.5 t\nq Q0 d 2 0.4 t\n")) => "ranked_twice",
            "bm25.run, line 2: \"d\" was ranked for the query \"q\" in line 1";
        refused(read_run("q Q0 d 1 NaN t\n")) => "score_not_finite",
            "bm25.run, line 1: the score NaN of \"d\" is no finite number of 32 bits, and cannot be ranked";
        refused(read_run("q Q0 d 1 1e300 t\n")) => "score_not_finite",
            "bm25.run, line 1: the score 1e300 of \"d\" is no finite number of 32 bits, and cannot be ranked";
        refused(read_run("q d 0.5\n")) => "not_a_run_line",
            "bm25.run, line 1: not a line of a run: it has not 6 columns";
        refused(queries_of("{\"_id\": \"1\", \"text\": \"a\"}\n{\"_id\": \"1\", \"text\": \"b\"}\n")) =>
            "duplicate_question_id", "queries.jsonl, line 2: the id \"1\" is already that of line 1";
        refused(queries_of("{\"_id\": \"1\", \"text\": \" \"}\n")) => "not_a_query",
            "queries.jsonl, line 1: not a query: the text of \"1\" is empty";
        refused(queries_of("\n")) => "no_queries", "queries.jsonl holds no queries";
    ];
    for ((kind, message), expected_kind, expected) in cases {
        assert_eq!((kind, message.as_str()), (expected_kind, expected));
    }
}

#[test]
fn ids_that_fit_nothing_are_told() {
    let queries = || {
        queries_of("{\"_id\": \"1\", \"text\": \"a\"}\n{\"_id\": \"2\", \"text\": \"b\"}\n")
            .unwrap()
    };
    let (kept, notice) =
        judged_queries(queries(), read_qrels("2 0 d 1\n3 0 d 1\n").unwrap()).unwrap();
    assert_eq!(kept.len(), 1);
    let expected =
        "1 of the 2 judged queries are not among those that are asked, and do not count: \"3\"";
    assert_eq!(notice.as_deref(), Some(expected));
    let (kind, message) = refused(judged_queries(queries(), read_qrels("q1 0 d 1\n").unwrap()));
    assert_eq!(kind, "no_query_known");
    assert_eq!(
        message,
        "none of the 1 judged queries was asked: judged \"q1\", asked \"1\", \"2\""
    );
    let run = read_run("q1 Q0 d 1 0.5 t\n").unwrap();
    let (kind, message) = refused(run.check_queries(Path::new("bm25.run"), ["1", "2"]));
    assert_eq!(kind, "run_of_other_queries");
    assert_eq!(
        message,
        "bm25.run ranks documents for 1 queries, and none of them was judged: \"q1\""
    );
}

/// The measures as their definitions read, one document after the other.
fn plainly(judgments: &Judgments, ranked: &[DocumentScore], k: usize) -> Vec<f64> {
    let mut order: Vec<(f32, &str)> = ranked
        .iter()
        .map(|document| (document.score, document.document.as_str()))
        .collect();
    order.sort_by(|a, b| b.partial_cmp(a).unwrap());
    let relevance = |document: &str| judgments.get(document).copied().unwrap_or(0).max(0) as f64;
    let mut best: Vec<f64> = judgments
        .keys()
        .map(|document| relevance(document))
        .collect();
    best.sort_by(|a, b| b.total_cmp(a));
    let relevant = best.iter().filter(|relevance| **relevance > 0.0).count() as f64;
    if relevant == 0.0 {
        return vec![0.0; 5];
    }
    let (mut dcg, mut ideal, mut found, mut precisions, mut first) = (0.0, 0.0, 0.0, 0.0, 0.0);
    let mut found_early = 0.0;
    for rank in 1..=k {
        let discount = ((rank + 1) as f64).log2();
        if rank <= 10 {
            ideal += best.get(rank - 1).unwrap_or(&0.0) / discount;
        }
        let Some((_, document)) = order.get(rank - 1) else {
            continue;
        };
        let gain = relevance(document);
        if rank <= 10 {
            dcg += gain / discount;
        }
        if gain > 0.0 {
            found += 1.0;
            precisions += found / rank as f64;
            if rank <= 10 {
                found_early = found;
            }
            if first == 0.0 {
                first = 1.0 / rank as f64;
            }
        }
    }
    vec![
        dcg / ideal,
        found_early / relevant,
        found / relevant,
        first,
        precisions / relevant,
    ]
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "[q0d1 \t\n.-]{0,80}") {
        for content in [bytes, text.into_bytes()] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file");
            std::fs::write(&path, content).unwrap();
            let _ = (Qrels::read(&path), TrecRun::read(&path), read_queries(&path));
        }
    }

    #[test]
    fn measures_equal_the_plain_ones(
        judgments in proptest::collection::btree_map("[a-h][0-9]", -1_i64..4, 0..30),
        scores in proptest::collection::btree_map("[a-h][0-9]", -2_i8..3, 0..60),
        k in 11_usize..50,
    ) {
        let ranked: Vec<DocumentScore> = scores
            .into_iter()
            .map(|(document, score)| DocumentScore { document, score: f32::from(score) })
            .collect();
        let run = TrecRun::new("s", BTreeMap::from([("q".to_owned(), ranked.clone())]));
        for (measure, expected) in measures(k).iter().zip(plainly(&judgments, &ranked, k)) {
            let value = measure.of(&judgments, run.of("q"));
            prop_assert!((value - expected).abs() < 1e-9, "{}: {value} and not {expected}", measure.name);
            prop_assert!((0.0..=1.0).contains(&value));
        }
    }
}
