//! Evidence that is weighed before it is used, on the test models: by a signal of it, by a gate trained on records,
//! and what is refused.

use ken_testing::{has, says};
use serde_json::json;

use crate::documents::with_notes;
use crate::harness::{Ken, keys, number, refuses, words};
use crate::records::{invent, probe};

const ASK: &str = "ask 'What is the capital of France?' --corpus island";

/// Records of questions whose evidence helps if it fits well, and harms if it fits badly: in the form in which `ken
/// probe` wrote one, with other words, numbers and labels.
fn write_records(ken: &Ken, name: &str) {
    let question = json!({"id": "q", "question": "Who is the keeper of the Orrin lighthouse?",
        "golden_answers": ["Ilse Marrow"], "metadata": {"kind": "island"}});
    ken.write("questions.jsonl", question.to_string());
    probe(ken, "questions.jsonl", "probed.jsonl");
    invent(ken, "probed.jsonl", name, 80, |at, record| {
        let fits = at % 2 == 0;
        record["question"] = json!(format!("Who kept lighthouse number {at}?"));
        let shift = (at % 7) as f64 / 100.0;
        record["rating"]["cosine"] = json!(if fits { 0.8 - shift } else { 0.3 + shift });
        record["greedy"]["self"]["correct"] = json!(!fits);
        record["greedy"]["corpus"]["correct"] = json!(fits);
    });
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn evidence_that_is_refused_leaves_the_answer_from_memory() {
    let ken = with_notes();
    let ask = |more: &[&str]| ken.json(&[&words(ASK)[..], more].concat());
    let never = ask(&["--policy", "never"]);
    let refused = ask(&["--policy", "evidence:cosine@0.99"]);
    has!(refused, ["route"]: "self", ["answer"]: never["answer"]);
    let reason = refused["reason"].as_str().unwrap();
    assert!(reason.contains("so the evidence is dropped"), "{reason}");
    assert!(refused["timing_ms"]["rate"].is_number(), "{refused}");
    let used = ask(&["--policy", "evidence:cosine@-1"]);
    has!(used, ["route"]: "corpus", ["answer"]: ask(&["--policy", "always"])["answer"]);
    // A question that is not searched for needs no weighing.
    let spared = ask(&["--policy", "uncertainty:perplexity@1e9+evidence:cosine@0.5"]);
    assert_eq!(spared["calls"], never["calls"]);
    let both = ask(&["--policy", "uncertainty:perplexity@0+evidence:gain@1e9"]);
    has!(both, ["route"]: "self", ["answer"]: never["answer"]);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_gate_is_trained_calibrated_and_used() {
    let ken = with_notes();
    write_records(&ken, "known.jsonl");
    let train = words("train gate known.jsonl --corpus island --out gate.json");
    for features in ["evidence", "answers"] {
        let trained = ken.json(&[&train[..], &["--features", features]].concat());
        assert_eq!(keys(&trained), ["gate", "report", "seeds"]);
        assert_eq!(trained["seeds"], json!({}));
        let report = &trained["report"];
        assert_eq!(number(&report["auroc"]), 1.0, "{report}");
        assert_eq!(number(&report["em"]), 1.0, "{report}");
        assert!(number(&report["vs_always"]) > 0.2, "{report}");
    }
    let written = ken.read("gate.json");
    let several = [&train[..], &["--seeds", "3"]].concat();
    let auroc = &ken.json(&several)["seeds"]["auroc"];
    assert_eq!(
        (number(&auroc["mean"]), number(&auroc["deviation"])),
        (1.0, 0.0)
    );
    assert_eq!(auroc["each"].as_array().unwrap().len(), 3);
    assert_eq!(
        ken.read("gate.json"),
        written,
        "the first seed's is written"
    );
    let text = ken.text(&several);
    assert!(text.contains("over all seeds"), "{text}");
    let gate = ["--gate", "gate.json"];
    let answer = ken.json(&[&words(ASK)[..], &["--policy", "evidence:gate"], &gate].concat());
    let reason = answer["reason"].as_str().unwrap();
    assert!(reason.contains("the gate predicts"), "{reason}");

    let calibrate = ["calibrate", "known.jsonl", "--policy"];
    let both = ken.json(&[&calibrate[..], &["uncertainty:perplexity+evidence:cosine"]].concat());
    assert_eq!(number(&both["accuracy"]), 1.0, "{both}");
    assert_eq!(number(&both["evidence_ratio"]), 0.5, "{both}");
    let text = ken.text(&[&calibrate[..], &["evidence:gate"], &gate].concat());
    says!(text => "ken ask --policy evidence:gate", "--gate gate.json");

    let missing = [&words(ASK)[..], &["--policy", "evidence:gate"]].concat();
    refuses!(ken, &missing => "no_gate", "evidence:gate", "ken train gate");
    let records = ken.read("known.jsonl").replace("\"rating\":", "\"rated\":");
    ken.write("old.jsonl", records);
    let old = words("train gate old.jsonl --corpus island --out other.json");
    refuses!(ken, &old => "no_labels", "has a label", "ken probe");
    assert!(!ken.path("other.json").exists());
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_report_is_broken_down_by_a_field_that_there_is() {
    let ken = with_notes();
    write_records(&ken, "known.jsonl");
    let eval = words("eval questions.jsonl --corpus island --max-tokens 4 --out");
    let by = ["--by", "kind"];
    let one = ken.json(&[&eval[..], &["one.jsonl", "--policy", "always"], &by].concat());
    has!(one["by"][0], ["value"]: "island", ["em"]: one["em"]);
    let policies = ["several", "--policy", "always,evidence:cosine"];
    let several = ken.json(&[&eval[..], &policies, &by].concat());
    assert_eq!(several["by"]["groups"][0]["value"], "island");
    let unknown = [
        &eval[..],
        &["no.jsonl", "--policy", "never", "--by", "rank"],
    ]
    .concat();
    ken.refusal(&unknown).is("no_field", "rank", "kind");
    let few = [&eval[..], &["few", "--policy", "evidence:gate,always"]].concat();
    ken.refusal(&few).is("too_few_labels", "gate", "ken probe");
}
