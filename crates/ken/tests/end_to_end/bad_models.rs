//! Models that cannot be used: the refusal names each, with the remedy.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};

use ken_testing::cases;
use serde_json::{Value, json};

use crate::documents::with_notes;
use crate::harness::{Ken, Refusal, generator, refuses, words};
use crate::ingest::copy_embedder;

/// The refusal of the model at `reference`.
fn asked(ken: &Ken, reference: &str) -> Refusal {
    ken.refusal(&["ask", "--policy", "never", "--model", reference, "Why?"])
}

/// The first bytes of the language model, metadata included.
fn head(bytes: usize) -> Vec<u8> {
    let mut head = vec![0; bytes];
    let mut file = File::open(generator()).unwrap();
    file.read_exact(&mut head).unwrap();
    head
}

/// The language model with other bytes from `offset` bytes after the first `name` on.
fn patched(ken: &Ken, name: &[u8], offset: usize, bytes: &[u8]) {
    let head = head(4 << 20);
    let found = head.windows(name.len()).position(|window| window == name);
    let place = found.unwrap() + name.len() + offset;
    let path = ken.path("patched.gguf");
    fs::copy(generator(), &path).unwrap();
    let mut file = File::options().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(place as u64)).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_model_that_is_not_there() {
    let ken = Ken::new();
    let refusal = asked(&ken, "./gone.gguf");
    refusal.is("local_missing", "gone.gguf", "check the path");
    let ask = ["ask", "--policy", "never", "--adapter", "nope", "Why?"];
    refuses!(ken, &ask => "adapter", "nope cannot be used", "LoRA adapter");
    refuses!(ken, &["model", "embed", "./gone", "--text", "x"] => "local_missing", "./gone", "");
    let refusal = asked(&ken, "hf:org/model");
    refusal.is("network", "127.0.0.1", "check the network");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_truncated_gguf_file() {
    let ken = Ken::new();
    for (file, bytes, kind, message) in cases![
        "weights.gguf" => 20 << 20, "truncated_model", "weights.gguf is truncated";
        "weights.gguf" => 20 << 20, "truncated_model", "20971520";
        "metadata.gguf" => 100_000, "corrupt_model", "metadata.gguf";
        "empty.gguf" => 0, "corrupt_model", "empty.gguf";
    ] {
        ken.write(file, head(bytes));
        asked(&ken, &format!("./{file}")).is(kind, message, "pull the model again");
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_file_that_is_no_model() {
    let ken = Ken::new();
    ken.write("notes.txt", "a text");
    asked(&ken, "./notes.txt").is("not_a_model", "notes.txt", ".gguf");
    ken.write("notes.gguf", "a text");
    asked(&ken, "./notes.gguf").is("corrupt_model", "notes.gguf", "");
    let ingest = words("ingest notes.txt --corpus c --embedder ./notes.gguf");
    refuses!(ken, &ingest =>
        "encoder_file_missing", "notes.gguf/config.json is missing", "is a folder with");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_unknown_architecture() {
    let ken = Ken::new();
    // After the key: the type of the value in 4 bytes, its length in 8, then `llama`.
    patched(&ken, b"general.architecture", 12, b"mamba");
    let refusal = asked(&ken, "./patched.gguf");
    refusal.is("unknown_architecture", "`mamba`", "llama");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_unknown_quantization() {
    let ken = Ken::new();
    // After the name: the number of dimensions in 4 bytes, two dimensions in 16, then the type.
    patched(&ken, b"token_embd.weight", 20, &[77]);
    let refusal = asked(&ken, "./patched.gguf");
    refusal.is("unknown_quantization", "77", "Q4_0");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_truncated_embedder() {
    let ken = Ken::new();
    copy_embedder(&ken, "minilm");
    let weights = ken.path("minilm/model.safetensors");
    let file = File::options().write(true).open(weights).unwrap();
    file.set_len(1_000_000).unwrap();
    let refusal = ken.refusal(&["model", "embed", "./minilm", "--text", "x"]);
    refusal.is("encoder_weights_corrupt", "model.safetensors", "pull");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_corpus_of_another_embedder() {
    let ken = with_notes();
    copy_embedder(&ken, "other");
    pool_by_first_token(&ken, "other");

    let arguments = words("ingest notes --corpus island --embedder ./other");
    let refusal = ken.refusal(&arguments);
    refusal.is("other_embedder", "island", "ingest into a new corpus");
    assert!(refusal.message.contains("minilm"), "{}", refusal.message);
    let hits = ken.json(&["search", "--corpus", "island", "seals"]);
    assert_eq!(hits["hits"][0]["passage_id"], "harbour.txt#0");
}

/// The corpus `c` of one document, by the embedder in `own`.
fn with_own_embedder() -> Ken {
    let ken = Ken::new();
    copy_embedder(&ken, "own");
    ken.write("a.txt", "The keeper sleeps.");
    ken.text(&["ingest", "a.txt", "--corpus", "c", "--embedder", "./own"]);
    ken
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_embedder_that_changed_since_the_corpus_was_made() {
    let ken = with_own_embedder();
    pool_by_first_token(&ken, "own");
    let refusal = ken.refusal(&["search", "--corpus", "c", "keeper"]);
    refusal.is("other_embedder", "changed", "a new corpus");

    fs::remove_dir_all(ken.path("own")).unwrap();
    let refusal = ken.refusal(&["search", "--corpus", "c", "keeper"]);
    refusal.is("local_missing", "own", "--embedder REF");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_embedder_that_was_moved_can_be_named() {
    let ken = with_own_embedder();
    fs::rename(ken.path("own"), ken.path("moved")).unwrap();
    let embedder = ["--corpus", "c", "--embedder", "./moved"];
    let hits = ken.json(&[&["search", "keeper"], &embedder[..]].concat());
    assert_eq!(hits["hits"][0]["passage_id"], "a.txt#0");
    let answer = ken.json(&[&["ask", "Who sleeps?"], &embedder[..]].concat());
    assert_eq!(answer["route"], "corpus");

    pool_by_first_token(&ken, "moved");
    let refusal = ken.refusal(&[&["search", "keeper"], &embedder[..]].concat());
    refusal.is("other_embedder", "moved is not the embedder", "--embedder");
}

/// Turns the embedder in a folder into another one.
fn pool_by_first_token(ken: &Ken, folder: &str) {
    let path = format!("{folder}/1_Pooling/config.json");
    let mut pooling: Value = serde_json::from_str(&ken.read(&path)).unwrap();
    pooling["pooling_mode_cls_token"] = json!(true);
    pooling["pooling_mode_mean_tokens"] = json!(false);
    ken.write(&path, pooling.to_string());
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_endpoint_that_nobody_serves_is_named() {
    let ken = Ken::new();
    // An address that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let refusal = asked(&ken, &format!("http://{address}/v1"));
    let hint = "check that the endpoint runs";
    refusal.is("endpoint_unreachable", &address, hint);
}
