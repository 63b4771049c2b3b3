//! `ken study` and `ken plan`: a grid of models and corpus scales is resumed, joined, reported and planned from.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ken_testing::{cases, has, holds, says};
use serde_json::{Value, json};

use crate::harness::{Ken, argument, generator, keys, number, objects, refuses, words};
use crate::milvus_lite::MilvusLite;

/// Documents, three per shard.
const CLOCKS: usize = 9;

const SCALES: usize = 3;

/// Ingests documents that each answer a question, and writes the questions.
pub(crate) fn ingest(ken: &Ken) {
    let makers = words("Pell Marrow Brann Lund Finch Ost Tarn Vey Holm");
    let lines = |of: &dyn Fn(usize, &str) -> Value| {
        let each = makers.iter().enumerate().take(CLOCKS);
        let lines: Vec<String> = each.map(|(n, maker)| of(n, maker).to_string()).collect();
        lines.join("\n")
    };
    ken.write(
        "clocks.jsonl",
        lines(&|n, maker| {
            let text = format!("The clock number {n} of the tower was made by Mr {maker}.");
            json!({"id": format!("clock-{n}"), "contents": text})
        }),
    );
    ken.write(
        "q.jsonl",
        lines(&|n, maker| {
            let question = format!("Who made the clock number {n} of the tower?");
            json!({"id": format!("q{n}"), "question": question,
                   "golden_answers": [maker, format!("Mr {maker}")],
                   "metadata": {"tower": if n < 4 { "north" } else { "south" }}})
        }),
    );
    ken.text(&["ingest", "clocks.jsonl", "--corpus", "w", "--shards", "3"]);
}

/// The arguments of a study of one model into a folder; `more` may name others.
pub(crate) fn study<'a>(
    out: &'a str,
    scales: &'a str,
    model: &'a str,
    more: &[&'a str],
) -> Vec<&'a str> {
    let base = words("study run q.jsonl --corpus w --max-tokens 8 --ks 2 --timed 2");
    let own = ["--out", out, "--scales", scales, "--model", model];
    [&base[..], &own, more].concat()
}

pub(crate) fn small() -> String {
    format!("s={}", generator().display())
}

fn records(path: &Path) -> Vec<Value> {
    let mut records = objects(&fs::read_to_string(path).unwrap()).split_off(1);
    records.sort_by_key(|record| record["id"].to_string());
    records
}

fn answers(path: &Path) -> Vec<[Value; 3]> {
    let fields = |record: &Value| ["id", "answer", "retrieved"].map(|name| record[name].clone());
    records(path).iter().map(fields).collect()
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_grid_answers_as_evaluations_do_and_is_reported_and_planned_from() {
    let ken = Ken::new();
    ingest(&ken);
    let (small, large) = (small(), format!("l={}", generator().display()));
    let more = words("--parameters l=2e9 --reverse --policy prompt@0.5,random:0.5");
    let more = [&more[..], &["--model", &large]].concat();
    let report = ken.json(&study("st", "0-3", &small, &more));
    let cells = ken.path("st/cells/q/s");
    assert_eq!(fs::read_dir(&cells).unwrap().count(), 1 + 2 * SCALES);

    let cases: [(&str, &[&str]); 3] = cases![
        "n2-forward-k2-pruned0.jsonl" => &["--scale", "2"];
        // Copied, since the same passages are found by all shards in either order.
        "n3-reversed-k2-pruned0.jsonl" => &["--scale", "3", "--reverse"];
        "n0.jsonl" => &["--policy", "never"];
    ];
    for (file, flags) in cases {
        let eval = words("eval q.jsonl --corpus w --k 2 --max-tokens 8 --out");
        ken.text(&[&eval[..], &[file], flags].concat());
        assert_eq!(
            answers(&cells.join(file)),
            answers(&ken.path(file)),
            "{file}"
        );
    }

    // The same model twice is as good as itself with one shard.
    let compensation = report["compensation"].as_array().unwrap();
    assert_eq!(compensation.len(), 2, "forward and reversed");
    for pair in compensation {
        has!(pair, ["smaller"]: "s", ["larger"]: "l", ["n_star"]: 1);
        has!(pair, ["by_metric"]: json!({"em": 1, "f1": 1}));
    }
    let series = &report["series"][0];
    assert_eq!(series["parameters"], 134_515_008);
    let last = &series["scales"][SCALES - 1];
    assert_eq!(last["coverage"]["value"], 1.0);
    let known = number(&series["known"]["value"]);
    let value = |name: &str| last[name]["value"].as_f64().unwrap_or_default();
    let em = known * (1.0 - value("harmed")) + (1.0 - known) * value("benefited");
    assert!((value("em") - em).abs() < 1e-9, "{last}");
    let policies = report["policies"].as_array().unwrap();
    assert_eq!(
        policies.len(),
        2 * 2 * SCALES * 3,
        "models, orders, scales and policies"
    );
    for policy in policies {
        let of = |all: &Value, key: &str| all[key].clone();
        let series = report["series"].as_array().unwrap().iter().find(|series| {
            ["model", "retrieval"]
                .iter()
                .all(|key| of(series, key) == of(policy, key))
        });
        let scales = series.unwrap()["scales"].as_array().unwrap();
        let always = scales.iter().find(|at| at["n"] == policy["n"]).unwrap();
        let always = number(&always["em"]["value"]);
        let better = always.max(number(&series.unwrap()["known"]["value"]));
        for (key, before) in [("against_always", always), ("against_better", better)] {
            let gain = number(&policy["em"]["value"]) - before;
            holds!("{policy}" => (number(&policy[key]["value"]) - gain).abs() < 1e-9);
        }
        assert_eq!(
            policy["against_whole"]["value"],
            Value::Null,
            "nothing is pruned: {policy}"
        );
        holds!("{policy}" => policy["policy"] != "always" || policy["retrieves"]["value"] == 1.0);
    }
    // Three shards are three shards in either order.
    let time = &report["time"];
    holds!("{time}" => time["copied"].as_u64().unwrap() >= 2 * CLOCKS as u64);
    assert_eq!(time["answers"], 2 * CLOCKS * (1 + 2 * SCALES));
    assert_eq!(report["missing"], json!([]));

    let page = ken.read("st/report.html");
    holds!("it is self-contained" => !page.contains(" src=") && !page.contains("http://127"));
    assert!(page.contains("<figure id=\"q-em\">") && page.contains("reversed"));
    let drawn: Value = serde_json::from_str(&ken.read("st/page.json")).unwrap();
    let sections = drawn["sections"].as_array().unwrap().iter();
    let figure = sections
        .map(|section| &section["figure"])
        .find(|figure| figure["name"] == "q-em");
    let lines = figure.unwrap()["series"].as_array().unwrap().iter();
    let lines = lines.filter(|series| series["mark"] != "rings");
    let points = lines.map(|series| series["points"].as_array().unwrap().len());
    assert_eq!(points.sum::<usize>(), 4 * SCALES);

    let by = ken.json(&["study", "report", "st", "--by", "tower"])["by"].clone();
    let groups = by["groups"].as_array().unwrap();
    let told = groups.iter().map(|group| (&group["value"], &group["n"]));
    assert!(told.eq([(&json!("north"), &json!(4)), (&json!("south"), &json!(5))]));
    assert!(ken.read("st/report.html").contains("q: south, 5 questions"));

    plan(&ken);
    // No question is answered twice.
    let before: Vec<String> = cell_files(&cells);
    ken.text(&study("st", "0-3", &small, &more));
    assert_eq!(cell_files(&cells), before);
}

fn cell_files(cells: &Path) -> Vec<String> {
    let entries = fs::read_dir(cells).unwrap();
    let paths: BTreeSet<_> = entries.map(|entry| entry.unwrap().path()).collect();
    let texts = paths.iter().map(fs::read_to_string);
    texts.map(Result::unwrap).collect()
}

/// Plans from the study, and runs the printed commands.
fn plan(ken: &Ken) {
    let plan = ken.json(&words("plan st --max memory=8GB,shards=3 --maximize em"));
    assert_eq!(
        keys(&plan),
        ["dataset", "candidates", "plan", "prune", "ask", "toml"]
    );
    // Each model from memory, and under three policies at each scale in each order.
    assert_eq!(plan["candidates"], 2 * (1 + 3 * 2 * SCALES));
    let chosen = &plan["plan"]["chosen"];
    assert_eq!(chosen["model"], "s", "of equals the smaller");
    for cost in ["memory", "disk", "p50_ms", "p95_ms", "tokens", "flop"] {
        assert!(chosen["costs"][cost].as_f64().is_some(), "{cost}: {chosen}");
    }
    let ask = plan["ask"]
        .as_str()
        .unwrap()
        .replace("\"QUESTION\"", "Who?");
    let answer = ken.json(&words(&ask)[1..]);
    assert_eq!(answer["policy"], chosen["policy"]);
    let toml = plan["toml"].as_str().unwrap();
    assert!(toml.contains(&format!("scale = {}", chosen["n"])), "{toml}");
    assert!(ask.contains(" --max-tokens 8"), "as in the study: {ask}");
    ken.write("ken.toml", toml);
    ken.text(&["search", "clock", "--config", "ken.toml"]);
    fs::remove_file(ken.path("ken.toml")).unwrap();

    let like = ken.json(&words(
        "plan st --like l@3 --max-loss 0.02 --minimize parameters",
    ));
    let promise = &like["plan"]["promise"];
    let step = &promise["steps"][0];
    assert_eq!(
        step["passes"], false,
        "nine questions promise nothing: {promise}"
    );
    assert!(step["needed"].as_u64().unwrap() > 100, "{promise}");
    assert_eq!(like["plan"]["chosen"]["name"], "l@3");
    // The same walk by F1, to a set-up with less memory.
    let like = ken.json(&words(
        "plan st --like l@3 --max-loss 0.9 --confidence 0.5 --maximize f1",
    ));
    let promise = &like["plan"]["promise"];
    assert_eq!(promise["accuracy"], "f1");
    let steps = promise["steps"].as_array().unwrap();
    // The walk goes on as long as steps pass, and the last that did is chosen.
    let (last, before) = steps.split_last().unwrap();
    holds!("{promise}" => before.iter().all(|step| step["passes"] == true));
    let passed = steps.iter().rfind(|step| step["passes"] == true);
    let chosen = passed.map_or(&json!("l@3"), |step| &step["name"]).clone();
    assert_eq!(like["plan"]["chosen"]["name"], chosen, "{last}");
    let text = ken.text(&words(
        "plan st --at-least em=0 --minimize memory --project 30",
    ));
    says!(text =>
        "set-up", "s@0", "next shards (s@1)", "projection, not measured", "ken ask --model");

    refuses!(ken, &["plan", "st", "--max", "memory=1MB,tokens=1e6"] =>
        "no_setup_within_bounds", "the tightest is memory at most 1.0 MB", "loosen");
    refuses!(ken, &["plan", "st", "--like", "x@1", "--max-loss", "0.02"] =>
        "unknown_setup", "no set-up is called x@1", "name one of these");
    let refusal = ken.refusal(&["plan", "st", "--dataset", "nq"]);
    refusal.is("dataset_not_named", "no data set nq", "one of q");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn parts_of_several_machines_are_joined_and_what_is_missing_is_named() {
    let ken = Ken::new();
    ingest(&ken);
    let small = small();
    ken.text(&study("a", "0-1", &small, &[]));
    ken.text(&study("b", "2,3", &small, &[]));
    let whole = ken.json(&["study", "join", "a", "b", "--out", "all"]);
    assert_eq!(whole, json!({"cells": 4, "missing": []}));
    ken.text(&study("once", "0-3", &small, &[]));
    for n in ["n0", "n1-forward-k2-pruned0", "n3-forward-k2-pruned0"] {
        let cell = |folder: &str| ken.path(&format!("{folder}/cells/q/s/{n}.jsonl"));
        assert_eq!(answers(&cell("all")), answers(&cell("once")), "{n}");
    }
    let gone = ken.path("all/cells/q/s/n2-forward-k2-pruned0.jsonl");
    fs::remove_file(&gone).unwrap();
    let report = ken.json(&["study", "report", "all"]);
    assert_eq!(report["missing"][0]["n"], 2);
    assert_eq!(report["series"][0]["scales"].as_array().unwrap().len(), 2);
    // The joined study can be completed.
    ken.text(&study("all", "0-3", &small, &[]));
    assert!(gone.exists());

    refuses!(ken, &study("all", "1", &format!("s={}", argument(&ken.path("none"))), &[]) =>
        "local_missing", "none", "");
    refuses!(ken, &study("all", "1", &small, &["--parameters", "s=5e9"]) =>
        "two_models_of_one_name", "two models are called s", "a name of its own");
    let refusal = ken.refusal(&study("all", "1", &small, &["--limit", "5"]));
    refusal.is("other_questions", "questions of q are others", "--limit");
    let refusal = ken.refusal(&study("all", "1", &small, &["--mode", "lexical"]));
    refusal.is("other_settings", "mode was hybrid and is now lexical", "");
    // A scale that was not searched before finds what the corpus holds now.
    ken.write("more.txt", "The clock of the mill has stopped.");
    ken.text(&["ingest", "more.txt", "--corpus", "w"]);
    let refusal = ken.refusal(&study("a", "2", &small, &[]));
    refusal.is("other_corpus", "w holds something else", "--out");
    refuses!(ken, &study("a", "1", &small, &[]) => "other_settings", "corpus was generation 1", "");
    let cell = "b/cells/q/s/n2-forward-k2-pruned0.jsonl";
    ken.write(cell, "{\"settings\":{}}\nx\n");
    let refusal = ken.refusal(&["study", "join", "b", "once", "--out", "both"]);
    refusal.is("cells_overlap", "q s n2-forward-k2-pruned0", "leave one");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_cannot_be_compared_is_refused_before_it_is_answered() {
    let ken = Ken::new();
    ingest(&ken);
    let small = small();
    for (more, kind, message, hint) in cases![
        ["--model", &small] => "two_models_of_one_name", "two models are called s", "--model NAME=REF";
        ["--rerank", "likelihood"] => "rerank_by_studied_model", "by each model in its own way", "--rerank";
        ["--policy", "certainty"] => "policy_not_studied", "it has no threshold", "certainty@0.5";
        ["--policy", "certainty@0.5+double"] => "policy_not_studied", "reviews the evidence", "";
        ["--policy", "oracle"] => "policy_not_studied", "knows the right answers", "";
        ["--prune", "0,0.3"] => "no_pruner", "what to prune first", "--pruner FILE";
        ["--model", "e=http://127.0.0.1:9/v1"] => "parameters_not_declared", "endpoint of e",
            "--parameters e=N";
    ] {
        refuses!(ken, &study("st", "0-3", &small, &more) => kind, message, hint);
        assert!(!ken.path("st/cells").exists(), "{kind}");
    }
    let refusal = ken.refusal(&study("st", "0-4", &small, &[]));
    assert!(
        refusal.message.contains('4') && refusal.message.contains("shards"),
        "{}",
        refusal.message
    );

    // A model whose context holds less of what is found.
    let people = ["--people", "24", "--unseen", "4", "--strangers", "4"];
    let world = ["world", "make", "island", "--sequences", "40"];
    let world = [&world[..], &people].concat();
    ken.text(&world);
    ken.text(&words("world model island --size small --out blank"));
    let long = "The clock of the tower is wound at noon and oiled in autumn. ".repeat(40);
    let lines =
        (0..6).map(|n| json!({"id": format!("long-{n}"), "contents": format!("{long} {n}")}));
    ken.write_lines("long.jsonl", lines);
    fs::remove_dir_all(ken.path("w")).unwrap();
    let whole = "ingest long.jsonl --corpus w --segment whole --shards 3";
    ken.text(&whole.split(' ').collect::<Vec<_>>());
    let question = "When is the clock of the tower wound, and when is it oiled?";
    let line = json!({"id": "q", "question": question, "golden_answers": ["at noon"]});
    ken.write("q.jsonl", line.to_string());
    let blank = format!("w={}", argument(&ken.path("blank")));
    let more = ["--model", &blank, "--parameters", "w=1e6"];
    let more = [&more[..], &["--evidence-tokens", "4000"]].concat();
    refuses!(ken, &study("other", "0-3", &small, &more) =>
        "models_read_differently", "would read different passages", "--evidence-tokens");
    assert!(!ken.path("other/cells").exists());
}

#[cfg(unix)]
#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_interrupted_study_is_resumed() {
    use crate::harness::refused;
    use crate::stopped::{interrupt, wait_for};

    let ken = Ken::new();
    ingest(&ken);
    let small = small();
    let run = study("st", "0-3", &small, &["--batch", "1", "--json"]);
    let mut child = ken.command(&run).spawn().unwrap();
    let cell = ken.path("st/cells/q/s/n1-forward-k2-pruned0.jsonl");
    let text = || fs::read_to_string(&cell).unwrap_or_default();
    let is_answered = || text().lines().count() > 1;
    wait_for(&mut child, "an answer of the second cell", is_answered);
    interrupt(&child);
    let refusal = refused(child.wait_with_output().unwrap());
    refusal.is("interrupted", "stopped after", "run the same command again");
    let before = fs::read_to_string(&cell).unwrap();
    let report = ken.json(&run[..run.len() - 1]);
    assert_eq!(report["missing"], json!([]));
    let now = fs::read_to_string(&cell).unwrap();
    assert!(now.starts_with(&before), "what was answered is kept");
}

#[test]
fn a_table_is_reported_without_any_model() {
    let ken = Ken::new();
    let table = std::path::absolute("../scale/tests/fixtures/less-llm-tables.csv").unwrap();
    let report = ken.json(&["study", "report", argument(&table), "--out", "r"]);
    let of = |dataset: &str, smaller: &str, larger: &str| {
        let all = report["compensation"].as_array().unwrap().iter();
        let is_it = |one: &&Value| {
            one["dataset"] == dataset && one["smaller"] == smaller && one["larger"] == larger
        };
        all.clone().find(is_it).unwrap().clone()
    };
    assert_eq!(of("NQ", "0.6B", "1.7B")["n_star"], 5);
    has!(of("WebQ", "1.7B", "4B"), ["by_metric"]: json!({"em": 4, "f1": null}));
    assert_eq!(of("NQ", "0.6B", "4B")["n_star"], Value::Null);
    has!(report, ["series"][0]["scales"][0]["benefited"]["value"]: Value::Null);
    assert!(ken.path("r/report.html").is_file());
    let plan = ["plan", argument(&table)];
    let plan = [&plan[..], &words("--at-least em=0.7 --minimize shards")].concat();
    refuses!(ken, &plan => "dataset_not_named", "3 data sets", "NQ, TriviaQA, WebQ");
    let plan = ken.json(&[&plan[..], &["--dataset", "TriviaQA"]].concat());
    assert_eq!(plan["plan"]["chosen"]["name"], "14B@2");
    let like = words("--dataset NQ --like 8B@1 --max-loss 0.02");
    let like = [&["plan", argument(&table)][..], &like].concat();
    refuses!(ken, &like => "promise_of_table", "averages only", "ken study run");

    ken.write(
        "bad.csv",
        "dataset,model,parameters,n,em,f1\nnq,s,1e9,1,0.2,O.3\n",
    );
    refuses!(ken, &["study", "report", "bad.csv"] =>
        "table_value", "line 2, column f1: \"O.3\"", "shares from 0 to 1");
    refuses!(ken, &["study", "report", argument(&table), "--by", "kind"] =>
        "table_without_questions", "has no questions", "leave --by out");
    refuses!(ken, &["study", "report", "."] =>
        "not_a_study", "is not the folder of a study", "ken study run");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_corpus_in_milvus_is_studied_as_the_one_on_disk() {
    let ken = Ken::new();
    ingest(&ken);
    let server = MilvusLite::start();
    let address = server.address("w");
    ken.text(&["corpus", "push", "--corpus", "w", "--to", &address]);
    let (small, more) = (small(), ["--mode", "dense", "--reverse"]);
    ken.text(&study("disk", "1-3", &small, &more));
    let mut there = study("there", "1-3", &small, &more);
    let place = there.iter().position(|argument| *argument == "w").unwrap();
    there[place] = &address;
    let report = ken.text(&there);
    assert_eq!(ken.text(&there), report, "nothing is left to be done");
    for condition in ["n1-forward", "n2-forward", "n1-reversed", "n2-reversed"] {
        let found = |out: &str| -> Vec<Vec<Value>> {
            let path = ken.path(&format!("{out}/evidence/q/{condition}-k2-pruned0.jsonl"));
            let passages = records(&path)
                .into_iter()
                .map(|record| record["passages"].as_array().unwrap().clone());
            let ids = passages.map(|all| all.iter().map(|one| one["id"].clone()).collect());
            ids.collect()
        };
        assert_eq!(found("there"), found("disk"), "{condition}");
    }
    let pruned = [&there[..], &["--prune", "0.3", "--pruner", "pruner.json"]].concat();
    refuses!(ken, &pruned => "no_score", &address, "ken prune score");
}
