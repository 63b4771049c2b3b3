//! A model that is written over another one and interrupted: afterwards the folder opens as one or the other, or is
//! not taken for a model.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use candle_core::quantized::GgmlDType;
use ken_model::decoder::{Checkpoint, Decoder, LoadOptions, StoredAs};
use ken_testing::{fails, with};
use tempfile::TempDir;

use super::checkpoint::Tiny;
use super::folder::{self, Layout};
use super::gguf;

const FROM: &str = "KEN_TEST_WRITE_FROM";
const TO: &str = "KEN_TEST_WRITE_TO";

/// Started by the test below as a separate process; does nothing alone.
#[test]
fn one_that_writes() {
    let (Ok(from), Ok(to)) = (std::env::var(FROM), std::env::var(TO)) else {
        return;
    };
    let checkpoints =
        ["one", "other"].map(|name| Checkpoint::open(&Path::new(&from).join(name), None).unwrap());
    loop {
        for (checkpoint, stored) in checkpoints.iter().zip([StoredAs::F32, StoredAs::F16]) {
            checkpoint
                .write(Path::new(&to), stored, &BTreeMap::new())
                .unwrap();
        }
    }
}

fn tiny(layers: usize) -> Tiny {
    with!(Tiny::new("llama"), layers: layers)
}

#[test]
fn a_model_that_is_killed_while_it_is_written_is_the_old_or_the_new_or_refused() {
    let dir = TempDir::new().unwrap();
    for (name, layers) in [("one", 1), ("other", 3)] {
        let own = dir.path().join(name);
        std::fs::create_dir(&own).unwrap();
        folder::write(&tiny(layers), Layout::F32, &own);
    }
    let to = dir.path().join("to");
    std::fs::create_dir(&to).unwrap();
    // The first model is in several files.
    folder::write(&tiny(2), Layout::Sharded, &to);
    let (mut opened, mut refused) = (0, 0);
    for round in 0..40u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "replaced::one_that_writes"])
            .env(FROM, dir.path())
            .env(TO, &to)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(15_000 + 1_700 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        match Decoder::load(&to, &LoadOptions::default()) {
            Ok(decoder) => {
                let whole = (1..=3).contains(&decoder.config().layers);
                assert!(whole, "{:?}", decoder.config());
                opened += 1;
            }
            Err(error) => {
                assert_eq!(error.kind(), "incomplete_model", "{error}");
                assert!(error.to_string().contains("config.json"), "{error}");
                refused += 1;
            }
        }
    }
    assert!(opened > 0, "{opened} opened, {refused} refused");
}

#[test]
fn a_model_written_over_another_leaves_nothing_of_it() {
    let dir = TempDir::new().unwrap();
    let to = dir.path().join("to");
    std::fs::create_dir(&to).unwrap();
    folder::write(&tiny(2), Layout::Sharded, &to);
    std::fs::write(to.join("ken.json"), "old").unwrap();
    std::fs::write(to.join("history.jsonl"), "kept").unwrap();
    let path = dir.path().join("tiny.gguf");
    gguf::write(&tiny(1), GgmlDType::F32, &path);
    let base = Checkpoint::open(&path, None).unwrap();
    base.write(&to, StoredAs::F32, &BTreeMap::new()).unwrap();
    let mut names: Vec<String> = std::fs::read_dir(&to)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let expected = [
        "config.json",
        "history.jsonl",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ];
    assert_eq!(names, expected);
    // Written over itself it stays the same.
    let own = Checkpoint::open(&to, None).unwrap();
    own.write(&to, StoredAs::F32, &BTreeMap::new()).unwrap();
    let again = Checkpoint::open(&to, None).unwrap();
    assert_eq!(own.fingerprint(), again.fingerprint());
}

#[test]
fn a_folder_without_what_is_written_last_is_incomplete() {
    let dir = TempDir::new().unwrap();
    folder::write(&tiny(1), Layout::F32, dir.path());
    std::fs::remove_file(dir.path().join("config.json")).unwrap();
    fails!(Checkpoint::open(dir.path(), None) => "incomplete_model"; "");
    let own = TempDir::new().unwrap();
    folder::write(&tiny(1), Layout::F32, own.path());
    let adapter = TempDir::new().unwrap();
    std::fs::write(adapter.path().join("adapter_model.safetensors"), "x").unwrap();
    fails!(Checkpoint::open(own.path(), Some(adapter.path())) =>
        "incomplete_model", "adapter_config.json");
}

#[test]
fn every_file_that_bears_on_answers_is_in_the_fingerprint() {
    let dir = TempDir::new().unwrap();
    folder::write(&tiny(1), Layout::F32, dir.path());
    let fingerprint = || {
        Checkpoint::open(dir.path(), None)
            .unwrap()
            .fingerprint()
            .to_owned()
    };
    let mut seen = vec![fingerprint()];
    let mut change = |name: &str, from: &str, to: &str| {
        let path = dir.path().join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{name}: {text}");
        std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
        seen.push(fingerprint());
    };
    change(
        "config.json",
        "\"rope_theta\":10000",
        "\"rope_theta\":20000",
    );
    change("tokenizer.json", "{", "{ ");
    change(
        "tokenizer_config.json",
        "\"chat_template\":\"",
        "\"chat_template\":\"x",
    );
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 4);
}
