//! Trainings and probing that are killed at any call that changes a file: the same command resumes, and meanwhile
//! there is the old model, the new one, or none, never parts of both.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Output;

use ken_testing::holds;
use ken_torture::shim::{Control, Order, Shim, Strike, kinds};
use serde_json::json;

use crate::harness::{Ken, refused, words};

/// The files of a model, or of an adapter.
type Files = BTreeMap<&'static str, Vec<u8>>;

const ADAPTER: [&str; 3] = [
    "adapter_config.json",
    "adapter_model.safetensors",
    "ken.json",
];
const MODEL: [&str; 4] = [
    "config.json",
    "model.safetensors",
    "tokenizer.json",
    "ken.json",
];

/// The absolute path of a file, by which the shim knows it.
fn whole_path(ken: &Ken, name: &str) -> String {
    ken.path(name).to_str().unwrap().to_owned()
}

/// Runs a command that is killed at its Nth call that changes a file below a folder, counted from 1; with 0 it runs
/// to its end. [`calls`] then tells how many there were.
fn run(ken: &Ken, shim: &Shim, arguments: &[&str], below: &str, at: usize) -> Output {
    let control = ken.path("control");
    Control::create(&control).order(Order {
        strike: Strike::Kill,
        at: at as i64,
        ..Order::count(kinds::CHANGES)
    });
    let mut command = ken.command(&[arguments, &["--json"]].concat());
    shim.watch(&mut command, Path::new(below));
    command.env("TORTURE_CONTROL", control).output().unwrap()
}

/// How many calls the last command made.
fn calls(ken: &Ken) -> usize {
    Control::open(&ken.path("control")).calls()
}

fn files(ken: &Ken, folder: &str, names: &[&'static str]) -> Files {
    let read = |name: &&'static str| Some((*name, fs::read(ken.path(folder).join(name)).ok()?));
    names.iter().filter_map(read).collect()
}

/// A model of an invented world that knows nothing, and two sets of examples.
fn prepared() -> Ken {
    let ken = Ken::new();
    let world = words("world make island --sequences 16 --seed 2");
    let people = ["--people", "24", "--unseen", "4", "--strangers", "4"];
    ken.json(&[&world[..], &people].concat());
    let blank = words("world model island --size small --out blank");
    ken.json(&blank);
    for (name, answer) in [("yes.jsonl", " yes\n"), ("no.jsonl", " no\n")] {
        let line = json!({"prompt": "Question:", "completion": answer}).to_string();
        ken.write(name, [line.as_str(); 8].join("\n"));
    }
    ken
}

fn train<'a>(examples: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let base = words("train examples --model ./blank --batch 4 --epochs 2 --checkpoint-every 2");
    [&base[..], &["--out", out, examples], more].concat()
}

/// Kills a training at every call that changes a file of a folder that already holds a model, and resumes by the same
/// command.
fn check_kills(more: &[&str], names: &'static [&'static str], first: &str) {
    let (ken, shim) = (prepared(), Shim::build());
    ken.json(&train("no.jsonl", "old", more));
    ken.json(&train("yes.jsonl", "new", more));
    let (old, new) = (files(&ken, "old", names), files(&ken, "new", names));
    assert!(old != new && old.contains_key(first) && new.contains_key(first));

    let out = whole_path(&ken, "out");
    let begun = |at: usize| {
        let _ = fs::remove_dir_all(ken.path("out"));
        fs::create_dir(ken.path("out")).unwrap();
        for (name, bytes) in &old {
            fs::write(ken.path("out").join(name), bytes).unwrap();
        }
        let again = [more, &["--overwrite"]].concat();
        run(&ken, &shim, &train("yes.jsonl", &out, &again), &out, at)
    };
    assert!(begun(0).status.success());
    let calls = calls(&ken);
    assert!(calls > 20, "{calls} calls were seen");
    let mut resumed = 0;
    for at in 1..=calls {
        let killed = begun(at);
        assert_eq!(killed.status.signal(), Some(9), "at {at}");
        let there = files(&ken, "out", names);
        if names
            .iter()
            .all(|name| there.contains_key(name) || !new.contains_key(name))
        {
            assert!(there == old || there == new, "a mixture at {at} of {calls}");
        }
        if !there.contains_key(first) {
            let states = ["training.safetensors", "second-training.safetensors"];
            let kept = states
                .iter()
                .any(|state| ken.path("out").join(state).exists());
            assert!(kept, "neither a model nor a checkpoint at {at} of {calls}");
        }
        let again = run(&ken, &shim, &train("yes.jsonl", &out, more), &out, 0);
        if again.status.success() {
            assert_eq!(files(&ken, "out", names), new, "resumed after {at}");
            assert!(!ken.path("out/training.safetensors").exists());
            resumed += 1;
        } else {
            // Before the first checkpoint the old model is there, and after the last the new one.
            refused(again).is("out_not_empty", "out", "--overwrite");
            assert!(there == old || there == new, "lost at {at} of {calls}");
        }
    }
    assert!(resumed > calls / 2, "{resumed} of {calls}");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_training_killed_at_any_call_leaves_its_checkpoint_or_a_whole_adapter() {
    check_kills(&["--rank", "2"], &ADAPTER, "adapter_config.json");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_training_killed_at_any_call_leaves_its_checkpoint_or_a_whole_model() {
    check_kills(&["--full"], &MODEL, "config.json");
}

fn train_from_nothing(out: &str) -> Vec<&str> {
    let train = words("world train island --size small --batch 8 --out");
    [&train[..], &[out]].concat()
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_killed_training_from_nothing_resumes() {
    let (ken, shim) = (prepared(), Shim::build());
    let (whole, out) = (whole_path(&ken, "whole"), whole_path(&ken, "out"));
    let done = run(&ken, &shim, &train_from_nothing(&whole), &whole, 0);
    assert!(done.status.success());
    let calls = calls(&ken);
    let new = files(&ken, "whole", &MODEL);
    for at in (1..=calls).rev().take(30) {
        let _ = fs::remove_dir_all(ken.path("out"));
        let killed = run(&ken, &shim, &train_from_nothing(&out), &out, at);
        assert_eq!(killed.status.signal(), Some(9), "at {at}");
        let again = run(&ken, &shim, &train_from_nothing(&out), &out, 0);
        let is_whole = files(&ken, "out", &MODEL) == new;
        assert!(is_whole, "killed at {at} of {calls}");
        if !again.status.success() {
            refused(again).is("folder_not_empty", "out", "--out");
        }
        assert!(!ken.path("out/training.safetensors").exists(), "at {at}");
    }
}

fn probe(out: &str) -> Vec<&str> {
    let probe = ["probe", "island/questions.jsonl", "--model", "./blank"];
    let how = words("--limit 6 --samples 2 --max-tokens 2 --batch 2 --out");
    [&probe[..], &how, &[out]].concat()
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_killed_probe_asks_only_what_is_missing() {
    let (ken, shim) = (prepared(), Shim::build());
    let records = "out/records.jsonl";
    let (whole, out) = (whole_path(&ken, "whole"), whole_path(&ken, "out"));
    let records_in = |folder: &str| format!("{folder}/records.jsonl");
    let done = run(&ken, &shim, &probe(&records_in(&whole)), &whole, 0);
    assert!(done.status.success());
    let calls = calls(&ken);
    let expected = untimed(&ken.read("whole/records.jsonl"));
    for at in 1..=calls {
        let _ = fs::remove_dir_all(&out);
        let killed = run(&ken, &shim, &probe(&records_in(&out)), &out, at);
        assert_eq!(killed.status.signal(), Some(9), "at {at}");
        let before = fs::read_to_string(ken.path(records)).unwrap_or_default();
        let again = run(&ken, &shim, &probe(&records_in(&out)), &out, 0);
        assert!(again.status.success());
        let after = ken.read(records);
        holds!("what was written is not asked again, killed at {at}" => after.starts_with(&before));
        assert_eq!(untimed(&after), expected, "killed at {at}");
        assert!(ken.path("out/records.jsonl.parquet").exists());
    }
}

/// The records without their costs, whose times differ.
fn untimed(records: &str) -> Vec<serde_json::Value> {
    let parsed = records.lines().map(|line| {
        let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
        let record_of = record.as_object_mut().unwrap();
        record_of.remove("costs");
        record_of.remove("costs_with_evidence");
        record
    });
    parsed.collect()
}
