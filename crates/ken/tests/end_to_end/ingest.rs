//! Ingesting documents: every format, changes, segmentations.

use ken_testing::{has, says};
use serde_json::{Value, json};

use crate::documents::{HARBOUR, changes, with_notes, write_notes};
use crate::harness::{Ken, keys, words};

/// The passages that contain a word, best first, as `(passage_id, text)`.
fn found(ken: &Ken, corpus: &str, words: &str) -> Vec<(String, String)> {
    let arguments = ["search", "--corpus", corpus, "--mode", "lexical"];
    let result = ken.json(&[&arguments[..], &["--k", "50", words]].concat());
    let text = |hit: &Value, field: &str| hit[field].as_str().unwrap().to_owned();
    let hits = result["hits"].as_array().unwrap();
    hits.iter()
        .map(|hit| (text(hit, "passage_id"), text(hit, "text")))
        .collect()
}

fn ids(ken: &Ken, words: &str) -> Vec<String> {
    let found = found(ken, "island", words);
    found.into_iter().map(|(id, _)| id).collect()
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn quiet_says_what_changed_alone() {
    let ken = Ken::new();
    ken.write("notes/a.txt", b"The caf\xe9 is closed.");
    ken.write("notes/b.bin", "0");
    let ingest = ["ingest", "notes", "--corpus", "c"];
    let told = ken.text(&ingest);
    says!(told => "1 .bin", "note: ", "windows-1252");
    let quiet = ken.text(&[&ingest[..], &["--quiet"]].concat());
    assert_eq!(quiet.lines().count(), 1, "{quiet}");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn every_format_is_read_once_and_changes_replace() {
    let ken = Ken::new();
    write_notes(&ken);
    let ingest = ["ingest", "notes", "--corpus", "island"];
    let report = ken.json(&ingest);
    assert_eq!(
        keys(&report),
        words(
            "corpus generation documents broken skipped excluded unread notices other_shards \
             passages reused longer_than_embedder"
        )
    );
    assert_eq!(
        report,
        json!({
            "corpus": "island",
            "generation": 1,
            "documents": { "added": 5, "moved": 0, "replaced": 0, "deleted": 0, "unchanged": 0 },
            "broken": 0,
            "skipped": 0,
            "excluded": 0,
            "unread": [{ "extension": "png", "files": 1, "example": "notes/picture.png" }],
            "notices": [],
            "other_shards": 0,
            "passages": 5,
            "reused": 0,
            "longer_than_embedder": 0,
        })
    );
    for (word, id) in [
        ("seals", "harbour.txt#0"),
        ("oven", "town/bakery.md#0"),
        ("pier", "ferry.html#0"),
        ("312", "museum-1#0"),
        ("Lenn", "bridge-1#0"),
    ] {
        assert_eq!(ids(&ken, word), [id], "{word}");
    }
    for absent in ["zeppelin", "document", "example"] {
        assert!(ids(&ken, absent).is_empty(), "{absent}");
    }

    let again = ken.json(&ingest);
    has!(again, ["generation"]: 1, ["documents"]: changes([0, 0, 0, 0, 5]), ["passages"]: 0);

    ken.write("notes/harbour.txt", HARBOUR.replace("seals", "otters"));
    let changed = ken.json(&ingest);
    has!(changed, ["generation"]: 2, ["documents"]: changes([0, 0, 1, 0, 4]), ["passages"]: 1);
    assert!(ids(&ken, "seals").is_empty());
    assert_eq!(ids(&ken, "otters"), ["harbour.txt#0"]);
    assert_eq!(ids(&ken, "oven"), ["town/bakery.md#0"]);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn documents_are_cut_as_asked() {
    let ken = Ken::new();
    ken.write(
        "en.txt",
        "Dr. Ito keeps a log. Is it dry? It is dry. 今天有雨。明天呢？",
    );
    let count: Vec<String> = (1..=50).map(|n| format!("word{n}")).collect();
    ken.write("count.txt", count.join(" "));

    ken.text(&words(
        "ingest en.txt --corpus sentences --segment sentence",
    ));
    let mut sentences = found(&ken, "sentences", "ito log dry 今天有雨 明天呢");
    sentences.sort();
    let texts: Vec<&str> = sentences.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "Dr. Ito keeps a log.",
            "Is it dry?",
            "It is dry.",
            "今天有雨。",
            "明天呢？"
        ]
    );

    ken.text(&words(
        "ingest count.txt --corpus words --segment words:20/5",
    ));
    let mut windows = found(&ken, "words", "word1 word16 word36");
    windows.sort();
    let windows: Vec<String> = windows.into_iter().map(|(_, text)| text).collect();
    assert_eq!(
        windows,
        [
            count[..20].join(" "),
            count[15..35].join(" "),
            count[30..].join(" ")
        ]
    );

    let report = ken.json(&words(
        "ingest count.txt --corpus tokens --segment tokens:32",
    ));
    let mut pieces = found(&ken, "tokens", &count.join(" "));
    assert_eq!(report["passages"], pieces.len());
    assert!(pieces.len() > 2, "{pieces:?}");
    pieces.sort_by_key(|(id, _)| id.rsplit_once('#').unwrap().1.parse::<usize>().unwrap());
    let joined: String = pieces
        .iter()
        .map(|(_, text)| text.replace(' ', ""))
        .collect();
    assert_eq!(joined, count.concat());

    let refusal = ken.refusal(&words("ingest count.txt --corpus words --segment sentence"));
    refusal.is("other_segmentation", "words:20/5", "words:20/5");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_corpus_finds_its_embedder_from_any_folder() {
    let ken = Ken::new();
    copy_embedder(&ken, "here/minilm");
    ken.write("here/a.txt", "The keeper sleeps.");
    ken.write("there/b.txt", "");
    let status = ken
        .command(&["ingest", "a.txt", "--corpus", "c"])
        .current_dir(ken.path("here"))
        .env("KEN_EMBEDDER", "./minilm")
        .output()
        .unwrap();
    assert!(status.status.success());
    let output = ken
        .command(&["search", "--corpus", "../here/c", "keeper", "--json"])
        .current_dir(ken.path("there"))
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.contains("a.txt#0"), "{stdout}");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_corpus_inside_its_documents_is_no_document() {
    let ken = with_notes();
    let arguments = ["ingest", "notes", "--corpus", "notes/corpus"];
    assert_eq!(ken.json(&arguments)["documents"]["added"], 5);
    assert_eq!(ken.json(&arguments)["documents"]["unchanged"], 5);
}

/// Copies the embedder below the working folder.
pub(crate) fn copy_embedder(ken: &Ken, name: &str) {
    fn copy(from: &std::path::Path, to: &std::path::Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let from = entry.unwrap().path();
            let to = to.join(from.file_name().unwrap());
            if from.is_dir() {
                copy(&from, &to);
            } else {
                std::fs::copy(&from, &to).unwrap();
            }
        }
    }
    copy(&crate::harness::embedder(), &ken.path(name));
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn broken_documents_can_be_left_out() {
    let ken = Ken::new();
    ken.write("notes/a.md", "the vane turns");
    ken.write("notes/b.pdf", "no such thing");
    ken.write(
        "notes/c.jsonl",
        "{\"id\": \"c\", \"contents\": \"a vane\"}\n{\"id\"\n",
    );
    let ingest = words("ingest notes --corpus c --skip-broken --json");
    let output = ken.command(&ingest).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    has!(report, ["documents"]["added"]: 2, ["broken"]: 2);
    let stderr = String::from_utf8(output.stderr).unwrap();
    says!(stderr => "skipped: notes/b.pdf", "skipped: notes/c.jsonl:2");
    // Without it, the first one stops the run.
    let refusal = ken.refusal(&["ingest", "notes", "--corpus", "other"]);
    says!(refusal.message => "notes/b.pdf");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn documents_over_their_budget_are_left_out_or_end_the_run() {
    let ken = Ken::new();
    ken.write("notes/a.txt", "The vane turns.");
    ken.write("notes/b.txt", "The mast creaks. ".repeat(100));
    ken.write("notes/c.md", "> ".repeat(200) + "deep");
    let ingest = |corpus| {
        let mut ingest = vec!["ingest", "notes", "--corpus", corpus];
        ingest.extend(["--max-document-bytes", "1K"]);
        ingest
    };
    let mut skipping = ingest("c");
    skipping.extend(["--skip-broken", "--json"]);
    let output = ken.command(&skipping).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    has!(report, ["documents"]["added"]: 1, ["broken"]: 2);
    let stderr = String::from_utf8(output.stderr).unwrap();
    says!(stderr =>
        "skipped: notes/b.txt: the document has more than 1024 bytes",
        "skipped: notes/c.md: the document is nested more than 100 deep");
    ken.refusal(&ingest("other")).is(
        "document_too_large",
        "notes/b.txt: the document has more than 1024 bytes",
        "--max-document-bytes",
    );
}

#[test]
#[cfg(unix)]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn links_out_of_a_folder_are_told_of_and_read_where_that_is_asked_for() {
    let ken = Ken::new();
    ken.write("secret.txt", "The vault opens with walrus seventeen.");
    ken.write("docs/own.txt", "The boat is green.");
    std::os::unix::fs::symlink("../secret.txt", ken.path("docs/leak.txt")).unwrap();
    let ingest = ["ingest", "docs", "--corpus", "island"];
    let told = ken.command(&ingest).output().unwrap();
    let told = String::from_utf8(told.stderr).unwrap();
    says!(told => "docs/leak.txt: it is a link out of the folder; --follow-links");
    assert!(ids(&ken, "walrus").is_empty());
    ken.text(&[&ingest[..], &["--follow-links"]].concat());
    assert_eq!(ids(&ken, "walrus"), ["leak.txt#0"]);
}
