//! `ken corpus push`, and a corpus in Milvus everywhere a corpus goes. The server is milvus-lite,
//! which `cargo xtask test` sets up.

use std::time::{Duration, Instant};

use ken_testing::{has, holds};
use serde_json::{Value, json};

use crate::documents::with_notes;
use crate::harness::{keys, refuses, texts, words};
use crate::milvus_lite::MilvusLite;
use crate::serve::Serving;

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_corpus_in_milvus_is_searched_as_the_one_on_disk() {
    let ken = with_notes();
    let server = MilvusLite::start();
    let address = server.address("island");

    let info = ken.json(&["corpus", "info", "--corpus", "island"]);
    let push = ["corpus", "push", "--corpus", "island", "--to", &address];
    let pushed = ken.json(&push);
    let of_info = keys(&info);
    assert_eq!(keys(&pushed)[..of_info.len()], of_info);
    assert_eq!(
        keys(&pushed)[of_info.len()..],
        ["to", "sent", "deleted", "kept"]
    );
    for key in of_info {
        assert_eq!(pushed[key], info[key], "{key}");
    }
    has!(pushed, ["sent"]: info["passages"], ["kept"]: Value::from(0));
    let text = ken.text(&push);
    holds!("{text}" => text.starts_with("0 passages sent, 0 deleted, 5 kept"));

    assert_eq!(ken.json(&["corpus", "info", "--corpus", &address]), info);

    let parts = server.address("parts");
    let part = |number: &'static str| {
        let push = ["corpus", "push", "--corpus", "island", "--to", &parts];
        [&push[..], &["--part", number]].concat()
    };
    let first = ken.json(&part("1/2"));
    assert_eq!(first["missing"], json!(["2/2"]));
    let text = ken.text(&part("1/2"));
    holds!("{text}" => text.ends_with("these parts are pushed, too: 2/2\n"));
    let last = ken.json(&part("2/2"));
    assert_eq!(last["missing"], json!([]));
    let sent = [&first, &last].map(|pushed| pushed["sent"].as_u64().unwrap());
    assert_eq!(Value::from(sent[0] + sent[1]), info["passages"]);
    assert_eq!(ken.json(&["corpus", "info", "--corpus", &parts]), info);
    let hits = |corpus: &str, mode: &str| {
        let query = "keeper of the lighthouse of Orrin";
        let search = ["search", query, "--corpus", corpus, "--mode", mode];
        let results = ken.json(&[&search[..], &["--k", "2"]].concat());
        texts(&results["hits"], "passage_id")
    };
    for mode in ["dense", "lexical", "hybrid"] {
        assert_eq!(hits(&address, mode)[0], hits("island", mode)[0], "{mode}");
    }
    let search = format!("search --corpus {address} --filter nothing=here lighthouse");
    assert_eq!(ken.json(&words(&search))["hits"], json!([]));
    let ask = format!("ask --corpus {address} 'Who keeps the Orrin lighthouse?'");
    let answer = ken.json(&words(&ask));
    assert_eq!(answer["retrieved"][0]["passage_id"], "harbour.txt#0");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_corpus_in_milvus_is_pruned_there_and_switched_back() {
    let ken = with_notes();
    let server = MilvusLite::start();
    let address = server.address("island");
    let push = ["corpus", "push", "--corpus", "island", "--to", &address];
    let pushed = ken.json(&push);
    let found = |filter: &str| {
        let search = ["search", "--corpus", &address, "--mode", "dense"];
        let more = ["--k", "5", "--filter", filter, "the lighthouse of Orrin"];
        texts(
            &ken.json(&[&search[..], &more].concat())["hits"],
            "passage_id",
        )
    };
    let everything = "NOT nothing=here";
    assert_eq!(found(everything)[0], "harbour.txt#0");

    let line = json!({"passage_id": "harbour.txt#0", "score": 0.9}).to_string();
    ken.write("passages.jsonl", line);
    let score = ["prune", "score", "--corpus", &address];
    let scored = ken.json(&[&score[..], &["--scores", "passages.jsonl"]].concat());
    assert_eq!(scored["scores"], json!(["mastery"]));
    assert_eq!(found("mastery>=0.9"), ["harbour.txt#0"]);
    assert_eq!(found("NOT mastery>=0.9").len(), 4);
    let drawn = ken.json(&[&score[..], &["--method", "random", "--name", "chance"]].concat());
    assert_eq!(drawn["scores"], json!(["chance", "mastery"]));
    assert_eq!(found("chance>=0").len(), 5);

    let apply = ["prune", "apply", "--corpus", &address];
    let by_ratio = |more: &[&str]| ken.json(&[&apply[..], more].concat());
    let kept = by_ratio(&["--score", "mastery", "--ratio", "0.2"]);
    let folder = ["prune", "apply", "--corpus", "island", "--method", "random"];
    let dry = ["--ratio", "0.4", "--dry-run", "--out"];
    let of_folder = ken.json(&[&folder[..], &dry, &["folder.jsonl"]].concat());
    assert_eq!(keys(&kept), keys(&of_folder));
    has!(kept, ["pruned"]: 1, ["passages"]: 5, ["method"]: "kept");
    assert!(!found(everything).contains(&"harbour.txt#0".to_owned()));
    // What goes is what goes in the folder, and of what went before as well.
    by_ratio(&[&["--method", "random"][..], &dry, &["milvus.jsonl"]].concat());
    assert_eq!(ken.read("milvus.jsonl"), ken.read("folder.jsonl"));
    let undone = ken.json(&["prune", "undo", "--corpus", &address]);
    assert_eq!(undone["pruned"], json!(0));
    assert_eq!(found(everything)[0], "harbour.txt#0");
    refuses!(ken, &[&apply[..], &["--ratio", "0.2", "--filter", "a=b", "--score", "x"]].concat() =>
        "part_of_corpus", "whole corpus", "--filter");

    let by_ids = [&apply[..], &["--ids", "passages.jsonl"]].concat();
    let pruned = ken.json(&by_ids);
    assert_eq!(keys(&pruned), keys(&scored));
    has!(pruned, ["pruned"]: 1, ["passages"]: 4);
    assert!(!found(everything).contains(&"harbour.txt#0".to_owned()));
    assert_eq!(ken.json(&by_ids), pruned);

    let switched = ken.json(&[&push[..], &["--switch"]].concat());
    assert_eq!(keys(&switched), keys(&pushed));
    assert_eq!(switched["sent"], pushed["passages"]);
    assert_eq!(found(everything)[0], "harbour.txt#0");
    let again = ken.text(&[&push[..], &["--switch"]].concat());
    assert!(again.starts_with("0 passages sent"), "{again}");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_server_shows_what_an_alias_was_switched_to() {
    let ken = with_notes();
    let server = MilvusLite::start();
    let address = server.address("island");
    let push = ["corpus", "push", "--corpus", "island", "--to", &address];
    let switch = [&push[..], &["--switch"]].concat();
    ken.json(&switch);
    let serving = Serving::start(&ken, &["--corpus", &address]);
    let shown = || {
        let corpora = serving.get("/v1/ken/corpora");
        ["generation", "passages"].map(|key| corpora["corpora"][0][key].clone())
    };
    assert_eq!(shown(), [json!(1), json!(5)]);
    ken.write("more/pier.txt", "Pier four of Orrin is painted green.");
    ken.text(&["ingest", "more", "--corpus", "island"]);
    ken.json(&switch);
    let deadline = Instant::now() + Duration::from_secs(60);
    while shown() != [json!(2), json!(6)] {
        assert!(Instant::now() < deadline, "{:?}", shown());
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_cannot_be_done_in_milvus_is_refused_with_the_way_that_can() {
    let ken = with_notes();
    let address = "milvus://127.0.0.1:9/island";
    for verb in [
        &["corpus", "verify"][..],
        &["corpus", "history"],
        &["corpus", "rollback", "1"],
        &["corpus", "delete", "--doc", "a"],
        &["corpus", "compact"],
        &["corpus", "export"],
        &["corpus", "push", "--to", "milvus://127.0.0.1:9/other"],
        &["ingest", "notes"],
    ] {
        let refused = ken.refusal(&[verb, &["--corpus", address]].concat());
        refused.is("corpus_in_milvus", address, "ken corpus push");
    }
    let push = ["corpus", "push", "--corpus", "island", "--to", address];
    refuses!(ken, &push => "milvus_unreachable", "127.0.0.1:9", "server runs");
    let search = ["search", "--corpus", address, "lighthouse"];
    refuses!(ken, &search => "milvus_unreachable", "127.0.0.1:9", "server runs");
}
