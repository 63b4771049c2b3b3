//! Documents, questions and folders that cannot be used: the refusal names each.

use std::fs;

use ken_testing::{cases, has};
use serde_json::json;

use crate::documents::{changes, gzip, with_notes};
use crate::harness::{Ken, Refusal, refuses};

fn ingested(ken: &Ken, path: &str) -> Refusal {
    ken.refusal(&["ingest", path, "--corpus", "c"])
}

/// Lines of records or questions; line 17 is `bad`.
fn with_bad_line(bad: &[u8]) -> Vec<u8> {
    let mut lines = Vec::new();
    for line in 1..=20 {
        if line == 17 {
            lines.extend(bad);
        } else {
            let good = json!({
                "id": line.to_string(),
                "contents": format!("Passage {line}."),
                "question": format!("Question {line}?"),
                "golden_answers": ["yes"],
            });
            lines.extend(good.to_string().bytes());
        }
        lines.push(b'\n');
    }
    lines
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn broken_lines_are_named() {
    let ken = Ken::new();
    let cases: [(&[u8], &str, &str, &str); 4] = cases![
        b"{\"id\": \"17\", \"contents\": " => "broken_json", "17: broken JSON", "one JSON object";
        b"{\"id\": \"17\"}" => "missing_field", "17: ", "\"contents\"";
        b"{\"id\": \"17\", \"contents\": \"\xff\"}" => "invalid_utf8", "17: invalid UTF-8", "iconv";
        b"{\"id\": \"3\", \"contents\": \"again\"}" => "duplicate_id", "17: ", "an id of its own";
    ];
    for (line, kind, message, hint) in cases {
        ken.write("c.jsonl", with_bad_line(line));
        ingested(&ken, "c.jsonl").is(kind, &format!("c.jsonl:{message}"), hint);
    }
    let eval = ["eval", "q.jsonl", "--policy", "never"];
    let cases: [(&[u8], &str, &str, &str); 2] = cases![
        b"{\"id\": \"17\", \"question\": " => "not_a_question", "line 17, column", "golden_answers";
        b"{\"id\": \"\xff\"}" => "questions_not_utf8", "line 17: not valid UTF-8", "iconv";
    ];
    for (line, kind, message, hint) in cases {
        ken.write("q.jsonl", with_bad_line(line));
        refuses!(ken, &eval => kind, &format!("q.jsonl, {message}"), hint);
    }

    fs::remove_file(ken.path("q.jsonl")).unwrap();
    refuses!(ken, &eval => "questions_unreadable", "questions in q.jsonl: ", "check the path");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_broken_line_costs_nothing_that_was_published() {
    let ken = with_notes();
    ken.write("notes/z.jsonl", with_bad_line(b"{"));
    refuses!(ken, &["ingest", "notes", "--corpus", "island"] => "broken_json", "z.jsonl:17", "--skip-broken");
    ken.write("notes/z.jsonl", with_bad_line(b""));
    let report = ken.json(&["ingest", "notes", "--corpus", "island"]);
    assert_eq!(report["documents"], changes([19, 0, 0, 0, 5]));
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn documents_that_cannot_be_read() {
    let ken = Ken::new();
    ken.write("damaged.txt", b"caf\xc3\xa9 caf\xc3\xa9 \xe9");
    let message = "damaged.txt:1: invalid UTF-8 at byte 12";
    ingested(&ken, "damaged.txt").is("invalid_utf8", message, "iconv");

    ken.write("pictures/a.png", "");
    ingested(&ken, "pictures").is("no_documents", "pictures holds no documents", ".jsonl");
    ingested(&ken, "pictures/a.png").is("unknown_format", "a.png is of no known format", ".md");
    ingested(&ken, "gone").is("missing_path", "gone does not exist", "spelling");

    ken.write("cut.txt.gz", &gzip("The keeper sleeps.")[..15]);
    ingested(&ken, "cut.txt.gz").is("truncated_gzip", "cut.txt.gz is cut off", "again");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn paths_are_looked_at_before_the_embedder() {
    let ken = Ken::new();
    let ingest = ["ingest", "gone", "--corpus", "c", "--embedder", "./none"];
    refuses!(ken, &ingest => "missing_path", "gone does not exist", "spelling");
    assert!(!ken.path("c").exists());
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_empty_corpus() {
    let ken = Ken::new();
    ken.write("empty.txt", " \n");
    let report = ken.json(&["ingest", "empty.txt", "--corpus", "c"]);
    has!(report, ["documents"]["added"]: 1, ["passages"]: 0);
    for arguments in [
        ["search", "--corpus", "c", "anything"],
        ["ask", "--corpus", "c", "Anything?"],
    ] {
        refuses!(ken, &arguments =>
            "empty_corpus", "the corpus c holds no passages", "ken ingest PATH… --corpus c");
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_folder_that_is_no_corpus() {
    let ken = Ken::new();
    ken.write("c/letter.txt", "Dear Ilse");
    for arguments in [
        ["search", "--corpus", "c", "anything"],
        ["ask", "--corpus", "gone", "Anything?"],
    ] {
        refuses!(ken, &arguments => "not_a_corpus", "is not a corpus", "ken ingest");
    }
    ken.write("a.txt", "The keeper sleeps.");
    ingested(&ken, "a.txt").is("folder_in_use", "c holds other files", "an empty folder");
    assert_eq!(ken.read("c/letter.txt"), "Dear Ilse");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn questions_without_words_or_with_too_many() {
    let ken = with_notes();
    for question in ["", "  \n"] {
        refuses!(ken, &["ask", "--corpus", "island", question] =>
            "empty_question", "the question is empty", "");
        refuses!(ken, &["search", "--corpus", "island", question] =>
            "empty_question", "is empty", "");
    }
    let long = "why ".repeat(25_000);
    assert_eq!(long.len(), 100_000);
    let refusal = ken.refusal(&["ask", "--policy", "never", &long]);
    refusal.is("question_too_long", "25", "shorten the question");
}

#[cfg(unix)]
#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_folder_that_cannot_be_written() {
    use std::os::unix::fs::PermissionsExt;

    let ken = Ken::new();
    ken.write("a.txt", "The keeper sleeps.");
    ken.write("locked/x", "");
    fs::set_permissions(ken.path("locked"), fs::Permissions::from_mode(0o555)).unwrap();
    // The superuser may write everywhere, but to no folder of processes.
    let superuser = fs::write(ken.path("locked/y"), "").is_ok();
    let corpus = match superuser {
        true if cfg!(target_os = "linux") => "/proc/self/corpus",
        true => return,
        false => "locked/corpus",
    };
    let refusal = ken.refusal(&["ingest", "a.txt", "--corpus", corpus]);
    let message = &refusal.message;
    assert!(
        message.starts_with(&format!("cannot create {corpus}")),
        "{message}"
    );
    if !superuser {
        refusal.is("permission_denied", "", "permissions");
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_error_as_text_goes_to_stderr() {
    let ken = Ken::new();
    let output = ken
        .command(&["search", "--corpus", "gone", "x"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "error: gone is not a corpus\nhint: make one with `ken ingest PATH… --corpus gone`\n"
    );
}
