//! The inputs of the reports: few questions, with every number given.

use std::collections::BTreeMap;

use ken_answer::{Abstention, Measurements, Policy};
use ken_eval::compare::{Answered, Comparison, Difference, Signals, compare};
use ken_eval::probe::{Conditions, Effects};
use ken_eval::retrieval::{
    DocumentScore, JudgedQuery, RetrievalEvaluation, TrecRun, evaluate_retrieval,
};
use ken_eval::{ProbeRecord, Record};
use ken_lab::pruning::{Ends, PrunedGroup, PrunedRow};
use ken_policy::Source;
use ken_probe::{Effect, Sample};
use ken_scale::report::{PolicyOutcome, StudyReport};
use ken_scale::study::{Cell, Condition, Curve, Measure, Retrieval, StudyTime, read_table};
use ken_testing::with;

fn record(em: bool, route: Source, ms: f64) -> Record {
    let searches = usize::from(route == Source::Corpus);
    let mut record = with!(Record::default(), em: em, f1: if em { 1.0 } else { 0.25 }, contains: em,
        route: Some(route), retrieved: vec!["d#0".to_owned(); 3 * searches],
        timing_ms: BTreeMap::from([("generate".to_owned(), ms), ("total".to_owned(), ms + 1.0)]));
    record.calls.model = 1;
    record.calls.retriever = searches;
    record.tokens.prompt = 40 + 60 * searches;
    record.tokens.completion = 4;
    record
}

fn sample(text: &str) -> Sample {
    with!(Sample::default(), text: text.to_owned())
}

/// Sixteen questions under four policies, with answers withheld.
pub(crate) fn comparison() -> Comparison {
    let answers: Vec<(Record, Record, Signals, String)> = (0..16)
        .map(|number| {
            let measured = with!(Measurements::default(), judgment: Some(f64::from(number % 8) / 8.0),
                samples: vec![sample("a"), sample("b")], types: vec![0, usize::from(number % 4 == 0)]);
            let signals = with!(Signals::default(), without: measured.clone(), with: measured);
            let never = record(number % 3 == 0, Source::SelfKnowledge, 2.0);
            (
                Record {
                    id: format!("q{number}"),
                    ..never
                },
                record(number % 4 != 0, Source::Corpus, 5.0),
                signals,
                format!("subject {number}"),
            )
        })
        .collect();
    let answered = answers.iter().map(|(never, always, signals, subject)| {
        Answered::new(never, always, Some(signals), subject)
    });
    let answered: Vec<Answered<'_>> = answered.collect();
    let policies: Vec<Policy> = ["never", "always", "random:0.5", "prompt"]
        .map(|name| name.parse().unwrap())
        .to_vec();
    let abstain: Abstention = "certainty@0.5".parse().unwrap();
    compare(&policies, Some(abstain), &answered, 1)
}

/// Four probed questions.
pub(crate) fn probed() -> Vec<ProbeRecord> {
    let effects = [
        Some(Effect::Beneficial),
        Some(Effect::Neutral),
        Some(Effect::Harmful),
        None,
    ];
    let rows = effects.into_iter().enumerate().map(|(number, effect)| {
        let value = number as f64 / 4.0;
        ProbeRecord {
            id: number.to_string(),
            confidence: Conditions {
                from_self: Some(value),
                corpus: Some(1.0 - value),
                masked: None,
            },
            certainty: Conditions {
                from_self: Some(0.5),
                corpus: None,
                masked: None,
            },
            effect: Effects {
                confidence: effect,
                certainty: None,
            },
            ..ProbeRecord::default()
        }
    });
    rows.collect()
}

fn measure(value: f64) -> Measure {
    Measure {
        value: Some(value),
        interval: Some([value - 0.1, value + 0.1]),
    }
}

/// The scores of two models on one data set at three scales.
pub(crate) fn curves() -> Vec<Curve> {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("scores.csv");
    let rows = "dataset,model,parameters,n,f1,em\n\
        NQ,small,600000000,0,0.10,0.05\nNQ,small,600000000,1,0.25,0.16\nNQ,small,600000000,2,0.35,0.30\n\
        NQ,large,4000000000,0,0.20,0.15\nNQ,large,4000000000,1,0.40,0.28\nNQ,large,4000000000,2,0.50,0.41\n";
    std::fs::write(&table, rows).unwrap();
    read_table(&table).unwrap()
}

/// A study of these, with one policy and a missing cell.
pub(crate) fn study() -> StudyReport {
    let mut report = StudyReport::of_table(&curves());
    let retrieval = with!(Retrieval::default(), k: 3);
    for series in &mut report.series {
        series.retrieval = Some(retrieval);
        series.scales[0].em = measure(0.5);
        series.scales[0].coverage = measure(0.75);
    }
    let outcome = |pruned: f64, em: f64| PolicyOutcome {
        dataset: "NQ".to_owned(),
        model: "small".to_owned(),
        n: 2,
        retrieval: Retrieval {
            pruned: pruned.try_into().unwrap(),
            ..retrieval
        },
        policy: "always".to_owned(),
        em: measure(em),
        f1: measure(em),
        contains: measure(em),
        retrieves: measure(0.5),
        tokens: measure(90.0),
        against_better: measure(0.0),
        against_always: measure(0.0),
        against_whole: Measure::default(),
    };
    report.policies = vec![outcome(0.0, 0.5), outcome(0.25, 0.45)];
    report.missing = vec![Cell {
        dataset: "NQ".to_owned(),
        model: "large".to_owned(),
        condition: Condition { n: 3, retrieval },
    }];
    report.time = Some(StudyTime {
        answers: 40,
        copied: 4,
        retrieval_s: 1.0,
        answering_s: 3.0,
        as_evaluations_s: 12.0,
    });
    report
}

/// The rows of the whole corpus and of none, and those of two methods.
pub(crate) fn pruned() -> (Ends, Vec<PrunedRow>) {
    let row = |method, ratio: f64, em: f64| PrunedRow {
        method,
        policy: "always".to_owned(),
        ratio,
        passages: 10,
        pruned: (10.0 * ratio) as usize,
        coverage: Some(0.8),
        em: Some(em),
        em_interval: Some([em - 0.1, em + 0.1]),
        vs_unpruned: Difference {
            em: Some(em - 0.5),
            interval: Some([em - 0.6, em - 0.4]),
        },
        vs_always_unpruned: Difference::default(),
        contains: Some(em),
        contains_interval: None,
        total_p50_ms: Some(12.5),
        total_p95_ms: Some(20.0),
        by: vec![PrunedGroup {
            value: "plain".to_owned(),
            n: 4,
            coverage: None,
            em: Some(em),
            em_interval: None,
            vs_unpruned: Difference::default(),
            vs_always_unpruned: Difference::default(),
            contains: Some(em),
            retrieval_ratio: Some(1.0),
        }],
        f1: Some(em),
        retrieval_ratio: Some(1.0),
        bytes: Some(1_250_000),
        search_p50_ms: Some(1.25),
        search_p95_ms: None,
    };
    let rows = vec![
        row("pruner", 0.0, 0.5),
        row("pruner", 0.5, 0.4),
        row("random", 0.5, 0.25),
    ];
    let ends = Ends {
        whole: row("unpruned", 0.0, 0.5),
        none: row("no corpus", 1.0, 0.3),
    };
    (ends, rows)
}

/// Two systems that rank three documents for two queries; to the second, one of them ranks nothing.
pub(crate) fn retrieval() -> RetrievalEvaluation {
    let queries = [("1", "a"), ("2", "b")].map(|(id, relevant)| JudgedQuery {
        id: id.to_owned(),
        text: "anything".to_owned(),
        judgments: [(relevant.to_owned(), 2), ("c".to_owned(), 1)].into(),
    });
    let ranked = |order: [&str; 3]| -> Vec<DocumentScore> {
        let scored = [0.5, 0.25, 0.125].into_iter().zip(order);
        scored
            .map(|(score, document)| DocumentScore {
                document: document.to_owned(),
                score,
            })
            .collect()
    };
    let lexical = [("1", ["b", "a", "c"]), ("2", ["b", "c", "a"])];
    let lexical = lexical.map(|(id, order)| (id.to_owned(), ranked(order)));
    let dense = [("1".to_owned(), ranked(["a", "c", "b"]))];
    let runs = [
        TrecRun::new("lexical", lexical.into()),
        TrecRun::new("dense", dense.into()),
    ];
    evaluate_retrieval(&queries, &runs, 100, 1).unwrap()
}
