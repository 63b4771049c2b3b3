//! `ken ask`: the answer, its citations and its trace.

use ken_testing::{has, holds, says};
use serde_json::Value;

use crate::documents::with_notes;
use crate::harness::{Ken, items, keys, number, objects, refusal_in, texts, words};

const QUESTION: &str = "Who is the keeper of the Orrin lighthouse?";

/// Checks what holds for every answer.
fn check_answer(answer: &Value, question: &str, policy: &str) {
    let always = words(
        "question answer style policy route reason citations retrieved calls tokens \
         timing_ms",
    );
    // The score, if one was measured.
    let measured = keys(answer).into_iter().filter(|key| *key != "score");
    assert!(measured.eq(always), "{answer}");
    let measures = !["always", "never"].contains(&policy);
    assert_eq!(answer["score"].is_f64(), measures);
    has!(answer, ["question"]: question, ["policy"]: policy);
    assert!(answer["answer"].is_string());
    // The test model is too small for another style.
    assert_eq!(answer["style"], "short");
    assert_ne!(answer["reason"], "");
    assert_eq!(keys(&answer["tokens"]), ["prompt", "completion"]);
    assert!(answer["tokens"]["prompt"].as_u64().unwrap() > 20);
    assert!(answer["tokens"]["completion"].as_u64().unwrap() <= 64);

    let retrieved = items(&answer["retrieved"]);
    let read = retrieved
        .iter()
        .filter(|passage| passage["in_prompt"] == true);
    let read: Vec<&Value> = read.collect();
    for passage in retrieved {
        assert_eq!(
            keys(passage),
            words("passage_id doc_id title text score in_prompt")
        );
    }
    for citation in answer["citations"].as_array().unwrap() {
        assert_eq!(
            keys(citation),
            ["number", "passage_id", "doc_id", "title", "text"]
        );
        let place = citation["number"].as_u64().unwrap() as usize - 1;
        for field in ["passage_id", "doc_id", "title", "text"] {
            assert_eq!(citation[field], read[place][field]);
        }
    }

    let mut stages = vec!["read", "total", "write"];
    match answer["route"].as_str().unwrap() {
        "corpus" => {
            assert_eq!(retrieved.len(), 3);
            stages.extend(["embed", "search"]);
        }
        "self" => assert!(retrieved.is_empty()),
        other => panic!("{other}"),
    }
    if policy == "prompt" {
        stages.push("judge");
    }
    stages.sort_unstable();
    let timing = &answer["timing_ms"];
    assert_eq!(keys(timing), stages);
    let total = number(&timing["total"]);
    let parts = stages.iter().filter(|stage| **stage != "total");
    let sum: f64 = parts.map(|stage| number(&timing[*stage])).sum();
    assert!(sum > 0.0 && sum <= total, "{timing}");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn always_answers_from_the_corpus() {
    let ken = with_notes();
    let ask = ["ask", "--corpus", "island", "--policy", "always", QUESTION];
    let answer = ken.json(&ask);
    check_answer(&answer, QUESTION, "always");
    has!(answer, ["route"]: "corpus", ["retrieved"][0]["passage_id"]: "harbour.txt#0");
    let said = answer["answer"].as_str().unwrap();
    assert!(said.contains("Ilse Marrow"), "{said}");
    has!(answer["citations"][0], ["passage_id"]: "harbour.txt#0", ["number"]: 1);

    let text = ken.text(&ask);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(format!("{said} [1]").as_str()));
    assert_eq!(lines.next(), Some("  [1] harbour.txt#0  harbour"));
    says!(text =>
        "route: corpus (always: the policy always retrieves)", "passages: 3 found, 3 read\n",
        "   [1] ", "tokens: ", "time: ", "total ");

    let nothing = ken.text(&[&ask[..], &["--filter", "year=1", "--max-tokens", "1"]].concat());
    assert!(nothing.contains("passages: 0 found, 0 read\n"), "{nothing}");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_full_answer_is_written_in_conversation_from_the_same_passages() {
    let ken = with_notes();
    let ask = ["ask", "--corpus", "island", "--max-tokens", "40", QUESTION];
    let short = ken.json(&ask);
    let full = ken.json(&[&ask[..], &["--style", "full"]].concat());
    has!(full, ["style"]: "full", ["route"]: short["route"],
        ["retrieved"]: short["retrieved"]);
    let text = full["answer"].as_str().unwrap();
    holds!("{text}" => text.len() > short["answer"].as_str().unwrap().len());
    let chars: Vec<char> = text.chars().collect();
    for citation in full["citations"].as_array().unwrap() {
        for place in citation["places"].as_array().into_iter().flatten() {
            let [start, end] = ["start", "end"].map(|at| place[at].as_u64().unwrap() as usize);
            let digits: String = chars[start..end].iter().collect();
            assert_eq!(digits, citation["number"].to_string());
        }
    }
    assert!(full["tokens"]["completion"].as_u64().unwrap() <= 40);

    ken.write("ken.toml", "style = \"full\"\n");
    let shown = ken.text(&ask);
    assert!(shown.starts_with(text), "{shown}");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn never_needs_no_corpus() {
    let ken = Ken::new();
    let question = "What is the capital of France?";
    let answer = ken.json(&["ask", "--policy", "never", question]);
    check_answer(&answer, question, "never");
    assert_eq!(answer["route"], "self");
    assert!(answer["citations"].as_array().unwrap().is_empty());
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn prompt_asks_the_model_and_says_so() {
    let ken = with_notes();
    let arguments = ["ask", "--corpus", "island", "--policy", "prompt", QUESTION];
    let answer = ken.json(&arguments);
    check_answer(&answer, QUESTION, "prompt");
    let reason = answer["reason"].as_str().unwrap();
    assert!(reason.contains("need "), "{reason}");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_question_that_names_a_file_is_answered_from_that_file() {
    let ken = with_notes();
    let ask = words("ask --corpus island 'What does Harbour.TXT say of seals?'");
    let answer = ken.json(&ask);
    has!(answer, ["named_documents"][0]: "harbour.txt", ["route"]: "corpus");
    assert_eq!(texts(&answer["retrieved"], "doc_id"), ["harbour.txt"]);
    let text = ken.text(&ask);
    holds!("{text}" => text.contains("searched only, as the question names it: harbour.txt"));
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn the_corpus_tells_its_documents() {
    let ken = with_notes();
    let answer = ken.json(&["ask", "--corpus", "island", "What documents do you have?"]);
    has!(answer["calls"], ["model"]: 0, ["retriever"]: 0);
    let list = answer["answer"].as_str().unwrap();
    says!(list => "The corpus lists 5 documents:", "\n- harbour.txt", "\n- museum-1 (Clock museum)");
}

/// Writers of questions or documents cannot write the model's own markup.
#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn markup_in_questions_and_passages_is_ordinary_text() {
    let ken = Ken::new();
    let record = r#"{"id": "n", "title": "<|im_end|>", "text": "The oven is warm.<|im_end|>"}"#;
    ken.write("n.jsonl", record);
    ken.text(&["ingest", "n.jsonl", "--corpus", "n"]);
    ken.write("m.jsonl", record.replace("<|im_end|>", "."));
    ken.text(&["ingest", "m.jsonl", "--corpus", "m"]);
    let tokens = |arguments: &[&str]| {
        let answer = ken.json(&[&["ask"], arguments].concat());
        answer["tokens"]["prompt"].as_u64().unwrap()
    };
    let never = ["--policy", "never"];
    let plain = tokens(&[&never[..], &["Is it warm?"]].concat());
    let marked = tokens(&[&never[..], &["Is it warm?<|im_end|>"]].concat());
    assert!(marked > plain + 3, "{marked} after {plain}");

    let plain = tokens(&["--corpus", "m", "Is it warm?"]);
    let marked = tokens(&["--corpus", "n", "Is it warm?"]);
    assert!(marked > plain + 6, "{marked} after {plain}");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn passages_that_do_not_fit_are_cut_and_named() {
    let ken = with_notes();
    ken.write("ken.toml", "evidence_tokens = 60\n");
    let answer = ken.json(&["ask", "--corpus", "island", QUESTION]);
    check_answer(&answer, QUESTION, "always");
    let passages = answer["retrieved"].as_array().unwrap();
    let read = passages.iter().filter(|p| p["in_prompt"] == true).count();
    assert!(read >= 1 && read < passages.len(), "{passages:?}");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn neighbors_of_what_was_found_are_read_where_there_is_room() {
    let ken = Ken::new();
    let sentences = [
        "The mill stands by the weir.",
        "Its wheel turns from April to October.",
        "The lighthouse is painted every nine years.",
        "The paint is red and white, in six bands.",
        "The bakery opens at five.",
    ];
    ken.write("island.md", sentences.join(" "));
    ken.text(&words("ingest island.md --corpus c --segment sentence"));
    let read = |k: &str, more: &[&str]| -> Vec<String> {
        let question = "How often is the lighthouse painted?";
        let ask = ["ask", "--corpus", "c", "--k", k, question];
        let answer = ken.json(&[&ask[..], more].concat());
        let passages = answer["retrieved"].as_array().unwrap();
        assert!(passages.iter().all(|passage| passage["in_prompt"] == true));
        // What was found has a score, and its neighbors have none.
        let scored = passages
            .iter()
            .filter(|passage| passage["score"].is_number());
        let most: usize = k.parse().unwrap();
        assert!((1..=most).contains(&scored.count()), "{passages:?}");
        let ids = texts(&answer["retrieved"], "passage_id").into_iter();
        ids.map(|id| id.replace("island.md#", "")).collect()
    };
    assert_eq!(read("1", &[]), ["2"]);
    assert_eq!(read("1", &["--neighbors", "1"]), ["1", "2", "3"]);
    assert_eq!(read("1", &["--neighbors", "9"]), ["0", "1", "2", "3", "4"]);
    // The following passages come first if not all fit, and found ones are not read twice.
    let tight = ["--neighbors", "9", "--evidence-tokens", "40"];
    assert_eq!(read("1", &tight), ["2", "3"]);
    let mut all = read("2", &["--neighbors", "1"]);
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), read("2", &["--neighbors", "1"]).len());
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn questions_on_stdin_are_answered_line_by_line_whatever_fails() {
    let ken = with_notes();
    let other = "How long is the rope bridge over the Lenn?";
    let long = "why ".repeat(25_000);
    let output = ken.text_of_input(
        &["ask", "-", "--corpus", "island", "--json"],
        &format!("{QUESTION}\n\n{long}\n{other}\n"),
    );
    let lines = objects(&output);
    assert_eq!(lines.len(), 3, "{output}");
    check_answer(&lines[0], QUESTION, "always");
    refusal_in(&lines[1]).is("question_too_long", "tokens", "shorten");
    check_answer(&lines[2], other, "always");
    assert_eq!(lines[2]["retrieved"][0]["passage_id"], "bridge-1#0");
}
