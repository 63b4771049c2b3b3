//! `ken train` of language models, `--adapter`, the policy `kbm` and `ken export`, on a small model of
//! an invented world: that what is learned is answered, exported, and refused where it does not fit.

use serde_json::{Value, json};

use crate::harness::{Ken, keys, number};

const MODEL: [&str; 2] = ["--model", "./blank"];
const SMALL: [&str; 8] = [
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
fn prepared() -> Ken {
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

    let export = ["export", "model", "--adapter", "tuned", "--out", "merged"];
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
}

#[test]
fn noise_is_taught_and_its_lessons_go_to_other_tools() {
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
    assert!(number(&report["examples"]) > 30.0, "{report}");

    let export = ["export", "training-data", "noise-tolerant"];
    let of = |format: &str, out: &str| {
        let to = ["--format", format, "--out", out];
        let exported = ken.json(&[&export[..], &questions, &found, &to].concat());
        number(&exported["lessons"]) as usize
    };
    let lessons = of("trl", "lessons.jsonl");
    let read = ken.read("lessons.jsonl");
    assert_eq!(read.lines().count(), lessons);
    let first: Value = serde_json::from_str(read.lines().next().unwrap()).unwrap();
    assert_eq!(keys(&first), ["prompt", "completion"]);
    assert_eq!(of("axolotl", "segments.jsonl"), lessons);
    assert_eq!(of("llama-factory", "data"), lessons);
    let list: Value = serde_json::from_str(&ken.read("data/dataset_info.json")).unwrap();
    let file = list["ken"]["file_name"].as_str().unwrap();
    let set: Value = serde_json::from_str(&ken.read(&format!("data/{file}"))).unwrap();
    assert_eq!(set.as_array().unwrap().len(), lessons);

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

/// Records of a few probed questions, of which every other one is told to be known.
fn write_records(ken: &Ken) {
    let probe = [
        "probe",
        "island/questions.jsonl",
        "--limit",
        "40",
        "--samples",
        "2",
    ];
    let out = ["--max-tokens", "2", "--out", "probed.jsonl"];
    ken.text(&[&probe[..], &out, &MODEL].concat());
    let probed = ken.read("probed.jsonl");
    let known = probed.lines().enumerate().map(|(at, line)| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        if record.get("question").is_some() {
            record["confidence"]["self"] = json!(if at % 2 == 0 { 0.75 } else { 0.0 });
        }
        record.to_string()
    });
    ken.write("known.jsonl", known.collect::<Vec<_>>().join("\n") + "\n");
}

#[test]
fn a_boundary_is_learned_and_the_policy_kbm_goes_by_it() {
    let ken = prepared();
    write_records(&ken);
    let train = [
        "train",
        "kbm",
        "known.jsonl",
        "--out",
        "kbm",
        "--epochs",
        "1",
    ];
    let report = ken.json(&[&train[..], &MODEL, &SMALL].concat());
    assert_eq!(report["purpose"], "kbm", "{report}");
    let ask = [
        "ask",
        "Who?",
        "--corpus",
        "island.ken",
        "--mode",
        "lexical",
        "--max-tokens",
        "4",
    ];
    let by = |policy: &'static str| ["--policy", policy, "--kbm", "kbm"];
    let never = ken.json(&[&ask[..], &MODEL, &by("kbm@1")].concat());
    assert_eq!(never["route"], "self", "{never}");
    assert!(never["timing_ms"]["assess mastery"].is_number(), "{never}");
    let always = ken.json(&[&ask[..], &MODEL, &by("kbm:certainty@-1+double")].concat());
    assert!(always["calls"]["retriever"] == 1, "{always}");

    let tolerant = [
        "train",
        "noise-tolerant",
        "island/questions.jsonl",
        "--records",
        "known.jsonl",
        "--corpus",
        "island.ken",
        "--limit",
        "40",
        "--mode",
        "lexical",
        "--out",
        "tolerant",
    ];
    let taught = ken.json(&[&tolerant[..], &MODEL, &SMALL].concat());
    let of = |kind: &str| number(&taught["lessons"][kind]);
    assert!((5.0..=20.0).contains(&of("from_memory")), "{taught}");
    assert!(of("with_noise") <= of("from_memory"), "{taught}");

    let calibrate = [
        "calibrate",
        "known.jsonl",
        "--policy",
        "kbm",
        "--kbm",
        "kbm",
    ];
    ken.refusal(&[&calibrate[..], &MODEL].concat()).is(
        "nothing_to_compare",
        "with and without evidence",
        "ken probe",
    );

    let missing = [&ask[..], &MODEL, &["--policy", "kbm@0.5"]].concat();
    ken.refusal(&missing).is("no_assessor", "kbm", "--kbm DIR");
    let medium = [
        "world", "model", "island", "--size", "medium", "--out", "medium",
    ];
    ken.json(&medium);
    let other = ["--model", "./medium", "--kbm-model", "./blank"];
    ken.refusal(&[&ask[..], &other, &by("kbm@0.5")].concat())
        .is("other_assessor", "another model", "ken train kbm");
    let one = [
        "train",
        "kbm",
        "known.jsonl",
        "--out",
        "none",
        "--threshold",
        "0",
    ];
    ken.refusal(&[&one[..], &MODEL].concat())
        .is("one_class", "one side", "--threshold");
    assert!(!ken.path("none").exists());
    // A confidence between 0 and 1 teaches both verdicts, each with its probability.
    let labels = |more: &[&'static str], out: &'static str| {
        let train = ["train", "kbm", "known.jsonl", "--out", out];
        let report = ken.json(&[&train[..], more, &MODEL, &SMALL].concat());
        report["examples"].clone()
    };
    assert_ne!(
        labels(&["--soft"], "soft"),
        labels(&["--threshold", "0.6"], "hard")
    );
}

/// Labels of which source helps, `labels.jsonl`. A model that knows nothing prefers by chance: what it is
/// to prefer is set, one source after the other.
fn write_source_labels(ken: &Ken, corpora: &[&str], preferred: &[&str]) {
    let mut label = vec![
        "label",
        "sources",
        "island/questions.jsonl",
        "--limit",
        "40",
        "--mode",
        "lexical",
        "--contexts",
        "2",
        "--out",
        "labels.jsonl",
    ];
    label.extend(corpora.iter().flat_map(|corpus| ["--corpus", corpus]));
    label.extend(MODEL);
    ken.text(&label);
    let labels = ken.read("labels.jsonl");
    let set = labels.lines().enumerate().map(|(at, line)| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        if !record["preferred"].is_null() && record.get("question").is_some() {
            let source = preferred[at % preferred.len()];
            record["preferred"] = json!({"majority": source, "sum": source});
        }
        record.to_string()
    });
    ken.write("labels.jsonl", set.collect::<Vec<_>>().join("\n") + "\n");
}

#[test]
fn of_two_corpora_the_one_is_searched_that_was_chosen() {
    let ken = prepared();
    ken.write(
        "tower.jsonl",
        "{\"id\": \"tower\", \"contents\": \"The tower is kept by a Quunx, who asked for it.\"}",
    );
    ken.json(&["ingest", "tower.jsonl", "--corpus", "tower.ken"]);
    write_source_labels(
        &ken,
        &["island.ken", "tower.ken"],
        &["self", "island", "tower"],
    );
    let train = ["train", "self-route", "labels.jsonl", "--out", "routing"];
    let all = ["--held-out", "0", "--soft"];
    ken.json(&[&train[..], &all, &MODEL, &SMALL].concat());
    let origin: Value = serde_json::from_str(&ken.read("routing/ken.json")).unwrap();
    let corpora = origin["sources"]["corpora"].as_array().unwrap();
    let named: Vec<&str> = corpora
        .iter()
        .map(|corpus| corpus["name"].as_str().unwrap())
        .collect();
    assert_eq!(named, ["island", "tower"], "{origin}");
    let trained = [&MODEL[..], &["--adapter", "routing"]].concat();
    let make = ["datastore", "make", "labels.jsonl", "--out", "routes"];
    ken.json(&[&make[..], &trained].concat());

    // The votes of all neighbours go to one corpus, and then to the other.
    for (chosen, document) in [("tower", "tower"), ("island", "p")] {
        let entries = ken.text(&["datastore", "export", "routes"]);
        let all = entries.lines().map(|line| {
            let mut entry: Value = serde_json::from_str(line).unwrap();
            entry["source"] = json!(chosen);
            entry.to_string()
        });
        ken.write("entries.jsonl", all.collect::<Vec<_>>().join("\n"));
        let import = ["datastore", "import", "routes", "entries.jsonl"];
        ken.json(&[&import[..], &trained].concat());
        let ask = [
            "ask",
            "Who asked for the tower?",
            "--corpus",
            "island.ken",
            "--source",
            "tower=tower.ken",
            "--mode",
            "dense",
            "--policy",
            "self-route@0",
            "--datastore",
            "routes",
            "--max-tokens",
            "4",
        ];
        let answer = ken.json(&[&ask[..], &trained].concat());
        assert_eq!(answer["route"], "corpus", "{answer}");
        let first = answer["retrieved"][0]["passage_id"].as_str().unwrap();
        assert!(first.starts_with(document), "{chosen}: {answer}");
        assert_eq!(first.starts_with("tower"), chosen == "tower", "{answer}");
    }
}

#[test]
fn a_model_chooses_its_source_and_people_correct_it() {
    let ken = prepared();
    write_source_labels(&ken, &["island.ken"], &["self", "island"]);

    let export = [
        "export",
        "training-data",
        "self-route",
        "labels.jsonl",
        "--held-out",
        "0",
    ];
    let to = ["--format", "trl", "--out", "lessons.jsonl"];
    ken.json(&[&export[..], &to, &MODEL].concat());
    let lessons = ken.read("lessons.jsonl");
    let first: Value = serde_json::from_str(lessons.lines().next().unwrap()).unwrap();
    assert!(
        first["prompt"].as_str().unwrap().ends_with("\n<EOQ>"),
        "{first}"
    );
    let completion = first["completion"].as_str().unwrap();
    assert!(
        completion.starts_with("<self>") && completion.ends_with("<EOK>"),
        "{first}"
    );
    let to = [
        "--preferences",
        "--format",
        "llama-factory",
        "--out",
        "pairs",
    ];
    ken.json(&[&export[..], &to, &MODEL].concat());
    let pairs: Value = serde_json::from_str(&ken.read("pairs/ken.json")).unwrap();
    assert_eq!(
        keys(&pairs[0]),
        ["instruction", "chosen", "rejected"],
        "{pairs}"
    );

    let train = [
        "train",
        "self-route",
        "labels.jsonl",
        "--out",
        "routing",
        "--epochs",
        "2",
    ];
    let report = ken.json(&[&train[..], &["--held-out", "0"], &MODEL, &SMALL].concat());
    assert_eq!(report["purpose"], "self-route", "{report}");
    let origin: Value = serde_json::from_str(&ken.read("routing/ken.json")).unwrap();
    assert_eq!(
        origin["sources"]["corpora"][0]["name"], "island",
        "{origin}"
    );
    let trained = [&MODEL[..], &["--adapter", "routing"]].concat();

    let make = [
        "datastore",
        "make",
        "labels.jsonl",
        "--out",
        "routes",
        "--layer",
        "auto",
    ];
    let made = ken.json(&[&make[..], &trained].concat());
    let entries = number(&made["made"]["entries"]);
    assert!(
        entries > 10.0 && made["made"]["tried"].as_array().unwrap().len() > 1,
        "{made}"
    );

    let ask = |policy: &'static str| -> Value {
        let ask = ["ask", "Who?", "--corpus", "island.ken", "--mode", "lexical"];
        let by = [
            "--max-tokens",
            "4",
            "--datastore",
            "routes",
            "--policy",
            policy,
        ];
        ken.json(&[&ask[..], &by, &trained].concat())
    };
    let own = ask("self-route@1");
    assert_eq!(own["route"], "self", "{own}");
    assert!(own["verbalized"]["text"].is_string(), "{own}");
    assert!(own["timing_ms"]["choose source"].is_number(), "{own}");
    assert_eq!(ask("self-route@-1")["route"], "corpus");

    // All entries are told to be of one source: the corpus has no share any more.
    let exported = ken.text(&["datastore", "export", "routes"]);
    let all = exported.replace("\"source\":\"island\"", "\"source\":\"self\"");
    ken.write(
        "entries.jsonl",
        all + "{\"question\": \"Who?\", \"source\": \"self\"}\n",
    );
    let import = ["datastore", "import", "routes", "entries.jsonl"];
    let changed = ken.json(&[&import[..], &trained].concat());
    assert_eq!(
        (number(&changed["added"]), number(&changed["entries"])),
        (1.0, entries + 1.0)
    );
    assert!(number(&changed["edited"]) > 3.0, "{changed}");
    assert_eq!(ask("self-route@0")["route"], "self");
    let listed = ken.text(&["datastore", "list", "routes", "--source", "self", "--json"]);
    assert_eq!(listed.lines().count() as f64, entries + 1.0);
    let first: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    let id = first["id"].as_str().unwrap();
    let edited = ken.json(&["datastore", "edit", "routes", id, "--source", "island"]);
    assert_eq!(edited["edited"], 1);
    let removed = ken.json(&["datastore", "remove", "routes", id]);
    assert_eq!(number(&removed["entries"]), entries);
    let add = [
        "datastore",
        "add",
        "routes",
        "Where?",
        "--source",
        "island",
        "--id",
        "mine",
    ];
    assert_eq!(ken.json(&[&add[..], &trained].concat())["added"], 1);

    ken.refusal(&[&add[..], &trained].concat())
        .is("same_id", "mine", "ken datastore edit");
    ken.refusal(&["datastore", "edit", "routes", "mine", "--source", "web"])
        .is("no_such_source", "web", "");
    ken.refusal(&["datastore", "remove", "routes", "nobody"])
        .is("no_such_entry", "nobody", "ken datastore list");
    ken.refusal(&[&add[..4], &["--source", "self"], &MODEL].concat())
        .is("other_datastore", "another model", "ken datastore make");
    let plain = [
        "ask",
        "Who?",
        "--corpus",
        "island.ken",
        "--policy",
        "self-route",
    ];
    ken.refusal(&[&plain[..], &MODEL].concat()).is(
        "does_not_choose",
        "not trained to choose",
        "ken train self-route",
    );
    ken.refusal(&[&train[..3], &["--out", "again"], &trained].concat())
        .is("other_model", "another model", "ken label sources");
}
