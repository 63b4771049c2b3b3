//! `ken tune` chooses a policy, confirms it and writes it into `ken.toml`, where `ken ask` finds it; and what it
//! refuses.

use ken_testing::{cases, has, holds, says};
use serde_json::{Value, json};

use crate::documents::with_notes;
use crate::harness::{Ken, keys, number, refuses, words};
use crate::model_server::{Manner, start};

/// Questions about the island, in different words; `from` keeps those of files apart.
fn questions(from: usize, n: usize, answer: Option<&str>) -> String {
    let asked = (from..from + n).map(|number| {
        let golden: Vec<&str> = answer.into_iter().collect();
        json!({
            "id": format!("q{number}"),
            "question": format!("Visitor {number} asks: who is the keeper of the Orrin lighthouse?"),
            "golden_answers": golden,
        })
    });
    let lines: Vec<String> = asked.map(|one| one.to_string()).collect();
    lines.join("\n")
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_policy_is_chosen_confirmed_written_and_used() {
    let ken = with_notes();
    ken.write("questions.jsonl", questions(0, 30, Some("Ilse Marrow")));
    ken.write("others.jsonl", questions(30, 3, Some("Ilse Marrow")));
    ken.write("ken.toml", "# mine\nk = 1 # few\nmax_tokens = 8\n");
    let tune = words("tune questions.jsonl --confirm others.jsonl --write --corpus island");
    let found = ken.json(&tune);
    assert_eq!(
        keys(&found),
        words(
            "n left_out_questions style labels max_loss better stakes policies \
             left_out chosen verdict why more_accurate guarantee confirmed written"
        )
    );
    has!(found, ["n"]: 30, ["style"]: "short");
    let tried = found["policies"].as_array().unwrap().iter();
    let tried: Vec<&Value> = tried.map(|row| &row["tried"]).collect();
    let expected = words("never always prompt uncertainty:sequence-probability evidence:doubt");
    assert_eq!(tried.len(), expected.len());
    for (tried, expected) in tried.iter().zip(expected) {
        assert!(tried.as_str().unwrap().starts_with(expected), "{tried}");
    }
    // This model does not know the island, and reads about it.
    has!(found, ["better"]: "always", ["chosen"]: "always", ["verdict"]: "nothing_at_stake");
    assert!(number(&found["policies"][1]["accuracy"]) > 0.8, "{found}");
    has!(found["confirmed"], ["n"]: 3, ["chosen"]["policy"]: "always");
    assert_eq!(
        ken.read("ken.toml"),
        "tuned = \"tuned.toml\"\npolicy = \"always\"\n# mine\nk = 1 # few\nmax_tokens = 8\n"
    );
    let asked = "Who is the keeper of the Orrin lighthouse?";
    let ask = ["ask", asked, "--corpus", "island"];
    assert_eq!(ken.json(&ask)["policy"], "always");
    // No threshold of it was chosen, so it is a policy like any other.
    ken.json(&[&ask[..], &["--k", "2"]].concat());
    // No question is answered again, and the report is the same.
    let text = ken.text(&tune);
    says!(text =>
        "30 questions, answered in style short; an answer is right if it is a golden answer",
        "against always", "Nothing is at stake: never 0.000", "always retrieve",
        "confirmed on 3 other questions",
        "It was measured with --corpus island: give `ken ask` and `ken serve` the same",
        "ken.toml says: policy = \"always\"");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn full_answers_take_golden_answers_and_are_searched_for_them() {
    let ken = with_notes();
    ken.write("unlabeled.jsonl", questions(0, 30, None));
    let full = words("--corpus island --style full --max-tokens 24");
    let tune = |file: &'static str| [&["tune", file][..], &full].concat();
    refuses!(ken, &tune("unlabeled.jsonl") =>
        "unlabeled_full_answers", "no question has golden answers", "--style short");
    ken.write("questions.jsonl", questions(0, 30, Some("Marrow")));
    let found = ken.json(&tune("questions.jsonl"));
    assert_eq!(found["style"], "full");
    assert!(number(&found["policies"][1]["accuracy"]) > 0.8, "{found}");
    assert_eq!(found["guarantee"], Value::Null);
    let kept = ken.read("questions.tune/always.jsonl");
    assert!(kept.contains("\"full\":true"), "{kept}");
}

/// Writes answers to this many questions after the pattern of the first one kept: of those from memory half are
/// right, and sure; all with evidence are right; none took a known time.
fn know_half(ken: &Ken, file: &str, n: usize) {
    let kept = ken.read(file);
    let mut lines: Vec<String> = kept.lines().take(1).map(str::to_owned).collect();
    let pattern: Value = serde_json::from_str(kept.lines().nth(1).unwrap()).unwrap();
    for (number, asked) in questions(0, n, None).lines().enumerate() {
        let asked: Value = serde_json::from_str(asked).unwrap();
        let is_right = file.contains("always") || number % 2 == 0;
        let mut record = pattern.clone();
        for name in ["id", "question"] {
            record[name] = asked[name].clone();
        }
        record["em"] = json!(is_right);
        record["greedy"]["logprob"] = json!(if is_right { -0.1 } else { -9.0 });
        record["timing_ms"] = json!({});
        lines.push(record.to_string());
    }
    ken.write(file, lines.join("\n") + "\n");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_policy_that_pays_is_written_with_its_guarantee() {
    let ken = with_notes();
    ken.write("few.jsonl", questions(0, 30, Some("Ilse Marrow")));
    ken.write("questions.jsonl", questions(0, 200, Some("Ilse Marrow")));
    ken.write("ken.toml", "corpus = \"island\"\nk = 1\nmax_tokens = 8\n");
    ken.json(&["tune", "few.jsonl", "--out", "questions.tune"]);
    for arm in ["never", "always"] {
        know_half(&ken, &format!("questions.tune/{arm}.jsonl"), 200);
    }
    std::fs::remove_file(ken.path("questions.tune/signals.jsonl")).unwrap();
    let found = ken.json(&["tune", "questions.jsonl", "--write"]);
    assert_eq!(found["verdict"], "pays", "{found}");
    let policy = found["chosen"].as_str().unwrap();
    // Answers that were cut off have no probability as a whole, so either may be the one that decides.
    let (signal, threshold) = policy.split_once('@').unwrap();
    let telling = ["uncertainty:sequence-probability", "evidence:doubt"];
    assert!(telling.contains(&signal), "{policy}");
    assert!(threshold.parse::<f64>().unwrap().is_finite(), "{policy}");
    let guarantee: Value = serde_json::from_str(&ken.read("tuned.guarantee.json")).unwrap();
    has!(guarantee, ["policy"]: policy, ["max_loss"]: 0.05);
    has!(guarantee, ["calibrated_on"]["records"]: "questions.jsonl");
    let settings = ken.read("ken.toml");
    for line in [
        format!("policy = \"{policy}\""),
        "calibration = \"tuned.guarantee.json\"".to_owned(),
        "corpus = \"island\"".to_owned(),
    ] {
        holds!("{line}\n{settings}" => settings.lines().any(|one| one == line));
    }
    let asked = ken.json(&["ask", "Who is the keeper of the Orrin lighthouse?"]);
    assert_eq!(asked["policy"], policy);
    let text = ken.text(&["tune", "questions.jsonl"]);
    says!(text =>
        "the cheapest that is shown to lose at most 0.05 against always",
        "Guarantee: on new questions like these",
        &format!("use it with --policy {policy}, or tune with --write"));
    let ask = ["ask", "Who is the keeper of the Orrin lighthouse?"];
    for (flags, told) in cases![
        ["--k", "2"] => "was tuned with k 1, and here is k 2";
        ["--style", "full"] => "with style short, and here is style full";
        ["--neighbors", "1"] => "with no neighbors, and here is neighbors 1";
    ] {
        let other = ken.refusal(&[&ask[..], &flags].concat());
        other.is("tuned_otherwise", told, "ken tune QUESTIONS --write");
    }
    // Another policy was not tuned, and a different way of computing is not another answer.
    for flags in [
        &["--k", "2", "--policy", "documents"][..],
        &["--precision", "f32"],
    ] {
        ken.json(&[&ask[..], flags].concat());
    }
    let eval = ["eval", "few.jsonl", "--limit", "3"];
    assert_eq!(ken.json(&eval)["n"], 3);
    refuses!(ken, &[&eval[..], &["--k", "2"]].concat() =>
        "tuned_otherwise", "was tuned with k 1", "--policy");
    let full = [&eval[..], &["--style", "full", "--out", "full.jsonl"]].concat();
    refuses!(ken, &full =>
        "tuned_otherwise", "with style short, and here is style full", "--policy");
    // As if it were tuned by full answers.
    let tuned = ken.read("tuned.toml");
    let tuned_in_full = |prompts: &str| {
        let in_full = "style = \"full\"\nfull_tokens = \"8\"\nmemory = \"mark\"\nprompt = ";
        let in_full = format!("{in_full}\"{prompts}\"");
        ken.write("tuned.toml", tuned.replace("style = \"short\"", &in_full));
    };
    tuned_in_full("other");
    refuses!(ken, &full => "tuned_otherwise", "with prompt other, and here is prompt ", "--policy");
    tuned_in_full(&ken_answer::prompt::full_fingerprint());
    assert_eq!(ken.json(&full)["style"], "full");
    refuses!(ken, &eval =>
        "tuned_otherwise", "with style full, and here is style short", "--policy");
    ken.write("tuned.toml", "policy = 1");
    refuses!(ken, &ask => "not_tuned", "tuned.toml does not say", "tune again");
    std::fs::remove_file(ken.path("tuned.toml")).unwrap();
    refuses!(ken, &ask => "not_tuned", "tuned.toml does not say", "tune again");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_a_model_server_does_not_tell_is_left_out() {
    let ken = with_notes();
    ken.write("questions.jsonl", questions(0, 30, Some("Ilse Marrow")));
    let server = start(Manner::LlamaServer);
    let there = ["--model", &server.url, "--model-name", "smollm2"];
    let tune = words("tune questions.jsonl --corpus island --style short");
    let found = ken.json(&[&tune[..], &["--max-tokens", "8"], &there].concat());
    let why = "the model does not score given words";
    assert_eq!(found["left_out"], json!([{"policy": "prompt", "why": why}]));
    assert_eq!(found["policies"].as_array().unwrap().len(), 4, "{found}");
}

#[test]
fn what_tells_nothing_is_refused_before_a_model_is_opened() {
    let ken = Ken::new();
    ken.write("few.jsonl", questions(0, 12, Some("Ilse Marrow")));
    let tune = |more: &[&'static str]| ken.refusal(&[&["tune"], more].concat());
    tune(&["few.jsonl", "--corpus", "island"]).is(
        "too_few_questions",
        "a policy cannot be chosen on 12 questions",
        "give 30 or more; about 200",
    );
    ken.write("questions.jsonl", questions(0, 40, Some("Ilse Marrow")));
    tune(&["questions.jsonl"]).is("corpus_not_named", "no corpus is named", "--corpus");
    ken.write("others.jsonl", questions(38, 4, Some("Ilse Marrow")));
    tune(&words(
        "questions.jsonl --corpus island --confirm others.jsonl",
    ))
    .is(
        "shared_questions",
        "2 of 4 questions",
        "confirm on other questions",
    );
    ken.write("ken.toml", "abstain = \"certainty@0.5\"\n");
    tune(&["questions.jsonl", "--corpus", "island"]).is(
        "abstain_tuned",
        "withheld by --abstain",
        "leave --abstain out",
    );
}
