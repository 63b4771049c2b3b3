//! Reading question files, good and broken, and sampling from them.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use ken_eval::{Question, read_questions, sample};
use ken_testing::holds;
use proptest::prelude::*;

fn line(n: usize) -> String {
    format!(
        "{{\"id\": \"q{n}\", \"question\": \"Number {n}?\", \"golden_answers\": [\"{n}\"], \
         \"metadata\": {{\"gold_passage\": \"d{n}\"}}}}\n"
    )
}

fn read(bytes: &[u8]) -> Result<Vec<Question>, ken_eval::DatasetError> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    read_questions(file.path())
}

/// The message for a file, without its path, and the error's kind.
fn complaint(bytes: &[u8]) -> (String, &'static str) {
    let error = read(bytes).unwrap_err();
    let message = error.to_string();
    assert!(error.remedy().is_some());
    let after_path = message.find(", line ").map_or(0, |at| at + 2);
    (message[after_path..].to_owned(), error.kind())
}

fn ids(questions: &[Question]) -> Vec<&str> {
    questions.iter().map(|q| q.id.as_str()).collect()
}

#[test]
fn plain_and_gzip_read_the_same() {
    let text: String = (0..5).map(line).collect();
    let plain = read(text.as_bytes()).unwrap();
    let mut zipped = Vec::new();
    // Two gzip members, as `cat a.gz b.gz` makes them.
    for half in [&text.as_bytes()[..40], &text.as_bytes()[40..]] {
        let mut encoder = GzEncoder::new(&mut zipped, Compression::default());
        encoder.write_all(half).unwrap();
        encoder.finish().unwrap();
    }
    assert_eq!(read(&zipped).unwrap(), plain);
    assert_eq!(ids(&plain), ["q0", "q1", "q2", "q3", "q4"]);
    assert_eq!(plain[3].gold_passages(), ["d3"]);
}

#[test]
fn optional_parts_may_be_absent() {
    let questions = read(
        "\u{feff}{\"id\":\"a\",\"question\":\"Q?\",\"golden_answers\":[],\"extra\":1}\r\n\n  \n\
         {\"id\":\"b\",\"question\":\"问？\",\"golden_answers\":[\"答\"],\"metadata\":null}"
            .as_bytes(),
    )
    .unwrap();
    assert_eq!(ids(&questions), ["a", "b"]);
    assert_eq!(questions[0].gold_passages(), [""; 0]);
    assert_eq!(questions[1].golden_answers, ["答"]);
}

#[test]
fn broken_json_is_named_by_line() {
    let mut text: String = (0..16).map(line).collect();
    text.push_str("{\"id\": \"q16\", \"question\": oops}\n");
    text.push_str(&line(17));
    assert_eq!(
        complaint(text.as_bytes()),
        (
            "line 17, column 27: not a question: expected value".to_owned(),
            "not_a_question"
        )
    );
}

#[test]
fn missing_questions_are_named_and_empty_ones_left_to_fail_alone() {
    let (message, _) = complaint(b"{\"id\": \"a\", \"golden_answers\": []}\n");
    assert_eq!(
        message,
        "line 1, column 33: not a question: missing field `question`"
    );
    let questions = read(b"{\"id\": \"a\", \"question\": \" \", \"golden_answers\": []}\n");
    assert_eq!(questions.unwrap()[0].question, " ");
    let (message, _) = complaint(b"{\"id\": \"a\", \"question\": \"Q\", \"golden_answers\": 7}\n");
    assert!(message.contains("expected a list of strings"), "{message}");
}

#[test]
fn a_single_golden_answer_may_stand_without_a_list() {
    let questions =
        read(b"{\"id\": \"a\", \"question\": \"Q\", \"golden_answers\": \"x\"}\n").unwrap();
    assert_eq!(questions[0].golden_answers, ["x"]);
}

#[test]
fn invalid_utf8_is_named_by_line_and_byte() {
    let mut bytes = line(0).into_bytes();
    bytes.extend(b"{\"id\": \"\xff\"}\n");
    assert_eq!(
        complaint(&bytes),
        (
            "line 2: not valid UTF-8 (byte 9 of the line)".to_owned(),
            "questions_not_utf8"
        )
    );
}

#[test]
fn duplicate_ids_name_both_lines() {
    let text = [line(0), line(1), line(0)].concat();
    assert_eq!(
        complaint(text.as_bytes()),
        (
            "line 3: the id \"q0\" is already that of line 1".to_owned(),
            "duplicate_question_id"
        )
    );
}

#[test]
fn empty_absent_and_truncated_files_are_errors() {
    assert_eq!(complaint(b"\n\n").1, "no_questions");
    let error = read_questions(Path::new("no/such/questions.jsonl")).unwrap_err();
    assert_eq!(error.kind(), "questions_unreadable");
    assert!(error.to_string().contains("no/such/questions.jsonl"));
    assert_eq!(
        error.remedy().unwrap().to_string(),
        "check the path of the question file"
    );

    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all((0..50).map(line).collect::<String>().as_bytes())
        .unwrap();
    let zipped = encoder.finish().unwrap();
    assert_eq!(
        complaint(&zipped[..zipped.len() / 2]).1,
        "questions_unreadable"
    );
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(
        read_questions(folder.path()).unwrap_err().kind(),
        "questions_unreadable"
    );
}

#[test]
fn a_sample_is_fixed_by_its_seed() {
    let questions: Vec<Question> = read((0..100).map(line).collect::<String>().as_bytes()).unwrap();
    let drawn = sample(questions.clone(), 6, 7);
    // Recorded once: a change would silently give every published run different questions.
    assert_eq!(ids(&drawn), ["q2", "q28", "q38", "q47", "q59", "q90"]);
    assert_ne!(ids(&sample(questions.clone(), 6, 8)), ids(&drawn));
    assert_eq!(sample(questions.clone(), 100, 7), questions);
    assert_eq!(sample(questions.clone(), usize::MAX, 7), questions);
}

proptest! {
    #[test]
    fn samples_are_ordered_distinct_and_nested(
        n in 1_usize..60, small in 0_usize..70, more in 0_usize..20, seed: u64,
    ) {
        let questions = read((0..n).map(line).collect::<String>().as_bytes()).unwrap();
        let position = |q: &Question| questions.iter().position(|other| other == q).unwrap();
        let drawn = sample(questions.clone(), small, seed);
        prop_assert_eq!(drawn.len(), small.min(n));
        let positions: Vec<usize> = drawn.iter().map(position).collect();
        prop_assert!(positions.is_sorted_by(|a, b| a < b));
        let larger = sample(questions.clone(), small + more, seed);
        prop_assert!(drawn.iter().all(|q| larger.contains(q)));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes: Vec<u8>) {
        let _ = read(&bytes);
    }
}

#[test]
fn every_question_is_drawn_about_equally_often() {
    let questions = read((0..10).map(line).collect::<String>().as_bytes()).unwrap();
    let mut counts = [0_usize; 10];
    for seed in 0..2000 {
        for question in sample(questions.clone(), 3, seed) {
            counts[questions.iter().position(|q| *q == question).unwrap()] += 1;
        }
    }
    // 600 expected of each; the standard deviation is 20.5.
    holds!("{counts:?}" => counts.iter().all(|&c| (500..700).contains(&c)));
}

#[test]
fn golden_answers_name_one_of_the_choices() {
    let choice = |golden: &[&str], choices: usize| {
        let choices: Vec<String> = (0..choices).map(|at| format!("bird {at}")).collect();
        let question = serde_json::json!({"id": "c", "question": "Which?",
            "golden_answers": golden, "choices": choices});
        question.to_string().into_bytes()
    };
    for golden in [&["B"][..], &["bird 2"], &[], &["a fish", "C"]] {
        assert_eq!(read(&choice(golden, 3)).unwrap()[0].choices.len(), 3);
    }
    let (message, kind) = complaint(&choice(&["a fish"], 3));
    assert_eq!(kind, "no_right_choice");
    holds!("{message}" => message.starts_with("line 1: ") && message.contains("\"c\""));
    // A letter that no choice has.
    assert_eq!(complaint(&choice(&["Q"], 3)).1, "no_right_choice");
    assert_eq!(complaint(&choice(&["B"], 27)).1, "too_many_choices");
    assert_eq!(read(&choice(&["Z"], 26)).unwrap().len(), 1);
}
