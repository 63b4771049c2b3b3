//! A corpus in step with a folder: what it holds, what would change, what is deleted and moved; and where passages
//! are in their documents.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use ken_testing::{has, says};
use serde_json::{Value, json};

use crate::documents::{changes, write_notes};
use crate::harness::{Ken, objects, refuses, words};
use crate::stopped;

fn listed(ken: &Ken, more: &[&str]) -> Vec<String> {
    let arguments = ["corpus", "list", "--corpus", "island", "--json"];
    let text = ken.text(&[&arguments[..], more].concat());
    let documents = objects(&text).into_iter();
    documents
        .map(|document| document["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_corpus_follows_its_folder() {
    let ken = Ken::new();
    write_notes(&ken);
    let ingest = ["ingest", "notes", "--corpus", "island", "--sync"];
    assert_eq!(ken.json(&ingest)["documents"]["added"], 5);
    let all = words("ferry.html harbour.txt museum-1 bridge-1 town/bakery.md");
    assert_eq!(listed(&ken, &[]), all);
    assert_eq!(listed(&ken, &["--prefix", "town/"]), ["town/bakery.md"]);
    assert_eq!(
        listed(&ken, &["--after", "harbour.txt", "--limit", "1"]),
        ["museum-1"]
    );
    let list = ["corpus", "list", "--corpus", "island", "--after", "none.md"];
    refuses!(ken, &list => "unknown_document", "none.md", "ken corpus list");
    let shown = ken.text(&["corpus", "list", "--corpus", "island", "--prefix", "ferry"]);
    assert_eq!(shown, "ferry.html  Ferry times  (1 passage)\n");

    fs::rename(ken.path("notes/town/bakery.md"), ken.path("notes/oven.md")).unwrap();
    fs::remove_file(ken.path("notes/ferry.html")).unwrap();
    let preview = ken.json(&[&ingest[..], &["--dry-run"]].concat());
    assert_eq!(
        preview,
        json!({
            "dry_run": true,
            "added": [],
            "moved": [{ "from": "town/bakery.md", "to": "oven.md" }],
            "replaced": [],
            "deleted": ["ferry.html"],
            "unchanged": 3,
            "broken": 0,
        })
    );
    assert_eq!(listed(&ken, &[]), all, "a dry run changes nothing");
    let shown = ken.text(&[&ingest[..], &["--dry-run"]].concat());
    says!(shown => "move    town/bakery.md -> oven.md");
    let report = ken.json(&ingest);
    has!(report, ["documents"]: changes([0, 1, 0, 1, 3]), ["reused"]: 1);
    assert_eq!(
        listed(&ken, &[]),
        ["harbour.txt", "museum-1", "bridge-1", "oven.md"]
    );
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_watched_folder_is_followed_until_the_end() {
    let ken = Ken::new();
    write_notes(&ken);
    let watch = ["ingest", "notes", "--corpus", "island", "--watch", "--json"];
    refuses!(ken, &words("ingest - --format txt --corpus island --watch") =>
        "watch_stdin", "stdin cannot be watched", "leave out --watch");
    let mut command = ken.command(&watch);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reports = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&reports.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["documents"], changes([5, 0, 0, 0, 0]));
    ken.write(
        "notes/lighthouse.md",
        "# Lighthouse\n\nIt was lit in 1871.\n",
    );
    assert_eq!(
        next()["documents"],
        changes([1, 0, 0, 0, 0]),
        "only what changed is read"
    );
    ken.write(
        "notes/lighthouse.md",
        "# Lighthouse\n\nIt was lit in 1872, at last.\n",
    );
    assert_eq!(next()["documents"], changes([0, 0, 1, 0, 0]));
    fs::rename(ken.path("notes/lighthouse.md"), ken.path("notes/beacon.md")).unwrap();
    assert_eq!(next()["documents"], changes([0, 1, 0, 0, 0]));
    fs::remove_file(ken.path("notes/ferry.html")).unwrap();
    assert_eq!(next()["documents"], changes([0, 0, 0, 1, 0]));
    // A broken file is reported, and the rest is followed.
    ken.write("notes/broken.pdf", "%PDF-1.7 broken");
    assert_eq!(next()["broken"], 1);
    fs::write(ken.path("notes/pier.txt"), "The pier is closed in winter.").unwrap();
    assert_eq!(next()["documents"], changes([1, 0, 0, 0, 0]));
    ken.write("notes/.ignore", "pier.txt\n");
    let report = next();
    has!(report, ["documents"]: changes([0, 0, 0, 1, 0]), ["excluded"]: 1);
    stopped::interrupt(&child);
    assert!(child.wait().unwrap().success());
    assert!(listed(&ken, &[]).contains(&"beacon.md".to_owned()));
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_is_excluded_is_counted_and_leaves_the_corpus() {
    let ken = Ken::new();
    for name in [
        "pier.md",
        "tide.md",
        "old.md",
        "made/log.md",
        "app/node_modules/a.md",
    ] {
        let text = format!("The text of {name} is about the island.");
        ken.write(&format!("notes/{name}"), text);
    }
    ken.write("notes/.gitignore", "made/\n");
    let ingest = ["ingest", "notes", "--corpus", "island"];
    let report = ken.json(&ingest);
    has!(report, ["documents"]: changes([3, 0, 0, 0, 0]), ["excluded"]: 2);
    let narrower = [&ingest[..], &["--sync", "--exclude", "old.*"]].concat();
    let shown = ken.text(&[&narrower[..], &["--dry-run"]].concat());
    says!(shown => "old.md");
    let shown = ken.text(&narrower);
    says!(shown => "excluded files and folders: 3");
    assert_eq!(listed(&ken, &[]), ["pier.md", "tide.md"]);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn passages_say_where_they_stand() {
    let ken = Ken::new();
    let watered = "They are watered each evening by the gardener of the island. ".repeat(12);
    ken.write(
        "garden/plants/tulips.md",
        format!(
            "# The garden\n\n## Tulips\n\n{watered}\n\nTulips like sand.\n\n## Roses\n\n{watered}\n"
        ),
    );
    let address = "https://garden.example/";
    ken.text(
        &[
            &words("ingest garden --corpus garden.ken --base-url")[..],
            &[address],
        ]
        .concat(),
    );
    let found = ken.json(&words(
        "search --corpus garden.ken --mode lexical 'tulips sand'",
    ));
    let hit = &found["hits"][0];
    has!(hit, ["title"]: "The garden", ["url"]: "https://garden.example/plants/tulips.md");
    let text = hit["text"].as_str().unwrap();
    assert!(text.contains("like sand"), "{text}");
    assert_eq!(
        hit.get("heading").is_some(),
        !text.starts_with("Tulips"),
        "{hit}"
    );
    let shown = ken.text(&words(
        "search --corpus garden.ken --mode lexical 'roses watered'",
    ));
    assert!(shown.contains("The garden"), "{shown}");
    let wrong = words("ingest garden --corpus g2.ken --base-url garden.example");
    let refused = ken.command(&wrong).output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("garden.example"));
    assert!(!refused.status.success());
}
