//! Standard input, and formats given by name. The child process of these tests is this program.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ken_documents::{Documents, Format, ReadOptions, read_documents, read_documents_with};
use ken_testing::with;

use crate::files::packed::{bzip2, gzip, zstd};
use crate::folder;

/// The variable that tells the child the format of standard input.
const FORMAT: &str = "KEN_TEST_STDIN_FORMAT";

#[test]
fn child_that_reads_stdin() {
    let Ok(format) = env::var(FORMAT) else {
        return;
    };
    let documents = read_as(&[PathBuf::from("-")], format.parse().unwrap());
    assert_eq!(documents.progress().bytes_total, None);
    for document in documents {
        match document {
            Ok(found) => println!("\n> {}|{}|{}", found.id, found.title, found.text),
            Err(error) => println!("\n> {}: {error}", error.kind()),
        }
    }
}

fn read_as(paths: &[PathBuf], format: Format) -> Documents {
    let options = with!(ReadOptions::default(), format: Some(format));
    read_documents_with(paths, options).unwrap()
}

fn read_through_a_pipe(format: &str, contents: &[u8]) -> Vec<String> {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "stdin::child_that_reads_stdin"])
        .env(FORMAT, format)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(contents).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("> "));
    lines.map(str::to_owned).collect()
}

#[test]
fn stdin_is_read_in_any_compression() {
    let lines = b"{\"id\":\"a\",\"title\":\"T\",\"text\":\"x\"}\n{\"id\":\"b\",\"text\":\"y\"}\n";
    for contents in [lines.to_vec(), gzip(lines), zstd(lines), bzip2(lines)] {
        assert_eq!(read_through_a_pipe("jsonl", &contents), ["a|T|x", "b||y"]);
    }
    assert_eq!(read_through_a_pipe("txt", b"x"), ["stdin|stdin|x"]);
    assert_eq!(read_through_a_pipe("md", b"# H\n\ny"), ["stdin|H|y"]);
    assert_eq!(read_through_a_pipe("csv", b"id,text\na,x\n"), ["a||x"]);
    let packed = gzip(lines);
    assert_eq!(
        read_through_a_pipe("jsonl", &packed[..packed.len() - 3])
            .last()
            .unwrap(),
        "truncated_gzip: stdin is cut off: the gzip data end too early"
    );
    assert_eq!(
        read_through_a_pipe("jsonl", b"{\n"),
        ["broken_json: stdin:1: broken JSON: EOF while parsing an object at line 1 column 1"]
    );
}

#[test]
fn stdin_needs_a_format() {
    let error = read_documents(&[PathBuf::from("-")]).err().unwrap();
    assert_eq!(error.kind(), "stdin_without_format");
    assert!(error.remedy().unwrap().mentions("format jsonl"));
}

#[test]
fn a_named_format_is_stronger_than_a_files_name() {
    let dir = folder(&[
        ("a.dat", b"id\ttext\nr\tx\n"),
        ("b.csv.gz", &gzip(b"id\ttext\ns\ty\n")),
        ("c/d.txt", b"z"),
    ]);
    let paths = ["a.dat", "b.csv.gz", "c"].map(|name| dir.path().join(Path::new(name)));
    let ids: Vec<String> = read_as(&paths, Format::Tsv)
        .map(|document| document.unwrap().id)
        .collect();
    assert_eq!(ids, ["r", "s", "d.txt"]);
}
