//! `--abstain`: ask and eval withhold answers, and calibrate chooses thresholds for it; and questions with choices.

use ken_testing::{has, says};
use serde_json::{Value, json};

use crate::documents::with_notes;
use crate::harness::{Ken, items, number, refuses, words};
use crate::records::{invent_told_apart, probe};

const QUESTION: &str = "Who is the keeper of the Orrin lighthouse?";

/// Perplexities are never below 1, so that nothing vouches for anything.
const NOTHING: &str = "uncertainty:perplexity@0.5";

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_answer_that_nothing_vouches_for_is_withheld() {
    let ken = with_notes();
    let ask = |more: &[&'static str]| {
        let base = ["ask", QUESTION, "--corpus", "island", "--max-tokens", "8"];
        [&base[..], more].concat()
    };
    let given = ken.json(&ask(&["--abstain", "uncertainty:perplexity@1e9"]));
    assert!(given.get("withheld").is_none(), "{given}");
    let withheld = ken.json(&ask(&["--abstain", NOTHING]));
    has!(withheld, ["withheld"]: given["answer"], ["answer"]: "I do not know.");
    has!(withheld, ["citations"]: json!([]));
    let reason = withheld["reason"].as_str().unwrap();
    assert!(reason.ends_with("so it is withheld"), "{reason}");
    // An answer that the policy itself chose from memory stands.
    let own = ["--policy", "uncertainty:perplexity@1e9"];
    let stands = ask(&[own, ["--abstain", NOTHING]].concat());
    assert!(ken.json(&stands).get("withheld").is_none());
    let text = ken.text(&ask(&["--abstain", NOTHING]));
    says!(text => "I do not know.", "withheld: ");

    ken.refusal(&ask(&["--abstain", "evidence:confidence"])).is(
        "abstains_without_threshold",
        "abstaining by `evidence:confidence` needs a threshold",
        "ken calibrate RECORDS --policy SIGNAL --abstain evidence:confidence --max-error",
    );
}

fn write_questions(ken: &Ken) {
    let questions = [
        json!({"id": "q1", "question": QUESTION, "golden_answers": ["Ilse Marrow"],
               "metadata": {"kind": "plain"}}),
        json!({"id": "q2", "question": "Which metal is liquid in a warm room?",
               "golden_answers": ["B"], "choices": ["tin", "mercury"], "metadata": {"kind": "choices"}}),
        json!({"id": "q3", "question": "Who was born nowhere at all?", "golden_answers": ["Nobody X"],
               "metadata": {"kind": "nowhere"}}),
    ];
    ken.write_lines("questions.jsonl", questions);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_is_withheld_is_told_apart() {
    let ken = with_notes();
    write_questions(&ken);
    let base = words("eval questions.jsonl --corpus island --max-tokens 8");
    let eval = |more: &[&'static str]| [&base[..], more].concat();
    let one = ken.json(&eval(&["--policy", "always", "--abstain", NOTHING]));
    assert_eq!((number(&one["answered"]), number(&one["em"])), (0.0, 0.0));
    assert!(one["answered_wrong"].is_null() && one["right_abstentions"].is_number());

    let several = words("--policy never,always,uncertainty:perplexity@1e9 --by kind");
    let all = [&several[..], &["--abstain", NOTHING, "--out", "all"]].concat();
    let compared = ken.json(&eval(&all));
    assert_eq!(compared["abstain"], NOTHING);
    let answered = |at: usize| number(&compared["policies"][at]["answered"]);
    assert_eq!([answered(0), answered(1), answered(2)], [0.0, 0.0, 1.0]);
    let mut groups = items(&compared["by"]["groups"]).iter();
    let nowhere = groups.find(|group| group["value"] == "nowhere").unwrap();
    assert_eq!(number(&nowhere["policies"][1]["right_abstentions"]), 1.0);
    let text = ken.text(&eval(&all));
    assert!(text.contains("wrong among answered"), "{text}");
    assert!(ken.read("all/report.html").contains("Abstaining by"));
    ken.refusal(&eval(&words("--policy never,always --abstain certainty")))
        .is("abstains_without_threshold", "certainty", "--max-error");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn thresholds_are_chosen_together_or_nothing_is_promised() {
    let ken = with_notes();
    write_questions(&ken);
    probe(&ken, "questions.jsonl", "probed.jsonl");
    invent_told_apart(&ken);
    let base = words("calibrate known.jsonl --policy uncertainty:perplexity");
    for abstain in ["evidence:confidence", "uncertainty:perplexity"] {
        let chosen = [&base[..], &["--abstain", abstain, "--max-error", "0.1"]].concat();
        let found = ken.json(&chosen);
        has!(found, ["is_kept"]: true, ["left_out"]: 0);
        let answered = number(&found["answered"]);
        assert!((0.6..0.75).contains(&answered), "{found}");
        assert!(number(&found["answered_wrong"]["bound"]) <= 0.1, "{found}");
        let text = ken.text(&chosen);
        says!(text => &format!("--abstain {abstain}@"));
        says!(text => "to use it: ken ask --policy uncertainty:perplexity@");
    }
    let strict = words("--abstain certainty --samples 2 --max-error 0.001");
    let nothing = ken.json(&[base.clone(), strict].concat());
    has!(nothing, ["is_kept"]: false, ["answered"]: Value::Null);
    let evidence = "--policy evidence:cosine --abstain evidence:gain --max-error 0.1";
    refuses!(ken, &words(&format!("calibrate known.jsonl {evidence}")) =>
        "abstaining_policy", "one signal of the question", "uncertainty:perplexity");
    let spread = ["--abstain", "uncertainty:eigenscore", "--max-error", "0.1"];
    refuses!(ken, &[&base[..], &spread].concat() =>
        "not_with_evidence", "eigenscore", "evidence:confidence");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn choices_are_asked_and_the_chosen_one_is_told() {
    let ken = with_notes();
    let ask = |choices: &[&'static str]| {
        let base = words("ask 'Which metal is liquid in a warm room?' --policy never");
        let choices: Vec<&str> = choices.iter().flat_map(|one| ["--choice", *one]).collect();
        [&base[..], &choices].concat()
    };
    let answer = ken.json(&ask(&["tin", "mercury"]));
    assert_eq!(answer["choices"], json!(["tin", "mercury"]));
    let open = ken.json(&ask(&[]));
    assert!(open.get("choices").is_none() && open.get("choice").is_none());
    assert!(number(&answer["tokens"]["prompt"]) != number(&open["tokens"]["prompt"]));
    ken.refusal(&["ask", "-", "--policy", "never", "--choice", "tin"])
        .is("choices_of_many", "one question", "ken eval");
    refuses!(ken, &ask(&["tin"]) => "one_choice", "one choice", "another --choice");
    refuses!(ken, &ask(&["x"; 27]) => "too_many_choices", "26", "leave out");
    let bad = json!({"id": "a", "question": "Which?", "golden_answers": ["lead"], "choices": ["tin", "gold"]});
    ken.write("bad.jsonl", bad.to_string());
    refuses!(ken, &["eval", "bad.jsonl", "--policy", "never"] =>
        "no_right_choice", "name none of its choices", "letter");
}
