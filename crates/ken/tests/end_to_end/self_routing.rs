//! `ken train self-route`, `ken datastore` and the policy `self-route`, on a small model of an invented world: a
//! model chooses its source, also of several corpora, and people can correct it.

use ken_testing::{has, holds};
use serde_json::{Value, json};

use crate::harness::{Ken, keys, number, objects, refuses, texts, words};
use crate::records::change;
use crate::tuning::{MODEL, SMALL, prepared};

/// Labels of the source that helps a model, in `out`. A model that knows nothing prefers by chance, so its
/// preferences are set, one source after the other.
fn write_source_labels(
    ken: &Ken,
    model: &[&'static str],
    out: &'static str,
    corpora: &[&'static str],
    preferred: &[&str],
) {
    let mut label = words("label sources island/questions.jsonl --limit 40 --contexts 2");
    label.extend(["--mode", "lexical", "--out", out]);
    label.extend(corpora.iter().flat_map(|corpus| ["--corpus", corpus]));
    label.extend(model);
    ken.text(&label);
    change(ken, out, out, |at, record| {
        if !record["preferred"].is_null() {
            let source = preferred[at % preferred.len()];
            record["preferred"] = json!({"majority": source, "sum": source});
        }
    });
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn of_two_corpora_the_one_is_searched_that_was_chosen() {
    let ken = prepared();
    ken.write(
        "tower.jsonl",
        "{\"id\": \"tower\", \"contents\": \"The tower is kept by a Quunx, who asked for it.\"}",
    );
    ken.json(&["ingest", "tower.jsonl", "--corpus", "tower.ken"]);
    let (corpora, preferred) = (["island.ken", "tower.ken"], ["self", "island", "tower"]);
    write_source_labels(&ken, &MODEL, "labels.jsonl", &corpora, &preferred);
    let train = ["train", "self-route", "labels.jsonl", "--out", "routing"];
    let half = ["--held-out", "0.5", "--soft"];
    ken.json(&[&train[..], &half, &MODEL, &words(SMALL)].concat());
    let origin: Value = serde_json::from_str(&ken.read("routing/ken.json")).unwrap();
    let taught = &origin["sources"]["corpora"];
    assert_eq!(texts(taught, "name"), ["island", "tower"], "{origin}");
    let trained = [&MODEL[..], &["--adapter", "routing"]].concat();
    write_source_labels(&ken, &trained, "again.jsonl", &corpora, &preferred);
    let make = ["datastore", "make", "again.jsonl", "--out", "routes"];
    ken.json(&[&make[..], &["--held-out", "0"], &trained].concat());

    // The votes of all neighbors go to one corpus, and then to the other.
    for (chosen, document) in [("tower", "tower"), ("island", "p")] {
        let entries = ken.text(&["datastore", "export", "routes"]);
        let mut entries = objects(&entries);
        for entry in &mut entries {
            entry["source"] = json!(chosen);
        }
        ken.write_lines("entries.jsonl", entries);
        let import = ["datastore", "import", "routes", "entries.jsonl"];
        ken.json(&[&import[..], &trained].concat());
        let ask = words(
            "ask 'Who asked for the tower?' --corpus island.ken --corpus \
             tower=tower.ken --mode dense --policy self-route@0 --datastore routes \
             --max-tokens 4",
        );
        let answer = ken.json(&[&ask[..], &trained].concat());
        assert_eq!(answer["route"], "corpus", "{answer}");
        let first = answer["retrieved"][0]["passage_id"].as_str().unwrap();
        assert!(first.starts_with(document), "{chosen}: {answer}");
        assert_eq!(first.starts_with("tower"), chosen == "tower", "{answer}");
    }

    let eval = words(
        "eval island/questions.jsonl --limit 1 --corpus island.ken --corpus \
         tower=tower.ken --mode lexical --max-tokens 2 --out chosen.jsonl --policy",
    );
    ken.json(&[&eval[..], &["self-route"], &trained].concat());
    let chosen = ken.read("chosen.jsonl");
    let header: Value = serde_json::from_str(chosen.lines().next().unwrap()).unwrap();
    let tower = header["settings"]["source tower"].as_str().unwrap();
    assert!(tower.contains("fingerprint"), "{header}");
    ken.refusal(&[&eval[..], &["self-route,always"], &trained].concat())
        .is("sources_compared", "several corpora", "--corpus");
}

const TRAINED: [&str; 4] = [MODEL[0], MODEL[1], "--adapter", "routing"];
const TRAIN: &str = "train self-route labels.jsonl --out routing --epochs 2";
const ASK: &str = "ask Who? --corpus island.ken --mode lexical --max-tokens 4";
const MAKE: &str = "datastore make again.jsonl --out routes --layer auto --held-out 0";
const IMPORT: [&str; 4] = ["datastore", "import", "routes", "entries.jsonl"];

/// Labels of one corpus and the model itself, in turn.
fn label_island(ken: &Ken, model: &[&'static str], out: &'static str) {
    write_source_labels(ken, model, out, &["island.ken"], &["self", "island"]);
}

/// Labels of one corpus and the model itself in `labels.jsonl`.
fn labeled() -> Ken {
    let ken = prepared();
    label_island(&ken, &MODEL, "labels.jsonl");
    ken
}

/// A model that chooses its source in `routing`, and the report of its training.
fn routed() -> (Ken, Value) {
    let ken = labeled();
    let train = words(TRAIN);
    let train = [&train[..], &["--held-out", "0.6"], &MODEL, &words(SMALL)].concat();
    let report = ken.json(&train);
    (ken, report)
}

fn origin(ken: &Ken) -> Value {
    serde_json::from_str(&ken.read("routing/ken.json")).unwrap()
}

/// As [`routed`], with a datastore in `routes`, and the number of its entries.
fn voting() -> (Ken, f64) {
    let (ken, _) = routed();
    label_island(&ken, &TRAINED, "again.jsonl");
    let made = ken.json(&[&words(MAKE)[..], &TRAINED].concat());
    let entries = number(&made["made"]["entries"]);
    holds!("{made}" => entries > 10.0 && made["made"]["tried"].as_array().unwrap().len() > 1);
    (ken, entries)
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn labels_become_examples_and_preferences() {
    let ken = labeled();
    let export = ["train", "self-route", "labels.jsonl", "--held-out", "0"];
    let to = ["--export", "trl", "--out", "examples.jsonl"];
    ken.json(&[&export[..], &to, &MODEL].concat());
    let examples = ken.read("examples.jsonl");
    let first: Value = serde_json::from_str(examples.lines().next().unwrap()).unwrap();
    holds!("{first}" => first["prompt"].as_str().unwrap().ends_with("\n<EOQ>"));
    let completion = first["completion"].as_str().unwrap();
    holds!("{first}" => completion.starts_with("<self>") && completion.ends_with("<EOK>"));
    let to = words("--preferences --export llama-factory --out pairs");
    ken.json(&[&export[..], &to, &MODEL].concat());
    let pairs: Value = serde_json::from_str(&ken.read("pairs/ken.json")).unwrap();
    assert_eq!(
        keys(&pairs[0]),
        ["instruction", "chosen", "rejected"],
        "{pairs}"
    );
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_model_learns_to_choose_its_source() {
    let (ken, report) = routed();
    assert_eq!(report["purpose"], "self-route", "{report}");
    let origin = origin(&ken);
    has!(origin, ["sources"]["corpora"][0]["name"]: "island");
    assert_eq!(origin["held_out"], json!(0.6), "{origin}");
    // The threshold chosen on the validation questions, if any decides, is the policy's default.
    let threshold = report["threshold"].as_f64().unwrap_or(0.2);
    assert_eq!(origin["sources"]["threshold"], report["threshold"]);
    let answer = ken.json(&[&words(ASK)[..], &["--policy", "self-route"], &TRAINED].concat());
    assert_eq!(answer["policy"], format!("self-route@{threshold}"));
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_does_not_fit_self_routing_is_refused() {
    let (ken, _) = routed();
    let later = ["--second-learning-rate", "0", "--out", "early"];
    refuses!(ken, &[&words(TRAIN)[..3], &later, &MODEL].concat() => "setting", "learning rate", "");
    assert!(!ken.path("early").exists());
    // Labels of the untrained model say nothing about the trained one.
    let before = MAKE.replace("again.jsonl", "labels.jsonl");
    refuses!(ken, &[&words(&before)[..], &TRAINED].concat() =>
        "other_model", "another model", "ken label sources");
    label_island(&ken, &TRAINED, "again.jsonl");
    let nothing = MAKE.replace("--held-out 0", "--held-out 0.6");
    refuses!(ken, &[&words(&nothing)[..], &TRAINED].concat() =>
        "all_taught", "taught all", "--held-out");
    let plain = words("ask Who? --corpus island.ken --policy self-route");
    refuses!(ken, &[&plain[..], &MODEL].concat() =>
        "does_not_choose", "not trained to choose", "ken train self-route");
    let again = [&words(TRAIN)[..3], &["--out", "again", "--full"], &TRAINED].concat();
    refuses!(ken, &again => "other_model", "another model", "ken label sources");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_datastore_votes_and_people_correct_it() {
    let (ken, entries) = voting();
    let ask = |policy: &'static str| -> Value {
        let by = ["--datastore", "routes", "--policy", policy];
        ken.json(&[&words(ASK)[..], &by, &TRAINED].concat())
    };
    let own = ask("self-route@1");
    assert_eq!(own["route"], "self", "{own}");
    assert_eq!(keys(&own["verbalized"]), ["text", "tokens", "in_prompt"]);
    assert!(own["verbalized"]["text"].is_string(), "{own}");
    assert!(own["timing_ms"]["verbalize"].is_number(), "{own}");
    assert!(own["timing_ms"]["choose source"].is_number(), "{own}");
    assert_eq!(ask("self-route@0")["route"], "corpus");

    // All entries are set to one source: the corpus keeps only its initial share.
    let exported = ken.text(&["datastore", "export", "routes"]);
    let all = exported.replace("\"source\":\"island\"", "\"source\":\"self\"");
    ken.write(
        "entries.jsonl",
        all + "{\"question\": \"Who?\", \"source\": \"self\"}\n",
    );
    let changed = ken.json(&[&IMPORT[..], &TRAINED].concat());
    assert_eq!(
        (number(&changed["added"]), number(&changed["entries"])),
        (1.0, entries + 1.0)
    );
    assert!(number(&changed["edited"]) > 3.0, "{changed}");
    assert_eq!(ask("self-route@0")["route"], "corpus");
    assert_eq!(ask("self-route@0.1")["route"], "self");
    let listed = ken.text(&["datastore", "list", "routes", "--source", "self", "--json"]);
    assert_eq!(listed.lines().count() as f64, entries + 1.0);
    let first: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    let id = first["id"].as_str().unwrap();
    let edited = ken.json(&["datastore", "edit", "routes", id, "--source", "island"]);
    assert_eq!(edited["edited"], 1);
    let removed = ken.json(&["datastore", "remove", "routes", id]);
    assert_eq!(number(&removed["entries"]), entries);
    let add = words("datastore add routes Where? --source island --id mine");
    assert_eq!(ken.json(&[&add[..], &TRAINED].concat())["added"], 1);

    refuses!(ken, &[&add[..], &TRAINED].concat() => "same_id", "mine", "ken datastore edit");
    ken.refusal(&["datastore", "edit", "routes", "mine", "--source", "web"])
        .is("no_such_source", "web", "");
    ken.refusal(&["datastore", "remove", "routes", "nobody"])
        .is("no_such_entry", "nobody", "ken datastore list");
    ken.refusal(&[&add[..4], &["--source", "self"], &MODEL].concat())
        .is("other_datastore", "another model", "ken datastore make");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_threshold_is_chosen_on_what_was_neither_taught_nor_votes() {
    let (ken, _) = voting();
    let origin = origin(&ken);
    let probe = words(
        "probe island/questions.jsonl --corpus island.ken --mode lexical --limit 3 \
         --samples 1 --max-tokens 2 --out probed.jsonl",
    );
    ken.text(&[&probe[..], &TRAINED].concat());
    let calibrate = ["calibrate", "probed.jsonl", "--policy", "self-route"];
    let calibrate = [&calibrate[..], &["--ratio", "0.5"], &TRAINED].concat();
    let probed = ken.read("probed.jsonl");
    let taught = probed.lines().skip(1).map(|line| {
        let record: Value = serde_json::from_str(line).unwrap();
        ken_policy::digest_of(record["question"].as_str().unwrap())
    });
    let mut taught: Vec<u64> = taught.collect();
    taught.sort_unstable();
    let mut taught_all = origin.clone();
    taught_all["learned_from"] = json!(taught);
    ken.write("routing/ken.json", taught_all.to_string());
    refuses!(ken, &calibrate => "not_measured", "self-route", "other questions");
    let mut taught_none = origin.clone();
    taught_none["learned_from"] = json!([]);
    ken.write("routing/ken.json", taught_none.to_string());
    assert!(number(&ken.json(&calibrate)["n"]) >= 1.0);
    let own = probed.lines().skip(1).map(|line| {
        let record: Value = serde_json::from_str(line).unwrap();
        json!({"question": record["question"], "source": "self"}).to_string()
    });
    ken.write("entries.jsonl", own.collect::<Vec<_>>().join("\n"));
    ken.json(&[&IMPORT[..], &TRAINED].concat());
    ken.refusal(&[&calibrate[..], &["--datastore", "routes"]].concat())
        .is("not_measured", "self-route", "other questions");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn without_verbalization_a_model_only_retrieves_or_not() {
    let ken = prepared();
    label_island(&ken, &MODEL, "labels.jsonl");
    let train = ["train", "self-route", "labels.jsonl", "--held-out", "0.4"];
    let ways = [
        ("verbalizing", None),
        ("selective", Some("--no-verbalization")),
    ];
    for (out, flag) in ways {
        let flags = [&["--out", out][..], flag.as_slice()].concat();
        let report = ken.json(&[&train[..], &flags, &MODEL, &words(SMALL)].concat());
        assert!(report["threshold"].is_number(), "{report}");
        let origin: Value = serde_json::from_str(&ken.read(&format!("{out}/ken.json"))).unwrap();
        assert_eq!(origin["sources"]["verbalizes"], json!(flag.is_none()));
        let trained = [&MODEL[..], &["--adapter", out]].concat();
        let ask = |policy: &str| {
            let ask = ["ask", "Who?", "--corpus", "island.ken", "--mode", "lexical"];
            let by = ["--max-tokens", "4", "--policy", policy];
            ken.json(&[&ask[..], &by, &trained].concat())
        };
        // One call chooses, one answers, and only a model that verbalizes writes in between.
        let own = ask("self-route@1");
        assert_eq!(own["route"], "self", "{own}");
        assert_eq!(own.get("verbalized").is_some(), flag.is_none(), "{own}");
        let calls = if flag.is_none() { 3 } else { 2 };
        assert_eq!(own["calls"]["model"], calls, "{own}");
        assert_eq!(ask("self-route@0")["route"], "corpus");
        // Both are compared on the same questions, by the thresholds recorded with them.
        let eval = words("eval island/questions.jsonl --held-out 0.4 --limit 6");
        let found = words("--corpus island.ken --mode lexical --max-tokens 2");
        let folder = format!("{out}.policies");
        let by = ["--policy", "self-route,never,always", "--out", &folder];
        let measured = ken.json(&[&eval[..], &found, &by, &trained].concat());
        let first = &measured["policies"][0];
        assert_eq!(first["threshold"], report["threshold"], "{first}");
        assert!(number(&first["retrieval_ratio"]) <= 1.0, "{first}");
        let n = number(&measured["n"]);
        assert!(n == 6.0, "{measured}");
    }
    // Alone it answers as beside the other, question by question.
    let eval = ["eval", "island/questions.jsonl", "--held-out", "0.4"];
    let found = words("--corpus island.ken --mode lexical --max-tokens 2 --policy self-route");
    let one = |adapter: &'static str, limit: &'static str, more: &[&'static str]| {
        let by = ["--limit", limit, "--adapter", adapter];
        [&eval[..], &found, &by, &MODEL, more].concat()
    };
    let selective = ken.json(&one("selective", "6", &["--out", "selective.jsonl"]));
    let against = ["--against", "selective.jsonl"];
    let compared = ken.json(&one("verbalizing", "6", &against));
    has!(compared["against"], ["em"]: selective["em"], ["policy"]: selective["policy"]);
    let ahead = number(&compared["em"]) - number(&selective["em"]);
    assert!((number(&compared["against"]["em_difference"]) - ahead).abs() < 1e-9);
    refuses!(ken, &one("verbalizing", "9", &against) =>
        "other_questions", "selective.jsonl lacks 3", "--limit");
    let asked = |out: &str| -> Vec<String> {
        let records = objects(&ken.read(&format!("{out}.policies/never.jsonl")));
        records
            .iter()
            .map(|record| record["id"].to_string())
            .collect()
    };
    assert_eq!(asked("verbalizing"), asked("selective"));
}
