//! `ken train pruner`, `ken prune` and `ken study run --prune` on a corpus in Milvus, beside the same in its folder.

use serde_json::{Value, json};

use crate::harness::{Ken, number, objects, refuses, words};
use crate::milvus_lite::MilvusLite;
use crate::prune::{TRAIN, prepared};
use crate::study::small;

/// The corpus `island` in its folder and in Milvus, in both with scores by the pruner.
fn scored(server: &MilvusLite) -> (Ken, String) {
    let ken = prepared();
    let address = server.address("island");
    ken.text(&["corpus", "push", "--corpus", "island", "--to", &address]);
    for corpus in ["island", &address] {
        let score = words("prune score --pruner pruner.json --corpus");
        ken.text(&[&score[..], &[corpus]].concat());
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
    // No server tells sizes.
    let has_sizes = |out| ken.read(&format!("{out}/report.html")).contains("size, MB");
    assert_eq!(["there", "here"].map(has_sizes), [false, true]);
    let info = ken.json(&["corpus", "info", "--corpus", &address]);
    assert_eq!(info["pruned"], json!(0), "the collection stays as it is");

    let own = ["prune", "report", "--corpus", &address];
    refuses!(ken, &[&own[..], &measure, &["none"]].concat() =>
        "no_score", &address, "ken prune score");
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

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_guarantee_is_the_one_of_the_folder() {
    let server = MilvusLite::start();
    let (ken, address) = scored(&server);
    let guarantee = words("--max-coverage-loss 0.2 --questions questions.jsonl --mode dense");
    let apply = |corpus: &str, more: &[&str]| {
        let own = ["prune", "apply", "--corpus", corpus];
        ken.json(&[&own[..], &guarantee, more].concat())
    };
    let dry = ["--score", "mastery", "--dry-run"];
    let there = apply(&address, &dry);
    let here = apply("island", &dry);
    for key in ["ratio", "passages", "pruned", "promise"] {
        assert_eq!(there[key], here[key], "{key}");
    }
    assert!(number(&there["ratio"]) >= 0.3, "{there}");
    let done = apply(&address, &["--score", "mastery"]);
    let info = ken.json(&["corpus", "info", "--corpus", &address]);
    assert_eq!(
        (&done["pruned"], &info["pruned"]),
        (&there["pruned"], &there["pruned"])
    );
    // What a ratio pruned before counts as if it had not been.
    assert_eq!(apply(&address, &dry)["promise"], there["promise"]);

    let own = ["prune", "apply", "--corpus", &address];
    ken.refusal(&[&own[..], &guarantee, &["--method", "random"]].concat())
        .is("no_score", &address, "ken prune score");
    let strict = words("--max-coverage-loss 0.01 --questions questions.jsonl --score mastery");
    refuses!(ken, &[&own[..], &strict].concat() =>
        "promise_not_kept", "30 questions", "about 299 questions");
    let unscored = words("--max-coverage-loss 0.2 --questions questions.jsonl --score other");
    refuses!(ken, &[&own[..], &unscored].concat() =>
        "too_few_scores", "0 of", "score more passages");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn passages_are_read_and_compared_in_milvus() {
    let ken = prepared();
    let server = MilvusLite::start();
    let address = server.address("island");
    ken.text(&["corpus", "push", "--corpus", "island", "--to", &address]);
    let train = ["--head", "mlp:4", "--features", "likelihood"];
    ken.text(&[&words(TRAIN)[..], &train].concat());
    let planned = |by: &[&str], out: &str| {
        let own = ["prune", "apply", "--corpus", &address];
        ken.json(&[&own[..], &["--dry-run", "--out", out], by].concat());
        objects(&ken.read(out))
    };
    let known = planned(&words("--pruner pruner.json --ratio 0.4"), "read.jsonl");
    assert_eq!(known.len(), 24);
    let is_country = |mark: &&Value| mark["passage_id"].as_str().unwrap().starts_with('c');
    assert!(known.iter().filter(is_country).count() >= 22, "{known:?}");

    // Each of both kinds of passages is like thirty others, of which eight are compared.
    let near = planned(&words("--method near-duplicates --ratio 0.2"), "near.jsonl");
    assert_eq!(near.len(), 12);
    let mut cosines = near.iter().map(|mark| number(&mark["score"]));
    assert!(cosines.all(|cosine| cosine > 0.5), "{near:?}");

    let score = ["prune", "score", "--corpus", &address, "--name"];
    let similar = [&score[..], &words("similar --method near-duplicates")].concat();
    assert_eq!(ken.json(&similar)["scores"], json!(["similar"]));
    let kept = planned(&words("--score similar --ratio 0.2"), "kept.jsonl");
    let ids = |marks: &[Value]| -> Vec<Value> {
        let ids = marks.iter().map(|mark| mark["passage_id"].clone());
        ids.collect()
    };
    assert_eq!(ids(&kept), ids(&near));
}
