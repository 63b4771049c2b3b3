//! Files that cannot grow while documents are ingested: one error that names the place and the remedy, nothing lost,
//! and a later run that ingests the rest. A limit on the size of files stands for the full disk, since it needs no
//! privileges.

use std::process::{Command, Output};

use serde_json::json;

use crate::documents::changes;
use crate::harness::{Ken, refused};

const INGEST: [&str; 5] = ["ingest", "many.jsonl", "--corpus", "c", "--json"];

/// Documents whose vectors take 100 kB.
const DOCUMENTS: u64 = 64;

/// Runs the command in a process with a limit, such as `-f 9`: files may have so many blocks of 512 bytes; of 1024 in
/// some shells.
pub(crate) fn limited(command: &Command, limit: &str) -> Output {
    let script = format!("ulimit {limit}; trap '' XFSZ; exec \"$0\" \"$@\"");
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &script])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(command.get_current_dir().unwrap());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.output().unwrap()
}

fn write_many(ken: &Ken, documents: u64) {
    let text = |n: u64| format!("The vane of house {n} turns. {}", "All is dry. ".repeat(30));
    let lines = (0..documents).map(|n| json!({"id": format!("d{n}"), "contents": text(n)}));
    ken.write_lines("many.jsonl", lines);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_full_disk_is_one_clear_error_and_loses_nothing() {
    let ken = Ken::new();
    write_many(&ken, 1);
    ken.json(&INGEST[..4]);
    write_many(&ken, DOCUMENTS);
    // The passages take 27 kB, the vectors, which are written beside them, 98.
    for blocks in [16, 60] {
        let output = limited(&ken.command(&INGEST), &format!("-f {blocks}"));
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(stderr, "");
        let refusal = refused(output);
        refusal.is(
            "file_too_large",
            "vectors.f32",
            "nothing that was published is lost",
        );
        let hits = ken.json(&["search", "--corpus", "c", "--mode", "lexical", "vane"]);
        assert_eq!(hits["hits"].as_array().unwrap().len(), 1);
    }
    let report = ken.json(&INGEST[..4]);
    assert_eq!(report["documents"], changes([DOCUMENTS - 1, 0, 0, 0, 1]));
    let hits = ken.json(&["search", "--corpus", "c", "--mode", "lexical", "house 63"]);
    assert_eq!(hits["hits"][0]["doc_id"], "d63");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_corpus_that_finds_no_room_at_all_is_begun_later() {
    let ken = Ken::new();
    write_many(&ken, DOCUMENTS);
    refused(limited(&ken.command(&INGEST), "-f 0")).is("file_too_large", "c", "ulimit -f");
    let report = ken.json(&INGEST[..4]);
    assert_eq!(report["documents"]["added"], DOCUMENTS);
}
