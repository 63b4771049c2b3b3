//! `ken corpus`, shards and filters, through the binary.

use ken_testing::{has, holds};
use serde_json::{Value, json};

use crate::full_disk::limited;
use crate::harness::{Ken, keys, refused, refuses, words};

/// Six documents of one passage each, of which three are of 2021.
fn write_documents(ken: &Ken) {
    let lines: Vec<String> = (0..6)
        .map(|n| {
            let year = 2020 + n % 2;
            json!({"id": format!("d{n}"), "contents": format!("vane {n}"), "year": year})
                .to_string()
        })
        .collect();
    ken.write("many.jsonl", lines.join("\n"));
}

fn ingested(shards: &[&str]) -> Ken {
    let ken = Ken::new();
    write_documents(&ken);
    ken.json(&[&["ingest", "many.jsonl", "--corpus", "c"], shards].concat());
    ken
}

/// The ids of the documents found by words.
fn found(ken: &Ken, flags: &[&str]) -> Vec<String> {
    let search = ["search", "--corpus", "c", "--mode", "lexical", "vane"];
    let result = ken.json(&[&search, flags].concat());
    let hits = result["hits"].as_array().unwrap().iter();
    let mut ids: Vec<_> = hits
        .map(|hit| hit["doc_id"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    ids
}

fn corpus(ken: &Ken, rest: &[&str]) -> Value {
    ken.json(&[&["corpus"], rest, &["--corpus", "c"]].concat())
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_corpus_is_changed_returned_to_and_compacted() {
    let ken = ingested(&[]);
    let info = corpus(&ken, &["info"]);
    assert_eq!(
        keys(&info),
        words(
            "generation documents passages pruned shards bytes embedder dimensions \
             segmentation dense"
        )
    );
    assert_eq!(
        keys(&info["shards"][0]),
        ["id", "documents", "passages", "bytes"]
    );
    has!(info, ["documents"]: 6, ["dimensions"]: 384);

    assert_eq!(corpus(&ken, &["delete", "--doc", "d0"])["documents"], 5);
    let marks = "{\"passage_id\": \"d1#0\", \"score\": 0.9, \"reason\": \"known\"}\n\n{\"passage_id\": \"d2#0\"}\n";
    ken.write("marks.jsonl", marks);
    let pruned = ken.json(&["prune", "apply", "--corpus", "c", "--ids", "marks.jsonl"]);
    has!(pruned, ["passages"]: 3, ["pruned"]: 2);
    assert_eq!(found(&ken, &[]), ["d3", "d4", "d5"]);
    let history = ken.text(&["corpus", "history", "--corpus", "c", "--json"]);
    let changes: Vec<Value> = history
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["change"].clone())
        .collect();
    assert_eq!(changes, ["ingest", "delete", "prune"]);

    assert_eq!(corpus(&ken, &["rollback", "1"])["passages"], 6);
    assert_eq!(found(&ken, &[]).len(), 6);
    corpus(&ken, &["rollback", "3"]);
    let compacted = corpus(&ken, &["compact"]);
    has!(compacted, ["passages"]: 3, ["pruned"]: 0);
    assert!(compacted["bytes"].as_u64().unwrap() < info["bytes"].as_u64().unwrap());
    let refusal = ken.refusal(&["corpus", "rollback", "1", "--corpus", "c"]);
    refusal.is("unknown_generation", "keeps no generation 1", "it keeps");

    let exported = ken.text(&["corpus", "export", "--corpus", "c"]);
    assert_eq!(exported.lines().count(), 3);
    let first: Value = serde_json::from_str(exported.lines().next().unwrap()).unwrap();
    assert_eq!(
        first,
        json!({"id": "d3#0", "title": "", "contents": "vane 3", "doc_id": "d3", "metadata": {"year": 2021}})
    );
    ken.text(&["corpus", "export", "--corpus", "c", "--to", "out.jsonl"]);
    assert_eq!(ken.read("out.jsonl"), exported);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_is_wrong_with_a_change_is_told_and_changes_nothing() {
    let ken = ingested(&[]);
    ken.refusal(&["corpus", "delete", "--corpus", "c", "--doc", "x"])
        .is("unknown_document", "\"x\"", "nothing was changed");
    for (line, kind, message) in [
        ("{\"passage_id\": \"x#0\"}", "unknown_passage", "x#0"),
        ("{\"passage\": 3}", "bad_prune_line", "bad.jsonl:2"),
    ] {
        ken.write(
            "bad.jsonl",
            format!("{{\"passage_id\": \"d1#0\"}}\n{line}\n"),
        );
        ken.refusal(&["prune", "apply", "--corpus", "c", "--ids", "bad.jsonl"])
            .is(kind, message, "nothing was changed");
    }
    refuses!(ken, &["corpus", "info", "--corpus", "none"] => "not_a_corpus", "none", "ken ingest");
    refuses!(ken, &["corpus", "compact", "--corpus", "none"] =>
        "not_a_corpus", "none", "ken ingest");
    assert_eq!(corpus(&ken, &["info"])["generation"], 1);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn damage_is_named_and_repaired() {
    let ken = ingested(&["--shards", "2"]);
    assert_eq!(
        corpus(&ken, &["verify"]),
        json!({"ok": true, "damaged": []})
    );
    let file = "c/segments/00000001-001/vectors.f32";
    let mut bytes = std::fs::read(ken.path(file)).unwrap();
    bytes[100] ^= 1;
    ken.write(file, bytes);
    let verify = ["corpus", "verify", "--corpus", "c", "--json"];
    let output = ken.command(&verify).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed["ok"], false);
    assert_eq!(printed["damaged"].as_array().unwrap().len(), 1);
    assert_eq!(printed["damaged"][0]["file"], file);

    let repaired = corpus(&ken, &["verify", "--repair"]);
    assert_eq!(repaired["shards"][1]["documents"], 0);
    let report = ken.json(&["ingest", "many.jsonl", "--corpus", "c"]);
    assert_eq!(report["documents"]["unchanged"], repaired["documents"]);
    assert_eq!(found(&ken, &[]).len(), 6);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_backup_is_searched_and_restored() {
    let ken = ingested(&[]);
    let backup = ["corpus", "backup", "b", "--corpus", "c", "--json"];
    // A limit on the size of files stands for a full disk.
    let failed = refused(limited(&ken.command(&backup), "-f 1"));
    failed.is("file_too_large", "b/", "choose a folder");
    let nothing = ken.refusal(&["search", "--corpus", "b", "vane"]);
    nothing.is("not_a_corpus", "b is not a corpus", "ken ingest");

    let done = ken.json(&backup[..5]);
    assert_eq!(
        keys(&done),
        ["generation", "copied_files", "copied_bytes", "bytes"]
    );
    let info = corpus(&ken, &["info"]);
    assert_eq!(done["bytes"], info["bytes"]);
    assert_eq!(ken.json(&["corpus", "info", "--corpus", "b"]), info);
    assert_eq!(ken.json(&backup[..5])["copied_files"], 0);
    let printed = ken.text(&["corpus", "backup", "b", "--corpus", "c"]);
    holds!("{printed}" => printed.starts_with("backed up generation 1 to b: 0 files"));

    std::fs::remove_dir_all(ken.path("c")).unwrap();
    ken.json(&["corpus", "backup", "c", "--corpus", "b"]);
    assert_eq!(found(&ken, &[]).len(), 6);
    ken.refusal(&["corpus", "backup", "c/in", "--corpus", "c"])
        .is("backup_refused", "within the corpus", "choose a new");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn jobs_for_single_shards_make_the_corpus_of_one_run() {
    let ken = ingested(&["--shards", "3"]);
    let whole = corpus(&ken, &["info"]);
    for (shard, described) in ["0", "1", "2"]
        .iter()
        .zip(whole["shards"].as_array().unwrap())
    {
        let part = format!("p{shard}");
        let job = words("ingest many.jsonl --shards 3");
        let job = [&job[..], &["--only-shard", shard, "--corpus", &part]].concat();
        let report = ken.json(&job);
        assert_eq!(report["documents"]["added"], described["documents"]);
        let others = 6 - described["documents"].as_u64().unwrap();
        assert_eq!(report["other_shards"], others);
        // A job that is started again has nothing left to do.
        assert_eq!(ken.json(&job)["documents"]["added"], 0);
    }
    let join =
        |parts: &[&'static str]| [&["corpus", "join", "--corpus", "joined"][..], parts].concat();
    refuses!(ken, &join(&["p0", "p2"]) => "shards_missing", "no part holds 1", "--partial");
    let refused = ken.refusal(&join(&["p0", "p1", "p2", "p1"]));
    refused.is("shard_twice", "p1 holds shard 1", "--only-shard I");
    ken.json(&join(&["p0", "p1", "p2"]));
    let joined = ken.json(&["corpus", "info", "--corpus", "joined"]);
    for shard in 0..3 {
        for count in ["documents", "passages"] {
            has!(joined, ["shards"][shard][count]: whole["shards"][shard][count]);
        }
    }
    let ids = |name: &str| {
        let text = ken.text(&["corpus", "export", "--corpus", name]);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(ids("joined"), ids("c"));

    // The first shard and the others make the whole, and share nothing.
    let mut parts = found(&ken, &["--scale", "1"]);
    parts.extend(found(&ken, &["--scale", "2", "--reverse"]));
    parts.sort();
    assert_eq!(parts, found(&ken, &[]));
    ken.refusal(&["search", "--corpus", "c", "x", "--scale", "4"])
        .is("too_few_shards", "4 shards", "from 1 to 3");
    ken.refusal(&["ingest", "many.jsonl", "--corpus", "c", "--shards", "4"])
        .is("other_sharding", "3 shards", "--shards 3");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_shard_without_documents_is_a_part_too() {
    let ken = Ken::new();
    ken.write("one.txt", "The Marigold is moored at berth 19.");
    for (shard, part) in [("0", "a"), ("1", "b")] {
        let sharding = ["--shards", "2", "--only-shard", shard];
        let job = [&["ingest", "one.txt", "--corpus", part][..], &sharding].concat();
        for _ in 0..2 {
            assert_eq!(ken.json(&job)["generation"], 1);
        }
    }
    let joined = ken.json(&["corpus", "join", "a", "b", "--corpus", "joined"]);
    assert_eq!(joined["documents"], 1);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn filters_leave_the_documents_that_fit() {
    let ken = ingested(&[]);
    assert_eq!(found(&ken, &["--filter", "year>2020"]), ["d1", "d3", "d5"]);
    assert_eq!(
        found(&ken, &["--filter", "year=2020", "--filter", "year!=2020"]),
        [""; 0]
    );
    let output = ken
        .command(&["search", "--corpus", "c", "x", "--filter", "year"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn of_a_changed_document_only_the_changed_passages_are_embedded() {
    let ken = Ken::new();
    let ingest = ["ingest", "a.txt", "--corpus", "c", "--segment", "words:2"];
    ken.write("a.txt", "one two three four five six");
    ken.json(&ingest);
    ken.write("a.txt", "one two three 4 five six");
    let report = ken.json(&ingest);
    has!(report, ["passages"]: 3, ["reused"]: 2);
    let hits = ken.json(&words("search --corpus c --mode dense --k 9 'five six'"));
    assert_eq!(hits["hits"].as_array().unwrap().len(), 3);
    assert_eq!(hits["hits"][0]["text"], "five six");
}
