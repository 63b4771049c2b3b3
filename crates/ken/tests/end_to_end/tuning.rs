//! `ken train` of language models, `--adapter`, the policy `kbm` and what is exported, on a small model of
//! an invented world: that what is learned is answered, exported, and refused where it does not fit.

use serde_json::{Value, json};

use crate::harness::{Ken, keys, number};
use crate::records::change;

pub(crate) const MODEL: [&str; 2] = ["--model", "./blank"];
pub(crate) const SMALL: [&str; 8] = [
    "--rank",
    "4",
    "--batch",
    "4",
    "--validation",
    "0.2",
    "--learning-rate",
    "0.02",
];

/// A world, its corpus, and a model that knows nothing of it yet.
pub(crate) fn prepared() -> Ken {
    let ken = Ken::new();
    let make = [
        "world",
        "make",
        "island",
        "--sequences",
        "96",
        "--seed",
        "2",
    ];
    let people = ["--people", "24", "--unseen", "4", "--strangers", "4"];
    ken.json(&[&make[..], &people].concat());
    ken.json(&["ingest", "island/corpus.jsonl", "--corpus", "island.ken"]);
    let blank = [
        "world", "model", "island", "--size", "small", "--out", "blank",
    ];
    ken.json(&blank);
    ken
}

/// The log probability of " yes" after "Question:".
fn score(ken: &Ken, model: &str) -> f64 {
    let score = [
        "model",
        "score",
        model,
        "--prompt",
        "Question:",
        "--continuation",
        " yes",
    ];
    number(&ken.json(&score)["logprobs"][0])
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn examples_are_learned_and_a_merged_model_answers_as_the_adapter() {
    let ken = prepared();
    let line = json!({"prompt": "Question:", "completion": " yes\n"}).to_string();
    let other = json!({"prompt": "Question:", "chosen": " yes", "rejected": " no"}).to_string();
    let lines = [
        [line.as_str(); 12].join("\n"),
        [other.as_str(); 4].join("\n"),
    ]
    .join("\n");
    ken.write("examples.jsonl", lines);
    let train = [
        "train",
        "examples",
        "examples.jsonl",
        "--out",
        "tuned",
        "--epochs",
        "10",
    ];
    let report = ken.json(&[&train[..], &MODEL, &SMALL].concat());
    assert_eq!(
        (&report["outcome"], &report["examples"], &report["steps"]),
        (&json!("finished"), &json!(13), &json!(40))
    );
    assert!(
        number(&report["last_loss"]) < number(&report["first_loss"]) - 1.0,
        "{report}"
    );
    let history = ken.read("tuned/history.jsonl");
    assert_eq!(history.lines().count(), 40 + 10);
    assert!(!ken.path("tuned/training.safetensors").exists());
    let settings: Value = serde_json::from_str(&ken.read("tuned/adapter_config.json")).unwrap();
    assert_eq!(
        (&settings["peft_type"], &settings["r"]),
        (&json!("LORA"), &json!(4))
    );

    let export = ["model", "export", "--adapter", "tuned", "--out", "merged"];
    ken.json(&[&export[..], &MODEL].concat());
    assert!(score(&ken, "./merged") > score(&ken, "./blank") + 0.3);
    let ask = ["ask", "Who?", "--policy", "never", "--max-tokens", "4"];
    let merged = ken.json(&[&ask[..], &["--model", "./merged"]].concat());
    let adapted = ken.json(&[&ask[..], &MODEL, &["--adapter", "tuned"]].concat());
    assert_eq!(merged["answer"], adapted["answer"]);

    let again = ken.refusal(&[&train[..], &MODEL, &SMALL].concat());
    again.is("out_not_empty", "tuned", "--overwrite");
    let other = [
        "world", "model", "island", "--size", "medium", "--out", "medium",
    ];
    ken.json(&other);
    let wrong = ken.refusal(&[&ask[..], &["--model", "./medium", "--adapter", "tuned"]].concat());
    wrong.is("other_base", "tuned", "ken train");
    ken.write("broken.jsonl", "{\"prompt\": 1}\n");
    let broken = ["train", "examples", "broken.jsonl", "--out", "nothing"];
    let broken = ken.refusal(&[&broken[..], &MODEL].concat());
    broken.is("not_an_example", "line 1", "completion");

    let full = [
        "train",
        "examples",
        "examples.jsonl",
        "--out",
        "whole",
        "--full",
        "--batch",
        "4",
    ];
    ken.json(&[&full[..], &MODEL, &["--learning-rate", "0.002"]].concat());
    assert!(score(&ken, "./whole") > score(&ken, "./blank"));

    // An adapter stands on a model alone, and of what lay in its folder nothing is left.
    let anew = [
        "train",
        "examples",
        "examples.jsonl",
        "--overwrite",
        "--out",
    ];
    let above = [&anew[..], &["above", "--adapter", "tuned"], &MODEL].concat();
    ken.refusal(&above).is(
        "adapter_on_adapter",
        "tuned",
        "ken model export --adapter tuned",
    );
    ken.refusal(&[&anew[..], &["whole", "--model", "./whole"]].concat())
        .is("out_is_source", "whole", "--out");
    let merged = ["--model", "./merged"];
    ken.json(&[&anew[..], &["whole"], &merged, &SMALL].concat());
    assert!(!ken.path("whole/config.json").exists());
    assert!(!ken.path("whole/model.safetensors").exists());
    ken.json(&[&ask[..], &merged, &["--adapter", "whole"]].concat());
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn noise_is_taught_and_its_examples_go_to_other_tools() {
    let ken = prepared();
    let questions = [
        "island/questions.jsonl",
        "--corpus",
        "island.ken",
        "--limit",
        "30",
    ];
    let found = ["--k", "2", "--mode", "lexical", "--held-out", "0.3"];
    let train = [
        "train",
        "noise-tolerant",
        "--out",
        "tolerant",
        "--epochs",
        "1",
    ];
    let tuned = [&train[..], &questions, &found, &MODEL, &SMALL].concat();
    let report = ken.json(&tuned);
    assert_eq!(report["purpose"], "noise-tolerant", "{report}");
    let kinds = ["from_memory", "with_evidence", "with_noise"];
    let each = kinds.map(|kind| number(&report["by_kind"][kind]));
    assert!(each.iter().all(|count| *count > 0.0), "{report}");
    assert_eq!(
        each.iter().sum::<f64>(),
        number(&report["examples"]),
        "{report}"
    );

    let export = ["train", "noise-tolerant"];
    let of = |format: &str, out: &str| {
        let to = ["--export", format, "--out", out];
        let exported = ken.json(&[&export[..], &questions, &found, &to].concat());
        number(&exported["examples"]) as usize
    };
    let training_examples = of("trl", "training_examples.jsonl");
    let read = ken.read("training_examples.jsonl");
    assert_eq!(read.lines().count(), training_examples);
    let first: Value = serde_json::from_str(read.lines().next().unwrap()).unwrap();
    assert_eq!(keys(&first), ["prompt", "completion"]);
    assert_eq!(of("axolotl", "segments.jsonl"), training_examples);
    assert_eq!(of("llama-factory", "data"), training_examples);
    let list: Value = serde_json::from_str(&ken.read("data/dataset_info.json")).unwrap();
    let file = list["ken"]["file_name"].as_str().unwrap();
    let set: Value = serde_json::from_str(&ken.read(&format!("data/{file}"))).unwrap();
    assert_eq!(set.as_array().unwrap().len(), training_examples);

    // Passages are reranked as they are where questions are answered.
    let written = |rerank: &str| {
        let few = [
            "island/questions.jsonl",
            "--limit",
            "2",
            "--mode",
            "lexical",
        ];
        let by = ["--rerank", rerank, "--rerank-chunk", "words:8/2"];
        let to = ["--corpus", "island.ken", "--export", "trl", "--out"];
        ken.json(&[&export[..], &few, &by, &to, &["few.jsonl"]].concat());
        ken.read("few.jsonl").len()
    };
    assert!(written("embedder") < written("none"));

    let eval = [
        "eval",
        "island/questions.jsonl",
        "--held-out",
        "0.3",
        "--limit",
        "6",
    ];
    let by = [
        "--policy",
        "never",
        "--adapter",
        "tolerant",
        "--max-tokens",
        "4",
    ];
    assert_eq!(ken.json(&[&eval[..], &by, &MODEL].concat())["n"], 6);
}

/// Records of some probed questions, of which every other one is told to be known.
pub(crate) fn write_records(ken: &Ken, limit: &str, name: &str) {
    let probe = [
        "probe",
        "island/questions.jsonl",
        "--limit",
        limit,
        "--samples",
        "2",
    ];
    let out = ["--max-tokens", "2", "--out", "as_probed.jsonl"];
    ken.text(&[&probe[..], &out, &MODEL].concat());
    change(ken, "as_probed.jsonl", name, |at, record| {
        record["confidence"]["self"] = json!(if at % 2 == 0 { 0.75 } else { 0.0 });
        record["certainty"]["self"] = json!(if at % 2 == 0 { 0.9 } else { 0.1 });
        record["greedy"]["self"]["correct"] = json!(at % 2 == 0);
    });
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_router_looks_at_what_a_boundary_model_says() {
    let ken = prepared();
    write_records(&ken, "160", "known.jsonl");
    let train = ["train", "kbm", "known.jsonl", "--held-out"];
    for (held_out, out) in [("0.7", "kbm"), ("0", "greedy")] {
        let train = [&train[..], &[held_out, "--out", out], &MODEL, &SMALL].concat();
        ken.json(&train);
    }
    let by = ["--features", "first-token-and-kbm", "--out", "router.json"];
    let train = [&["train", "router", "known.jsonl"][..], &by, &MODEL].concat();
    let twice = [&train[..], &["--kbm", "kbm", "--held-out", "0.7"]].concat();
    ken.refusal(&twice)
        .is("held_out_twice", "none is left", "larger --held-out");
    let report = &ken.json(&[&train[..], &["--kbm", "kbm"]].concat())["report"];
    assert_eq!(report["input"]["from"], "first_token_and_mastery");
    let counted = ["learned_from", "held_out", "left_out"].map(|field| number(&report[field]));
    assert_eq!(counted.iter().sum::<f64>(), 160.0, "{report}");
    assert!(counted[2] > 20.0, "taught questions are left out: {report}");
    let text = ken.read("router.json");
    let head: Value = serde_json::from_str(&text).unwrap();
    assert!(head["measured_on"]["assessor"].is_string(), "{text}");

    let ask = ["ask", "Who?", "--corpus", "island.ken", "--mode", "lexical"];
    let by = ["--router", "router.json", "--policy", "router@0.5"];
    let ask = [&ask[..], &by, &["--max-tokens", "4"], &MODEL].concat();
    let answer = ken.json(&[&ask[..], &["--kbm", "kbm"]].concat());
    assert!(answer["timing_ms"]["represent"].is_number(), "{answer}");
    assert!(number(&answer["calls"]["model"]) >= 3.0, "{answer}");
    let calibrate = ["calibrate", "known.jsonl", "--policy", "router"];
    let calibrate = [&calibrate[..], &by[..2], &["--kbm", "kbm"], &MODEL].concat();
    ken.refusal(&calibrate).is(
        "nothing_to_compare",
        "with and without evidence",
        "ken probe",
    );

    ken.refusal(&ask).is("no_assessor", "kbm", "--kbm DIR");
    ken.refusal(&[&ask[..], &["--kbm", "greedy"]].concat()).is(
        "other_router",
        "kbm",
        "ken train router",
    );
    ken.refusal(&train).is("no_assessor", "kbm", "--kbm DIR");
    ken.refusal(&[&train[..], &["--kbm", "greedy"]].concat())
        .is("no_labels", "taught all", "--held-out 0.5");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_boundary_model_is_measured_for_another_generator() {
    let ken = prepared();
    write_records(&ken, "60", "known.jsonl");
    let train = ["train", "kbm", "known.jsonl", "--held-out", "0.5"];
    ken.json(&[&train[..], &["--out", "kbm"], &MODEL, &SMALL].concat());
    let medium = ["world", "model", "island", "--size", "medium"];
    ken.json(&[&medium[..], &["--out", "medium"]].concat());
    let kbm = ["--kbm", "kbm", "--kbm-model", "./blank"];
    let any = ["--kbm-for-any-model"];

    // A threshold for the other generator is chosen on what that one answers.
    let found = ["--corpus", "island.ken", "--mode", "lexical"];
    let generator = ["--model", "./medium", "--max-tokens", "2"];
    let probe = ["probe", "island/questions.jsonl", "--limit", "60"];
    let to = ["--samples", "1", "--out", "of_medium.jsonl"];
    ken.text(&[&probe[..], &to, &found, &generator].concat());
    change(&ken, "of_medium.jsonl", "other.jsonl", |at, record| {
        record["greedy"]["self"]["correct"] = json!(at % 2 == 0);
        record["greedy"]["corpus"]["correct"] = json!(at % 3 > 0);
    });
    let calibrate = ["calibrate", "other.jsonl", "--policy", "kbm"];
    let calibrate = [&calibrate[..], &["--ratio", "0.5"], &kbm].concat();
    ken.refusal(&calibrate)
        .is("other_assessor", "another model", "--kbm-for-any-model");
    let chosen = ken.json(&[&calibrate[..], &any].concat());
    let taught: Value = serde_json::from_str(&ken.read("kbm/ken.json")).unwrap();
    let taught = taught["learned_from"].as_array().unwrap().len();
    assert_eq!(number(&chosen["n"]), 60.0 - taught as f64, "{chosen}");
    assert!(number(&chosen["retrieval_ratio"]) <= 0.5, "{chosen}");

    // It stands among the other policies of that generator, and each verdict costs a call of its own.
    let eval = ["eval", "island/questions.jsonl", "--held-out", "0.5"];
    let by = ["--limit", "8", "--policy", "kbm,kbm@1,never,always"];
    let eval = [
        &eval[..],
        &by,
        &["--out", "compared"],
        &found,
        &generator,
        &kbm,
    ]
    .concat();
    ken.refusal(&eval)
        .is("other_assessor", "another model", "--kbm-for-any-model");
    let compared = ken.json(&[&eval[..], &any].concat());
    assert_eq!(compared["n"], 8, "{compared}");
    let policies = compared["policies"].as_array().unwrap();
    assert!(policies[0]["threshold"].is_array() || policies[0]["threshold"].is_number());
    assert_eq!(policies[0]["unscored"], 0, "{compared}");
    let calls = |at: usize| number(&policies[at]["model_calls"]["mean"]);
    assert_eq!(calls(1), calls(2) + 1.0, "{compared}");
}
