//! `ken train pruner`, `ken prune report` and `ken study run --prune` on a corpus in Milvus, beside the same in its
//! folder.

use serde_json::{Value, json};

use crate::harness::{Ken, objects, words};
use crate::milvus_lite::MilvusLite;
use crate::prune::prepared;
use crate::study::small;

/// The corpus `island` in its folder and in Milvus, in both with scores by the pruner.
fn scored(server: &MilvusLite) -> (Ken, String) {
    let ken = prepared();
    let address = server.address("island");
    ken.text(&["corpus", "push", "--corpus", "island", "--to", &address]);
    for corpus in ["island", &address] {
        let score = [
            "prune",
            "score",
            "--pruner",
            "pruner.json",
            "--corpus",
            corpus,
        ];
        ken.text(&score);
    }
    (ken, address)
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_pruner_is_the_one_that_is_learned_in_the_folder() {
    let ken = prepared();
    let server = MilvusLite::start();
    let address = server.address("island");
    ken.text(&["corpus", "push", "--corpus", "island", "--to", &address]);
    let train = |labels: &'static str| {
        let train = ["train", "pruner", labels, "--out", "there.json"];
        [&train[..], &["--corpus", address.as_str()]].concat()
    };
    ken.text(&train("mastery.jsonl"));
    assert_eq!(ken.read("there.json"), ken.read("pruner.json"));
    let labels = ken.read("mastery.jsonl");
    for (of, to) in [("parliament", "king"), ("c7#0", "c70#0")] {
        ken.write("other.jsonl", labels.replace(of, to));
        let refused = ken.refusal(&train("other.jsonl"));
        refused.is("other_corpus", "does not stand", "ken label mastery");
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_report_searches_with_a_filter_what_the_folder_has_in_copies() {
    let server = MilvusLite::start();
    let (ken, address) = scored(&server);
    let measure = words(
        "--questions questions.jsonl --limit 4 --ratios 0,0.5 --max-tokens 4 --mode dense --out",
    );
    let report = |corpus: &str, out: &str| {
        let own = ["prune", "report", "--score", "mastery", "--corpus", corpus];
        let rows = ken.json(&[&own[..], &measure, &[out]].concat())["rows"].clone();
        let rows = rows.as_array().unwrap().iter().map(|row| {
            let names = ["method", "ratio", "pruned", "passages", "coverage", "em"];
            names.map(|name| row[name].clone())
        });
        rows.collect::<Vec<[Value; 6]>>()
    };
    let there = report(&address, "there");
    assert_eq!(
        there[1][..4],
        [json!("kept"), json!(0.5), json!(30), json!(30)]
    );
    assert_eq!(there, report("island", "here"));
    let info = ken.json(&["corpus", "info", "--corpus", &address]);
    assert_eq!(info["pruned"], json!(0), "the collection stays as it is");

    let own = ["prune", "report", "--corpus", &address];
    ken.refusal(&[&own[..], &measure, &["none"]].concat()).is(
        "no_score",
        &address,
        "ken prune score",
    );
    let apply = words("prune apply --score mastery --ratio 0.2 --corpus");
    ken.text(&[&apply[..], &[address.as_str()]].concat());
    ken.refusal(&[&own[..], &["--score", "mastery"], &measure, &["pruned"]].concat())
        .is("pruned_already", "12 passages", "ken prune undo");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_study_of_pruning_finds_what_it_finds_in_the_folder() {
    let server = MilvusLite::start();
    let (ken, address) = scored(&server);
    let small = small();
    let base = words(
        "study run questions.jsonl --scales 1 --prune 0,0.5 --limit 6 --max-tokens 4 --ks 2 --timed 2 --mode dense",
    );
    let study = |corpus: &str, out: &str, by: &[&str]| {
        let own = ["--model", &small, "--corpus", corpus, "--out", out];
        let all: Vec<String> = [&base[..], &own, by]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect();
        all
    };
    let run = |corpus: &str, out: &str| {
        let arguments = study(corpus, out, &["--score", "mastery"]);
        ken.text(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let report = run(&address, "there");
    assert_eq!(run(&address, "there"), report, "nothing is left to be done");
    run("island", "here");
    for ratio in ["0", "0.5"] {
        let found = |out: &str| {
            let path = format!("{out}/evidence/questions/n1-forward-k2-pruned{ratio}.jsonl");
            let records = ken.read(&path);
            let (_, lines) = records.split_once('\n').unwrap();
            let found = objects(lines).into_iter().map(|record| {
                let passages = record["passages"].as_array().unwrap().iter();
                let ids: Vec<Value> = passages.map(|passage| passage["id"].clone()).collect();
                (record["id"].to_string(), ids)
            });
            found.collect::<std::collections::BTreeMap<_, _>>()
        };
        assert_eq!(found("there"), found("here"), "{ratio}");
    }
    let by_pruner = study(&address, "other", &["--pruner", "pruner.json"]);
    ken.refusal(&by_pruner.iter().map(String::as_str).collect::<Vec<_>>())
        .is("no_score", &address, "ken prune score");
}
