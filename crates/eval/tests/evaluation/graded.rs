//! Policies that choose k on a model with a known boundary: it knows some questions, the best search result answers
//! some, and only the third answers others. Comparisons and probe records agree with the pipeline.

use std::path::Path;

use ken_answer::{Pipeline, Policy, Signal};
use ken_eval::compare::{ComparisonError, GradeThresholds};
use ken_eval::{
    Comparison, Question, ResultsFile, RunSettings, observe, probe, signal_scores, summarize,
};
use ken_policy::{Goal, Ks, calibrate};
use ken_testing::{Fact, FnEmbedder, TableModel, fails, has, holds, with};
use tempfile::TempDir;

use crate::fixture::{
    comparison_work, exact_probe, in_folder, live, questions_of, whole_run, with_corpus,
};

const BATCH: usize = 9;
const FACTS: usize = 160;

/// For each kind, what the model knows, among how many wrong answers, and which search result contains the answer.
/// The model cannot distinguish kinds 2 and 3; it gets one in four right.
const KINDS: [(f64, usize, usize); 8] = [
    (1.0, 1, 1),
    (1.0, 1, 1),
    (0.5, 2, 1),
    (0.0, 2, 1),
    (0.0, 2, 1),
    (0.0, 2, 1),
    (0.0, 4, 3),
    (0.0, 4, 3),
];

fn facts() -> Vec<Fact> {
    let wrong = ["Lund", "Finch", "Kern", "Brandt"].map(str::to_owned);
    let questions = (0..FACTS).map(|number| {
        let (known, others, _) = KINDS[number % KINDS.len()];
        Fact {
            question: format!("who made clock{number} of room{number} in hall{number}?"),
            answer: format!("Maker{number}"),
            wrong: wrong[..others].to_vec(),
            known,
            copied: 1.0,
            misled: 0.0,
        }
    });
    questions.collect()
}

fn pipeline(folder: &TempDir) -> Pipeline {
    let facts = facts();
    let mut passages = Vec::new();
    for (number, fact) in facts.iter().enumerate() {
        let words = [
            format!("clock{number} of room{number} in hall{number}"),
            format!("the bell of room{number} in hall{number}"),
            format!("the bell of the yard in hall{number}"),
        ];
        for (place, words) in words.into_iter().enumerate() {
            let says = match KINDS[number % KINDS.len()].2 == place + 1 {
                true => fact.answer.clone(),
                false => "nobody".to_owned(),
            };
            passages.push((format!("d{number}-{place}"), format!("{words}: {says}.")));
        }
    }
    let model = TableModel::new(facts).unwrap();
    let mut pipeline = with_corpus(folder, model, &passages, FnEmbedder::blind());
    pipeline.settings.k = 3;
    pipeline
}

fn questions() -> Vec<Question> {
    questions_of(&facts())
}

fn compared(
    pipeline: &mut Pipeline,
    policies: &[&str],
    out: &Path,
) -> Result<Comparison, ComparisonError> {
    let (questions, policies) = (questions(), crate::fixture::policies(&policies.join(",")));
    let identity = |pipeline: &Pipeline| {
        let policy = pipeline.settings.policy.to_string();
        RunSettings::from([("policy".to_owned(), policy)])
    };
    let work = with!(comparison_work(out, &questions, &policies), identity: &identity);
    work.run(pipeline, &|_| whole_run(BATCH))
}

#[test]
fn what_is_put_together_is_what_the_pipeline_does() {
    let (folder, mut pipeline) = in_folder(pipeline);
    let policies = [
        "always",
        "always:1",
        "always:2",
        "uncertainty:perplexity:0:1:3@1.2:2.5",
        "uncertainty:perplexity:1:3@2.5",
        "certainty:0:2@0.1",
        "prompt:0:1:2:3@0.1:0.2:0.3",
    ];
    let comparison = compared(&mut pipeline, &policies, &folder.path().join("c")).unwrap();
    let always = comparison.always_em.unwrap();
    for (name, put_together) in policies.iter().zip(&comparison.policies) {
        let done = live(&mut pipeline, name.parse().unwrap(), &questions(), BATCH);
        let mut summary = put_together.summary.clone();
        let done = summarize(name, &done);
        summary.latency_ms = done.latency_ms.clone();
        assert_eq!(summary, done, "{name}");
        let lost = always - summary.em.unwrap();
        holds!("{name}" => (put_together.vs_always.em.unwrap() + lost).abs() < 1e-12);
    }
    let of = |place: usize| {
        let summary = &comparison.policies[place].summary;
        (summary.em.unwrap(), summary.search_results.mean.unwrap())
    };
    assert_eq!(of(0), (1.0, 3.0));
    // Two of eight kinds need the third search result.
    assert_eq!(of(1), (0.75, 1.0));
    assert_eq!(of(2), (0.75, 2.0));
    // As right as always, with 4 kinds at one and 2 at three.
    assert_eq!(of(3), (1.0, 10.0 / 8.0));
    assert_eq!(of(4), (1.0, 12.0 / 8.0));
    let tokens = |place: usize| comparison.policies[place].summary.tokens.prompt.mean;
    assert!(tokens(4) < tokens(0));
}

#[test]
fn thresholds_that_nobody_gives_are_those_of_the_other_half() {
    let (folder, mut pipeline) = in_folder(pipeline);
    let policies = [
        "uncertainty:perplexity",
        "uncertainty:perplexity:0:1:3",
        "uncertainty:perplexity:0:1",
    ];
    let comparison = compared(&mut pipeline, &policies, &folder.path().join("c")).unwrap();
    let [binary, graded, short] = &comparison.policies[..] else {
        panic!("{comparison:?}");
    };
    assert!(matches!(
        graded.cut.grades,
        Some(GradeThresholds::OfOtherHalf([Some(_), Some(_)]))
    ));
    assert_eq!((graded.cut.threshold, binary.cut.grades), (None, None));
    has!(graded, summary.em: Some(1.0), summary.search_results.mean: Some(10.0 / 8.0));
    has!(binary, summary.em: Some(1.0), summary.search_results.mean: Some(18.0 / 8.0));
    has!(graded, yardstick.loss: Some(0.0), yardstick.search_results: Some(10.0 / 8.0),
        yardstick.needless_skipped: Some(20.0 * 2.0 / 60.0));
    // None of its own k loses that little, so everything is as always.
    has!(short, yardstick.loss: Some(0.0), yardstick.search_results: Some(3.0));
    let json = serde_json::to_value(graded.cut).unwrap();
    assert_eq!(json["grades"][0]["ks"], serde_json::json!([0, 1, 3]));

    fails!(compared(&mut pipeline, &["always:4"], &folder.path().join("d")) => "k_too_small");
    pipeline.settings.abstain = Some("certainty@0.5".parse().unwrap());
    fails!(compared(&mut pipeline, &policies, &folder.path().join("e")) => "abstains_at_k");
}

#[test]
fn what_was_probed_at_each_k_is_calibrated_on() {
    let (folder, mut pipeline) = in_folder(pipeline);
    let mut file = ResultsFile::open(&folder.path().join("p"), RunSettings::new()).unwrap();
    let work = with!(exact_probe(&pipeline, 2), at_k: &[1, 2]);
    assert_eq!(work.identity(RunSettings::new())["at_k"], "1,2");
    let probed = probe(&work, &questions(), &mut file, whole_run(BATCH));
    let records = probed.unwrap().records;
    for k in [1, 2] {
        let done = live(&mut pipeline, Policy::always_k(k), &questions(), BATCH);
        for (record, done) in records.iter().zip(done) {
            let probed = &record.at_k[&k];
            has!(probed, answer.text: done.answer, correct: Some(done.em));
        }
    }
    let signal = Signal::PERPLEXITY;
    let scores = signal_scores(&records, signal, 2).unwrap();
    let ks = [0, 1, 2, 3];
    let observed = observe(&records, (signal, &scores), None, (&ks, 3), 0).unwrap();
    let observations = observed.observations;
    assert_eq!((observations.len(), observed.left_out), (FACTS, 0));
    let policy = Policy::graded(signal, Ks::new(&ks).unwrap());
    let chosen = calibrate(&policy, None, 3, &observations, Goal::AtMostLost(0.0));
    assert_eq!((chosen.accuracy(), chosen.mean_k()), (1.0, 10.0 / 8.0));
    assert_eq!(chosen.policy.simplified().ks.values(), [0, 1, 3]);
    let probabilities: Vec<_> = chosen
        .each_k
        .iter()
        .map(|grade| grade.least_probability)
        .collect();
    assert_eq!(probabilities[..2], [Some(1.0), Some(0.25)]);
}
