//! `ken train` of language models, `--adapter`, the policy `kbm` and exports, on a small model of an invented world:
//! what is learned is answered, exported, and refused where it does not fit.

use ken_testing::{has, holds};
use serde_json::{Value, json};

use crate::harness::{Ken, keys, number, refuses, words};
use crate::records::change;

pub(crate) const MODEL: [&str; 2] = ["--model", "./blank"];
pub(crate) const SMALL: &str = "--rank 4 --batch 4 --validation 0.2 --learning-rate 0.02";

/// A world, its corpus, and a model that knows nothing of it yet.
pub(crate) fn prepared() -> Ken {
    let ken = Ken::new();
    let make = words("world make island --sequences 96 --seed 2");
    let people = ["--people", "24", "--unseen", "4", "--strangers", "4"];
    ken.json(&[&make[..], &people].concat());
    ken.json(&["ingest", "island/corpus.jsonl", "--corpus", "island.ken"]);
    let blank = words("world model island --size small --out blank");
    ken.json(&blank);
    ken
}

/// The log probability of " yes" after "Question:".
fn score(ken: &Ken, model: &str) -> f64 {
    let pair = words("--prompt Question: --continuation ' yes'");
    number(&ken.json(&[&["model", "score", model][..], &pair].concat())["logprobs"][0])
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
    let train = words("train examples examples.jsonl --out tuned --epochs 10");
    let report = ken.json(&[&train[..], &MODEL, &words(SMALL)].concat());
    has!(report, ["outcome"]: "finished", ["examples"]: 13, ["steps"]: 40);
    holds!("{report}" => number(&report["last_loss"]) < number(&report["first_loss"]) - 1.0);
    let history = ken.read("tuned/history.jsonl");
    assert_eq!(history.lines().count(), 40 + 10);
    assert!(!ken.path("tuned/training.safetensors").exists());
    let settings: Value = serde_json::from_str(&ken.read("tuned/adapter_config.json")).unwrap();
    has!(settings, ["peft_type"]: "LORA", ["r"]: 4);

    let export = ["model", "export", "--adapter", "tuned", "--out", "merged"];
    ken.json(&[&export[..], &MODEL].concat());
    assert!(score(&ken, "./merged") > score(&ken, "./blank") + 0.3);
    let ask = ["ask", "Who?", "--policy", "never", "--max-tokens", "4"];
    let merged = ken.json(&[&ask[..], &["--model", "./merged"]].concat());
    let adapted = ken.json(&[&ask[..], &MODEL, &["--adapter", "tuned"]].concat());
    assert_eq!(merged["answer"], adapted["answer"]);

    let again = ken.refusal(&[&train[..], &MODEL, &words(SMALL)].concat());
    again.is("out_not_empty", "tuned", "--overwrite");
    let other = words("world model island --size medium --out medium");
    ken.json(&other);
    let wrong = ken.refusal(&[&ask[..], &["--model", "./medium", "--adapter", "tuned"]].concat());
    wrong.is("other_base", "tuned", "ken train");
    ken.write("broken.jsonl", "{\"prompt\": 1}\n");
    let broken = ["train", "examples", "broken.jsonl", "--out", "nothing"];
    refuses!(ken, &[&broken[..], &MODEL].concat() => "not_an_example", "line 1", "completion");

    let full = words("train examples examples.jsonl --out whole --full --batch 4");
    ken.json(&[&full[..], &MODEL, &["--learning-rate", "0.002"]].concat());
    assert!(score(&ken, "./whole") > score(&ken, "./blank"));

    // An adapter is trained on a model only, and nothing is left of what was in its folder.
    let overwrite = words("train examples examples.jsonl --overwrite --out");
    let above = [&overwrite[..], &["above", "--adapter", "tuned"], &MODEL].concat();
    refuses!(ken, &above => "adapter_on_adapter", "tuned", "ken model export --adapter tuned");
    ken.refusal(&[&overwrite[..], &["whole", "--model", "./whole"]].concat())
        .is("out_is_source", "whole", "--out");
    let merged = ["--model", "./merged"];
    ken.json(&[&overwrite[..], &["whole"], &merged, &words(SMALL)].concat());
    assert!(!ken.path("whole/config.json").exists());
    assert!(!ken.path("whole/model.safetensors").exists());
    ken.json(&[&ask[..], &merged, &["--adapter", "whole"]].concat());
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn noise_is_taught_and_its_examples_go_to_other_tools() {
    let ken = prepared();
    let questions = words("island/questions.jsonl --corpus island.ken --limit 30");
    let found = ["--k", "2", "--mode", "lexical", "--held-out", "0.3"];
    let train = words("train noise-tolerant --out tolerant --epochs 1");
    let tuned = [&train[..], &questions, &found, &MODEL, &words(SMALL)].concat();
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

    // Passages are reranked as they are when questions are answered.
    let written = |rerank: &str| {
        let few = words("island/questions.jsonl --limit 2 --mode lexical");
        let by = ["--rerank", rerank, "--rerank-chunk", "words:8/2"];
        let to = ["--corpus", "island.ken", "--export", "trl", "--out"];
        ken.json(&[&export[..], &few, &by, &to, &["few.jsonl"]].concat());
        ken.read("few.jsonl").len()
    };
    assert!(written("embedder") < written("none"));

    let eval = words("eval island/questions.jsonl --held-out 0.3 --limit 6");
    let by = words("--policy never --adapter tolerant --max-tokens 4");
    assert_eq!(ken.json(&[&eval[..], &by, &MODEL].concat())["n"], 6);
}

/// Records of some probed questions, every other one of which counts as known.
pub(crate) fn write_records(ken: &Ken, limit: &str, name: &str) {
    let probe = words("probe island/questions.jsonl --samples 2 --limit");
    let out = ["--max-tokens", "2", "--out", "as_probed.jsonl"];
    ken.text(&[&probe[..], &[limit], &out, &MODEL].concat());
    change(ken, "as_probed.jsonl", name, |at, record| {
        record["confidence"]["self"] = json!(if at % 2 == 0 { 0.75 } else { 0.0 });
        record["certainty"]["self"] = json!(if at % 2 == 0 { 0.9 } else { 0.1 });
        record["greedy"]["self"]["correct"] = json!(at % 2 == 0);
    });
}

const SEARCHED: [&str; 4] = ["--corpus", "island.ken", "--mode", "lexical"];
const ASK: [&str; 4] = ["ask", "Who?", "--max-tokens", "4"];

/// The arguments of `ken ask` with evidence, under a policy of an assessor.
fn ask<'a>(policy: &'a str, kbm: &'a str) -> Vec<&'a str> {
    let by = ["--policy", policy, "--kbm", kbm];
    [&ASK[..], &SEARCHED, &by].concat()
}

/// Records in `known.jsonl`.
fn recorded() -> Ken {
    let ken = prepared();
    write_records(&ken, "40", "known.jsonl");
    ken
}

const TRAIN: &str = "train kbm known.jsonl --out kbm --epochs 1";

/// An assessor of answers from memory in `kbm`, and the report of its training.
fn assessed() -> (Ken, Value) {
    let ken = recorded();
    let report = ken.json(&[&words(TRAIN)[..], &MODEL, &words(SMALL)].concat());
    (ken, report)
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_boundary_is_learned_and_the_policy_kbm_goes_by_it() {
    let (ken, report) = assessed();
    has!(report, ["purpose"]: "kbm", ["without_evidence"]: 0);
    let never = ken.json(&[&ask("kbm@1", "kbm")[..], &MODEL].concat());
    assert_eq!(never["route"], "self", "{never}");
    assert!(never["timing_ms"]["assess mastery"].is_number(), "{never}");
    let twice = [&ask("kbm:certainty@0+double", "kbm")[..], &MODEL].concat();
    ken.refusal(&twice).is(
        "assessor_without_evidence",
        "`kbm:certainty@0+double` asks",
        "ken train kbm RECORDS --out DIR",
    );
    let calibrate = words("calibrate known.jsonl --policy kbm --kbm kbm");
    refuses!(ken, &[&calibrate[..], &MODEL].concat() =>
        "nothing_to_compare", "with and without evidence", "ken probe");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_assessor_is_asked_about_the_model_that_it_knows() {
    let (ken, _) = assessed();
    let missing = [&ASK[..], &SEARCHED, &MODEL, &["--policy", "kbm@0.5"]].concat();
    ken.refusal(&missing).is("no_assessor", "kbm", "--kbm DIR");
    let medium = words("world model island --size medium --out medium");
    ken.json(&medium);
    let other = ["--model", "./medium", "--kbm-model", "./blank"];
    ken.refusal(&[&ask("kbm@0.5", "kbm")[..], &other].concat())
        .is("other_assessor", "another model", "--kbm-for-any-model");
    let any = [&ask("kbm@1", "kbm")[..], &other, &["--kbm-for-any-model"]].concat();
    assert_eq!(ken.json(&any)["route"], "self");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_assessor_that_was_taught_evidence_judges_it() {
    let (ken, _) = assessed();
    let probe = words(
        "probe island/questions.jsonl --corpus island.ken --mode lexical --limit 12 \
         --samples 2 --max-tokens 2 --out read.jsonl",
    );
    ken.text(&[&probe[..], &MODEL].concat());
    change(&ken, "read.jsonl", "read.jsonl", |at, record| {
        for condition in ["self", "corpus"] {
            record["confidence"][condition] = json!(at % 2);
            record["certainty"][condition] = json!(at % 2);
        }
    });
    let train = words("train kbm read.jsonl --out reads --epochs 1 --held-out 0.5");
    let reads = ken.json(&[&train[..], &SEARCHED, &MODEL, &words(SMALL)].concat());
    holds!("{reads}" => number(&reads["by_kind"]["assessor_with_evidence"]) > 0.0);
    let twice = ask("kbm:certainty@0+double", "reads");
    let always = ken.json(&[&twice[..], &MODEL].concat());
    assert!(always["calls"]["retriever"] == 1, "{always}");

    // Its threshold is chosen by both judgments, on questions that it was not trained on, with the evidence they were
    // probed with.
    let calibrate = ["calibrate", "read.jsonl", "--policy", "kbm+double"];
    let calibrate = |kbm: &'static str, more: &[&'static str]| {
        [&calibrate[..], &["--kbm", kbm], more, &MODEL].concat()
    };
    let chosen = ken.json(&calibrate("reads", &SEARCHED));
    assert_eq!(chosen["policy"], "kbm+double");
    let [questions, left_out] = ["n", "left_out"].map(|count| number(&chosen[count]));
    assert!(questions >= 1.0 && questions + left_out == 12.0, "{chosen}");
    let [used, searched] =
        ["evidence_ratio", "retrieval_ratio"].map(|ratio| number(&chosen[ratio]));
    assert!(used <= searched, "{chosen}");
    let vouching = [&SEARCHED[..], &["--abstain", "kbm", "--max-error", "0.99"]].concat();
    let one = ["calibrate", "read.jsonl", "--policy", "kbm"];
    let vouched = ken.json(&[&one[..], &["--kbm", "reads"], &vouching, &MODEL].concat());
    assert_eq!(number(&vouched["n"]) + number(&vouched["left_out"]), 12.0);
    refuses!(ken, &calibrate("reads", &[]) => "corpus_not_named", "corpus", "--corpus");
    refuses!(ken, &calibrate("kbm", &SEARCHED) =>
        "assessor_without_evidence", "asks", "ken train kbm RECORDS --out DIR");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_is_known_is_not_learned_from_the_records_of_others() {
    let ken = recorded();
    ken.refusal(&[&words(TRAIN)[..], &SEARCHED, &MODEL, &words(SMALL)].concat())
        .is("no_evidence", "was probed with evidence", "ken probe");
    let tolerant = words(
        "train noise-tolerant island/questions.jsonl --records known.jsonl --corpus \
         island.ken --limit 40 --mode lexical --out tolerant",
    );
    let taught = ken.json(&[&tolerant[..], &MODEL, &words(SMALL)].concat());
    let of = |kind: &str| number(&taught["by_kind"][kind]);
    assert!((5.0..=20.0).contains(&of("from_memory")), "{taught}");
    assert!(of("with_noise") <= of("from_memory"), "{taught}");
    let records = ken.read("known.jsonl");
    let of_others = tolerant.iter().map(|part| match *part {
        "known.jsonl" => "others.jsonl",
        part => part,
    });
    let of_others: Vec<&str> = of_others.chain(MODEL).collect();
    ken.write(
        "others.jsonl",
        records.replace("\"question\":\"", "\"question\":\"And "),
    );
    refuses!(ken, &of_others => "other_question", "another question", "ken probe");
    ken.write(
        "others.jsonl",
        records.replace("\"model\":\"", "\"model\":\"x"),
    );
    refuses!(ken, &of_others => "other_model", "another model", "--model");
    let of_prompts = records.replace("\"prompt\":\"", "\"prompt\":\"x");
    ken.write("others.jsonl", of_prompts);
    refuses!(ken, &of_others => "other_prompts", "prompts", "ken probe");
    let boundary = ["train", "kbm", "others.jsonl", "--out", "others"];
    refuses!(ken, &[&boundary[..], &MODEL].concat() => "other_prompts", "prompts", "ken probe");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_question_whose_evidence_is_not_found_again_is_taught_from_memory() {
    let (ken, report) = assessed();
    let records = ken.read("known.jsonl");
    let lost = records.replace("\"evidence\":[]", "\"evidence\":[\"nowhere#0\"]");
    ken.write("lost.jsonl", lost);
    let lost = ["train", "kbm", "lost.jsonl", "--out", "lost"];
    let lost = ken.json(&[&lost[..], &SEARCHED, &MODEL, &words(SMALL)].concat());
    assert!(number(&lost["without_evidence"]) > 10.0, "{lost}");
    assert_eq!(lost["examples"], report["examples"], "{lost}");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn labels_are_hard_or_soft() {
    let ken = recorded();
    let one = words("train kbm known.jsonl --out none --threshold 0");
    refuses!(ken, &[&one[..], &MODEL].concat() => "one_class", "same label", "--threshold");
    assert!(!ken.path("none").exists());
    // A confidence between 0 and 1 teaches both verdicts, each with its probability.
    let labels = |more: &[&'static str], out: &'static str| {
        let train = ["train", "kbm", "known.jsonl", "--out", out];
        let report = ken.json(&[&train[..], more, &MODEL, &words(SMALL)].concat());
        report["examples"].clone()
    };
    assert_ne!(
        labels(&["--soft"], "soft"),
        labels(&["--threshold", "0.6"], "hard")
    );
}
