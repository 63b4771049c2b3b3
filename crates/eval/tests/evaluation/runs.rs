//! Whole evaluations: the summary, the results file, stopping and resuming.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use ken_answer::{Answer, AnswerError, Calls, QuestionPrompt, Retrieved, Style, Tokens};
use ken_eval::results::Difference;
use ken_eval::{
    Outcome, ProbeRecord, Question, Record, ResultsError, ResultsFile, Run, RunError, RunProgress,
    RunSettings, Summary, Task, evaluate, paired, read_results, summarize,
};
use ken_policy::Source;
use ken_testing::{fails, has, with};
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use crate::fixture::{in_folder, whole_run};

fn settings(policy: &str) -> RunSettings {
    let pairs = [("policy", policy), ("k", "5"), ("model", "tiny")];
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

fn questions(n: usize) -> Vec<Question> {
    let question = |i: usize| {
        serde_json::from_value(json!({
            "id": format!("q{i}"), "question": format!("Which number is {i}?"),
            "golden_answers": [format!("number {i}"), "the"],
            "metadata": if i.is_multiple_of(4) { json!({}) } else { json!({"gold_passage": format!("d{i}")}) },
        }))
        .unwrap()
    };
    (0..n).map(question).collect()
}

/// A made-up system: depending on the question's number, it answers from memory, or retrieves the gold passage first,
/// second or not at all.
fn answer(question: &Question) -> Result<Answer, AnswerError> {
    let i: usize = question.id[1..].parse().unwrap();
    let hit = |doc: String, text: String, in_prompt| {
        with!(Retrieved::default(),
            passage_id: format!("{doc}#0"), doc_id: doc, text: text, in_prompt: in_prompt)
    };
    let gold = hit(format!("d{i}"), format!("This is the Number {i}."), true);
    let other = hit("other".to_owned(), "Nothing.".to_owned(), true);
    let (route, hits, answer) = match i % 5 {
        0 => (Source::SelfKnowledge, vec![], "no idea".to_owned()),
        1 => (Source::Corpus, vec![gold, other], format!("Number {i}.")),
        2 => (
            Source::Corpus,
            vec![other, gold],
            format!("It is number {i}"),
        ),
        3 => (Source::Corpus, vec![other], String::new()),
        _ => (Source::SelfKnowledge, vec![], format!("number {i}")),
    };
    let mut timing_ms = BTreeMap::from([("answer".to_owned(), 10.0 + i as f64 / 3.0)]);
    if route == Source::Corpus {
        timing_ms.insert("retrieve".to_owned(), 1.0);
    }
    timing_ms.insert("total".to_owned(), timing_ms.values().sum());
    Ok(Answer {
        greedy: None,
        truncated: false,
        score: None,
        cannot_tell: false,
        lack: None,
        question: question.question.clone(),
        choices: Vec::new(),
        choice: None,
        withheld: None,
        answer,
        style: Style::Short,
        policy: "prompt".to_owned(),
        route,
        reason: String::new(),
        citations: Vec::new(),
        unfounded: Vec::new(),
        named_documents: Vec::new(),
        retrieved: hits,
        verbalized: None,
        calls: Calls {
            model: 1,
            retriever: usize::from(route == Source::Corpus),
        },
        tokens: Tokens {
            prompt: 100 + i,
            completion: 3,
        },
        timing_ms,
    })
}

/// The path of a file in a new folder.
fn file() -> (TempDir, PathBuf) {
    in_folder(|folder| folder.path().join("r.jsonl"))
}

fn open(path: &Path) -> Result<ResultsFile<Record>, ResultsError> {
    ResultsFile::open(path, settings("prompt"))
}

fn evaluated(
    path: &Path,
    questions: &[Question],
    answer: impl FnMut(&Question) -> Result<Answer, AnswerError>,
    run: Run<'_>,
) -> Result<Outcome<Record>, RunError> {
    let (mut file, answer) = (open(path).unwrap(), &mut each(questions, answer));
    evaluate("prompt", questions, &mut file, answer, run)
}

fn run(path: &Path, questions: &[Question]) -> Outcome<Record> {
    evaluated(path, questions, answer, whole_run(2)).unwrap()
}

/// Answers many questions one by one.
fn each(
    questions: &[Question],
    mut answer: impl FnMut(&Question) -> Result<Answer, AnswerError>,
) -> impl FnMut(&[QuestionPrompt<'_>]) -> Result<Vec<Result<Answer, AnswerError>>, AnswerError> {
    move |texts| {
        let find = |asked: &QuestionPrompt<'_>| {
            let same = |question: &&Question| question.question == asked.question;
            questions.iter().find(same).unwrap()
        };
        Ok(texts.iter().map(find).map(&mut answer).collect())
    }
}

fn summary(path: &Path, questions: &[Question]) -> Summary {
    summarize("prompt", &run(path, questions).records)
}

#[test]
fn the_summary_counts_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let summary = summary(&folder.path().join("r.jsonl"), &questions(10));
    // By number modulo 5: 1 and 4 match exactly, 2 contains, 1 to 3 search.
    has!(summary, n: 10, em: Some(0.4), contains: Some(0.6), retrieval_ratio: Some(0.6),
        gold_coverage: Some(4.0 / 6.0));
    // 8 searched but names no gold passage; 1 and 6 retrieve it first, 2 and 7 second, 3 not at all.
    has!(summary, gold_recall: Some(4.0 / 5.0), gold_first: Some(2.0 / 5.0), tokens.prompt.total: 1045,
        tokens.completion.mean: Some(3.0));
    let stages = &summary.latency_ms.stages;
    assert_eq!(stages.keys().collect::<Vec<_>>(), ["answer", "retrieve"]);
    assert_eq!(stages["retrieve"].p95, Some(1.0));
    assert!((stages["answer"].p50.unwrap() - 11.5).abs() < 1e-9);
    let [low, high] = summary.em_interval.unwrap();
    assert!(low < 0.4 && 0.4 < high);
}

#[test]
fn full_answers_are_right_where_they_contain_a_golden_one() {
    let questions = questions(10);
    let records = |style: Style| -> Vec<Record> {
        let answered = questions.iter().map(|question| {
            let answer = answer(question).unwrap();
            Record::new(question, Answer { style, ..answer })
        });
        answered.collect()
    };
    let [short, full] = [Style::Short, Style::Full].map(records);
    let summary = summarize("prompt", &full);
    has!(summary, style: Style::Full, em: Some(0.6), contains: Some(0.6), f1: None,
        answered_wrong: Some(0.4), tokens_per_right: Some((1045.0 + 30.0) / 6.0));
    let [low, high] = summary.em_interval.unwrap();
    assert!(low < 0.6 && 0.6 < high);
    let held = paired(&full, &short, 0).unwrap();
    assert_eq!((held.em, held.em_difference), (Some(0.4), Some(0.2)));
    // Multiple choice is answered short, whatever the style of the others.
    let mixed = [&full[..5], &short[5..]].concat();
    let mixed = summarize("prompt", &mixed);
    assert_eq!((mixed.style, mixed.em), (Style::Full, Some(0.5)));
}

#[test]
fn the_summary_has_the_names_of_the_contract() {
    let value = serde_json::to_value(summarize("never", &[])).unwrap();
    let expected = json!({
        "n": 0, "failed": 0, "cannot_tell": 0, "policy": "never", "style": "short", "em": null, "em_interval": null, "f1": null, "contains": null,
        "answered": null, "answered_wrong": null, "answered_wrong_interval": null,
        "right_abstentions": null,
        "retrieval_ratio": null, "evidence_ratio": null, "search_results": {"mean": null, "total": 0},
        "gold_coverage": null, "gold_recall": null, "gold_first": null,
        "model_calls": {"mean": null, "total": 0}, "retriever_calls": {"mean": null, "total": 0},
            "tokens": {
            "prompt": {"mean": null, "total": 0}, "completion": {"mean": null, "total": 0}
        },
        "tokens_per_right": null,
        "latency_ms": {"mean": null, "p50": null, "p95": null, "stages": {}},
    });
    assert_eq!(value, expected);
}

#[test]
fn nothing_retrieved_has_no_coverage_and_no_recall() {
    let folder = tempfile::tempdir().unwrap();
    let only_self: Vec<Question> = questions(20).into_iter().step_by(5).collect();
    let summary = summary(&folder.path().join("r.jsonl"), &only_self);
    has!(summary, retrieval_ratio: Some(0.0), gold_coverage: None, gold_recall: None, gold_first: None);
}

#[test]
fn a_cancelled_run_resumes_without_asking_again() {
    let (folder, path) = file();
    let questions = questions(9);
    let cancel = AtomicBool::new(false);
    let mut seen = Vec::new();
    let stopping = |question: &Question| {
        cancel.store(question.id == "q3", Ordering::Relaxed);
        answer(question)
    };
    let stopped = Run::new(1, &cancel, |progress| seen.push(progress.done));
    let first = evaluated(&path, &questions, stopping, stopped).unwrap();
    assert!(first.interrupted);
    assert_eq!(first.records.len(), 4);
    assert_eq!(seen, [0, 1, 2, 3, 4]);

    let (mut asked, mut last) = (Vec::new(), None);
    let noting = |question: &Question| {
        asked.push(question.id.clone());
        answer(question)
    };
    let cancel = AtomicBool::new(false);
    let watched = Run::new(3, &cancel, |progress| last = Some(progress));
    let second = evaluated(&path, &questions, noting, watched).unwrap();
    assert_eq!(asked, ["q4", "q5", "q6", "q7", "q8"]);
    let expected = RunProgress {
        task: Task::Answer,
        done: 9,
        total: 9,
        resumed: 4,
        right: 3,
    };
    assert_eq!(last, Some(expected));
    assert!(!second.interrupted);
    assert_eq!(second.resumed, 4);
    let whole = run(&folder.path().join("other.jsonl"), &questions);
    assert_eq!((second.records, whole.resumed), (whole.records, 0));
}

#[test]
fn a_batch_that_is_stopped_keeps_the_answers_that_it_has() {
    let folder = tempfile::tempdir().unwrap();
    for whole in [true, false] {
        let path = folder.path().join(format!("{whole}.jsonl"));
        let mut file = open(&path).unwrap();
        let questions = questions(8);
        let cancel = AtomicBool::new(false);
        let mut stopped = each(&questions, |question| match question.id.as_str() {
            "q4" | "q6" | "q7" => {
                cancel.store(true, Ordering::Relaxed);
                Err(AnswerError::Interrupted)
            }
            _ => answer(question),
        });
        let mut answer_many = |texts: &[QuestionPrompt<'_>]| {
            let answers = stopped(texts)?;
            match whole && answers.iter().any(Result::is_err) {
                true => Err(AnswerError::Interrupted),
                false => Ok(answers),
            }
        };
        let run = Run::new(4, &cancel, |_| {});
        let outcome = evaluate("prompt", &questions, &mut file, &mut answer_many, run).unwrap();
        assert!(outcome.interrupted);
        let kept: Vec<&str> = outcome.records.iter().map(|r| r.id.as_str()).collect();
        let expected = ["q0", "q1", "q2", "q3", "q5"];
        assert_eq!(kept, expected[..if whole { 4 } else { 5 }]);
    }
}

#[test]
fn a_question_that_fails_alone_is_kept_as_wrong() {
    let (_folder, path) = file();
    let answer = |question: &Question| match question.id.as_str() {
        "q1" => Err(AnswerError::QuestionTooLong {
            received: 9,
            limit: 4,
        }),
        _ => answer(question),
    };
    let questions = questions(5);
    let outcome = evaluated(&path, &questions, answer, whole_run(3)).unwrap();
    let again = run(&path, &questions);
    assert_eq!(again.records, outcome.records);
    assert_eq!(again.resumed, 5, "it is not asked again");
    let record = serde_json::to_value(&outcome.records[1]).unwrap();
    assert_eq!(record["error"]["kind"], "question_too_long");
    assert!(record["error"]["message"].as_str().unwrap().contains('9'));
    for (field, value) in [("em", json!(false)), ("route", json!(null))] {
        assert_eq!(record[field], value);
    }
    assert_eq!(outcome.records[2].error, None);
    let summary = summarize("prompt", &outcome.records);
    assert_eq!((summary.n, summary.failed), (5, 1));
    // Only number 4 matches, and 2 and 3 search.
    has!(summary, em: Some(0.2), retrieval_ratio: Some(0.4));
}

#[test]
fn a_failure_that_concerns_all_keeps_the_results_before_it() {
    let (_folder, path) = file();
    let answer = |question: &Question| match question.id.as_str() {
        "q2" => Err(AnswerError::NoCorpus),
        _ => answer(question),
    };
    let error = evaluated(&path, &questions(5), answer, whole_run(1)).unwrap_err();
    has!(error,
        to_string(): "cannot answer the question \"q2\": the policy retrieves, but no corpus is open",
        kind(): "no_corpus");
    let file = open(&path).unwrap();
    assert!(file.get("q1").is_some() && file.get("q2").is_none());
}

#[test]
fn another_question_under_the_same_id_is_refused() {
    let (_folder, path) = file();
    run(&path, &questions(3));
    let mut changed = questions(3);
    changed[1].golden_answers.push("another".to_owned());
    let error = evaluated(&path, &changed, answer, whole_run(1)).unwrap_err();
    let message = error.to_string();
    assert!(
        matches!(error, RunError::OtherQuestion { recorded, .. } if recorded.contains("\"q1\""))
    );
    let expected = "under the id \"q1\" other golden answers or choices of \"Which number is 1?\"";
    assert!(message.ends_with(expected), "{message}");
}

#[test]
fn other_settings_are_refused_by_name() {
    let (_folder, path) = file();
    run(&path, &questions(3));
    let before = std::fs::read(&path).unwrap();
    let mut changed = settings("always");
    changed.remove("k");
    changed.insert("seed".to_owned(), "1".to_owned());
    let error = ResultsFile::<Record>::open(&path, changed).unwrap_err();
    assert_eq!(error.kind(), "other_settings");
    assert!(error.to_string().ends_with(
        "other settings: k was 5 and is now unset, policy was prompt and is now always, \
         seed was unset and is now 1"
    ));
    let ResultsError::OtherSettings { differences, .. } = error else {
        panic!("{error}");
    };
    let policy = Difference {
        name: "policy".to_owned(),
        recorded: Some("prompt".to_owned()),
        current: Some("always".to_owned()),
    };
    assert_eq!(differences[1], policy);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn files_of_other_kinds_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    for content in ["my notes", "{\"id\": 1}\n", "{\"set", "\n"] {
        std::fs::write(&path, content).unwrap();
        let opened = open(&path);
        if content == "{\"set" {
            // The beginning of a header: a run that was killed at once.
            assert!(opened.is_ok());
        } else {
            assert_eq!(opened.unwrap_err().kind(), "not_results");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
        }
    }
    let below_a_file = folder.path().join("notes.txt/r.jsonl");
    fails!(open(&below_a_file) => "results_file", "notes.txt");
}

#[test]
fn a_broken_line_before_the_last_is_named() {
    let (_folder, path) = file();
    run(&path, &questions(4));
    let text = std::fs::read_to_string(&path).unwrap();
    let broken = text.replacen("{\"id\":\"q1\",", "{\"id\":", 1);
    std::fs::write(&path, &broken).unwrap();
    let error = open(&path).unwrap_err();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), broken);
    assert_eq!(error.kind(), "bad_result_line");
    assert!(error.to_string().contains(", line 3, column "), "{error}");
}

#[test]
fn a_file_that_is_only_read_is_wanted_from_its_command() {
    let (_folder, path) = file();
    let hint = |kind: &str| {
        let error = read_results::<ProbeRecord>(&path).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains("r.jsonl"), "{error}");
        error.remedy().unwrap().to_string()
    };
    let wanted = "a file is wanted that Probe wrote, as that left it";
    assert_eq!(hint("results_file"), wanted);
    std::fs::write(&path, "my notes\n").unwrap();
    assert_eq!(hint("not_results"), wanted);
    // The results of an evaluation are no records of a probe.
    std::fs::remove_file(&path).unwrap();
    run(&path, &questions(2));
    assert_eq!(hint("bad_result_line"), wanted);
}

#[test]
fn one_file_has_one_writer() {
    let (_folder, path) = file();
    let first = open(&path).unwrap();
    fails!(open(&path) => "results_locked");
    drop(first);
    open(&path).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Killed at any byte, a resumed run ends with the results of one that was never stopped.
    #[test]
    fn a_run_cut_at_any_byte_resumes_to_the_same_results(n in 1_usize..8, cut in 0.0..=1.0_f64) {
        let folder = tempfile::tempdir().unwrap();
        let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
        let questions = questions(n);
        let uninterrupted = run(&whole, &questions);
        let bytes = std::fs::read(&whole).unwrap();
        std::fs::write(&broken, &bytes[..(bytes.len() as f64 * cut) as usize]).unwrap();
        let resumed = run(&broken, &questions);
        prop_assert_eq!(
            summarize("prompt", &resumed.records),
            summarize("prompt", &uninterrupted.records)
        );
        prop_assert_eq!(resumed.records, uninterrupted.records);
        prop_assert_eq!(std::fs::read(&broken).unwrap(), bytes);
    }
}
