//! Tuning on a model with a known boundary: measured answers and costs are those of the pipeline in either style, and
//! the policy that pays is found.

use std::cell::Cell;
use std::fs;
use std::path::Path;

use ken_answer::{Pipeline, Policy, Style};
use ken_eval::compare::{AnswersWork, Arm};
use ken_eval::tune::{Labels, Row, TuneError, TuneWork, Tuned, Verdict, tell_apart, usable};
use ken_eval::{Question, Record, Run, RunSettings};
use ken_policy::{CalibratedOn, Promise};
use ken_testing::{Fact, FnEmbedder, fails, has, holds};
use serde_json::Value;
use tempfile::TempDir;

use crate::fixture::{
    about_clock, clocks, in_folder, live, policies, questions_of, whole_run, with_facts,
};

const BATCH: usize = 7;

fn pipeline(folder: &TempDir, facts: &[Fact]) -> Pipeline {
    let text = |number: usize, fact: &Fact| match fact.copied > 0.0 {
        true => about_clock(number, fact) + &" It is slow.".repeat(9),
        false => about_clock(number, fact),
    };
    with_facts(folder, facts.to_vec(), text, FnEmbedder::blind())
}

fn open(names: &str) -> Vec<Policy> {
    policies(names).into_iter().map(Policy::open).collect()
}

fn identity(_: &Pipeline) -> RunSettings {
    RunSettings::new()
}

/// Calls `tune` with the work over questions in a folder.
fn with_work<T>(
    folder: &Path,
    questions: &[Question],
    policies: &[Policy],
    labels: Labels,
    tune: impl FnOnce(TuneWork<'_>, &dyn Fn(Option<Policy>) -> Run<'static>) -> T,
) -> T {
    let work = TuneWork {
        answers: AnswersWork {
            folder,
            questions,
            policies,
            identity: &identity,
        },
        labels,
        max_loss: 0.05,
    };
    tune(work, &|_| whole_run(BATCH))
}

fn tuned(
    folder: &Path,
    pipeline: &mut Pipeline,
    questions: &[Question],
    policies: &[Policy],
    labels: Labels,
) -> Tuned {
    let on = CalibratedOn {
        records: "questions.jsonl".to_owned(),
        questions: 0,
        model: "m".to_owned(),
        corpus: "c".to_owned(),
        prompt: None,
        created: 0,
    };
    with_work(folder, questions, policies, labels, |work, begin| {
        let (runs, begun) = (work.runs(pipeline), Cell::new(0));
        let counted = |policy| {
            begun.set(begun.get() + 1);
            begin(policy)
        };
        let tuned = work.run(pipeline, on, &counted).unwrap();
        assert_eq!(begun.get(), runs);
        tuned
    })
}

#[test]
fn what_is_measured_is_what_answers_in_either_style() {
    let kinds = [
        (1.0, 1.0, 0.0),
        (0.0, 1.0, 0.0),
        (0.9, 0.0, 1.0),
        (0.4, 0.9, 0.0),
    ];
    let facts = clocks(&kinds, 32);
    let questions = questions_of(&facts);
    let policies = policies(
        "never,always,documents,prompt@0.4,uncertainty:sequence-probability@0.3,evidence:doubt@1.2",
    );
    for style in [Style::Short, Style::Full] {
        let (folder, mut pipeline) = in_folder(|folder| pipeline(folder, &facts));
        pipeline.settings.style = style;
        let work = folder.path().join("tune");
        let labels = Labels::GoldenAnswers;
        let findings = tuned(&work, &mut pipeline, &questions, &policies, labels);
        let mut ratios = Vec::new();
        for (row, &policy) in findings.rows.iter().zip(&policies) {
            let records = live(&mut pipeline, policy, &questions, BATCH);
            let mean = |of: &dyn Fn(&Record) -> usize| {
                Some(records.iter().map(of).sum::<usize>() as f64 / records.len() as f64)
            };
            let right = mean(&|record| usize::from(record.is_right()));
            assert_eq!(row.accuracy, right, "{policy} {style}");
            let searches = mean(&|record| record.calls.retriever);
            assert_eq!(row.searches, searches, "{policy} {style}");
            let tokens = mean(&|record| record.tokens.prompt + record.tokens.completion);
            assert_eq!(row.tokens, tokens, "{policy} {style}");
            assert_eq!((row.policy, row.tried), (policy, policy));
            ratios.push(mean(&|record| {
                usize::from(record.route == Some(ken_policy::Source::Corpus))
            }));
        }
        // Under each policy some questions use evidence and some do not.
        let mut mixed = [2, 4, 5].into_iter().filter_map(|at| ratios[at]);
        holds!("{ratios:?}" => mixed.all(|ratio| (0.01..0.99).contains(&ratio)));
    }
}

/// Makes the times of the answers in a folder unknown, so that only tokens show costs.
fn forget_times(folder: &Path) {
    for name in ["never.jsonl", "always.jsonl"] {
        let path = folder.join(name);
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().map(|line| {
            let mut value: Value = serde_json::from_str(line).unwrap();
            if let Some(times) = value.get_mut("timing_ms") {
                *times = serde_json::json!({});
            }
            value.to_string()
        });
        let lines: Vec<String> = lines.collect();
        fs::write(path, lines.join("\n") + "\n").unwrap();
    }
}

/// Half is known and half is not, and the model can tell.
const TELLING: [(f64, f64, f64); 2] = [(0.98, 1.0, 0.0), (0.3, 1.0, 0.0)];

#[test]
fn the_policy_that_pays_is_found_promised_and_confirmed() {
    let facts = clocks(&TELLING, 240);
    let all = questions_of(&facts);
    let (questions, others) = all.split_at(200);
    let (folder, mut pipeline) = in_folder(|folder| pipeline(folder, &facts));
    let candidates = open("never,always,uncertainty:sequence-probability");
    let labels = Labels::GoldenAnswers;
    let work = folder.path().join("tune");
    tuned(&work, &mut pipeline, questions, &candidates, labels);
    forget_times(&work);
    let findings = tuned(&work, &mut pipeline, questions, &candidates, labels);
    has!(findings, better: Arm::Always, choice.verdict: Verdict::Pays);
    let chosen = &findings.rows[findings.choice.row];
    assert_eq!(chosen.policy.signal(), candidates[2].signal());
    assert_eq!((chosen.accuracy, chosen.searches), (Some(1.0), Some(0.5)));
    assert!(chosen.tokens < findings.rows[1].tokens);
    let guarantee = findings.guarantee.unwrap();
    assert_eq!(guarantee.policy, chosen.policy.to_string());
    let Promise::Loss { max_loss, measured } = guarantee.promise else {
        panic!("{:?}", guarantee.promise);
    };
    assert_eq!((max_loss, measured.loss), (0.05, 0.0));
    holds!("{measured:?}" => (0.4..=0.6).contains(&measured.retrieval_ratio));
    let policy = [chosen.policy];
    let work = folder.path().join("confirm");
    let confirmed = with_work(&work, others, &policy, labels, |work, begin| {
        work.confirm(&mut pipeline, findings.better, begin)
            .unwrap()
            .unwrap()
    });
    has!(confirmed, n: 40, arm.policy: Policy::ALWAYS, chosen.policy: policy[0],
        chosen.vs_better.difference: Some(0.0));
}

#[test]
fn where_memory_knows_little_nothing_is_at_stake() {
    let kinds = [(0.0, 1.0, 0.0); 9].into_iter().chain([(1.0, 1.0, 0.0)]);
    let facts = clocks(&kinds.collect::<Vec<_>>(), 60);
    let (folder, mut pipeline) = in_folder(|folder| pipeline(folder, &facts));
    let candidates = open("never,always");
    let labels = Labels::GoldenAnswers;
    let questions = questions_of(&facts);
    let work = folder.path().join("tune");
    let findings = tuned(&work, &mut pipeline, &questions, &candidates, labels);
    has!(findings, choice.verdict: Verdict::NothingAtStake,
        rows[findings.choice.row].policy: Policy::ALWAYS, stakes.known: 0.1, stakes.lead: 0.0,
        guarantee: None);
}

#[test]
fn without_golden_answers_the_answer_with_evidence_counts() {
    let facts = clocks(&TELLING, 40);
    let (folder, mut pipeline) = in_folder(|folder| pipeline(folder, &facts));
    let candidates = open("never,always");
    let mut questions = questions_of(&facts);
    for question in &mut questions {
        question.golden_answers.clear();
    }
    let (questions, labels) = usable(questions).unwrap();
    assert_eq!(labels, Labels::Agreement);
    let work = folder.path().join("tune");
    let findings = tuned(&work, &mut pipeline, &questions, &candidates, labels);
    let right = |row: &Row| row.accuracy;
    assert_eq!(
        findings.rows.iter().map(right).collect::<Vec<_>>(),
        [Some(0.5), Some(1.0)]
    );
    assert_eq!(findings.guarantee, None);
    fails!(labels.check(Style::Full) => "unlabeled_full_answers");
    assert!(labels.check(Style::Short).is_ok());
}

#[test]
fn questions_that_tell_nothing_are_refused() {
    let questions = questions_of(&clocks(&TELLING, 40));
    let few = usable(questions[..12].to_vec()).unwrap_err();
    assert_eq!(few.to_string(), "a policy cannot be chosen on 12 questions");
    assert!(few.remedy().unwrap().mentions("30 or more; about 200"));
    let mut mixed = questions.clone();
    mixed[3].golden_answers.clear();
    let (labeled, labels) = usable(mixed).unwrap();
    assert_eq!((labeled.len(), labels), (39, Labels::GoldenAnswers));
    let shared = tell_apart(questions[..5].to_vec(), &labeled, labels).unwrap_err();
    holds!("{shared}" => matches!(shared, TuneError::SharedQuestions { shared: 4, of: 5 }));
    let mut others = questions_of(&clocks(&TELLING, 42))[40..].to_vec();
    assert_eq!(
        tell_apart(others.clone(), &labeled, labels).unwrap().len(),
        2
    );
    for question in &mut others {
        question.golden_answers.clear();
    }
    fails!(tell_apart(others, &labeled, labels) => "unlabeled_confirmation");
}
