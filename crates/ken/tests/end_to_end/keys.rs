//! No key leaks, and ken follows no address in data without consent: tested against servers that listen and record
//! what comes.

use std::path::Path;
use std::process::Output;

use ken_corpus::{Document, EmbedderIdentity, Settings, Sharding, Writer};
use ken_index::{DenseLayout, SegmentWriter};
use ken_testing::{cases, has};
use serde_json::{Value, json};

use crate::documents::with_notes;
use crate::harness::{Ken, refused, refuses, words};
use crate::loopback::{Reply, Server};
use crate::milvus_lite::MilvusLite;

const KEY: &str = "sk-of-the-environment-0";
const OTHER_KEY: &str = "sk-of-another-server-00";
const QUERY: &str = "Who keeps the Orrin lighthouse?";

/// An endpoint with one model, which embeds.
fn listener() -> Server {
    Server::start(|request| match request.path.as_str() {
        "/v1/models" => Reply::json(&json!({"data": [{"id": "tiny"}]})),
        "/v1/embeddings" => {
            let texts = request.body["input"].as_array().unwrap().iter();
            let vector = |text: &Value| json!([text.as_str().unwrap().len(), 3, 4]);
            let data: Vec<Value> = texts
                .map(|text| json!({"embedding": vector(text)}))
                .collect();
            Reply::json(&json!({"data": data}))
        }
        _ => Reply::refusal(404, "Not Found"),
    })
}

/// A corpus whose manifest names the endpoint as its embedder; the caller has to skip the requests of making it.
fn stranger(ken: &Ken, url: &str) {
    ken.write("notes/harbour.txt", crate::documents::HARBOUR);
    let embedder = format!("{url}#tiny");
    let ingest = words("ingest notes --corpus strange");
    ken.text(&[&ingest[..], &["--embedder", &embedder]].concat());
}

fn called(ken: &Ken, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = ken.command(arguments);
    command.arg("--json").envs(variables.iter().copied());
    command.output().unwrap()
}

/// Everything that a call printed.
fn said(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8(both).unwrap()
}

/// The keys that came with queries after the first `passed` requests.
fn keys_of_queries(server: &Server, passed: usize) -> Vec<Option<String>> {
    let requests = server.requests("").into_iter().skip(passed);
    let queries = requests.filter(|request| request.body["input"][0] == QUERY);
    queries.map(|request| request.authorization).collect()
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_endpoint_that_a_corpus_names_is_asked_nothing() {
    let ken = with_notes();
    let server = listener();
    stranger(&ken, &server.url);
    let question = json!({"id": "q", "question": QUERY, "golden_answers": ["Ilse Marrow"]});
    ken.write("questions.jsonl", question.to_string());
    let known = server.requests("").len();
    let corpus = ["--corpus", "strange"];
    for verb in [
        &["search", QUERY][..],
        &["search", QUERY, "--mode", "lexical"],
        &["search", QUERY, "--rerank", "embedder"],
        &["ask", QUERY],
        &["ask", QUERY, "--policy", "prompt"],
        &["eval", "questions.jsonl", "--out", "results.jsonl"],
        &["probe", "questions.jsonl", "--out", "probed.jsonl"],
        &words("label sources questions.jsonl --out labels.jsonl"),
        &words("train noise-tolerant questions.jsonl --out trained"),
    ] {
        let output = called(&ken, &[verb, &corpus].concat(), &[("KEN_API_KEY", KEY)]);
        assert!(!said(&output).contains(KEY));
        let refused = refused(output);
        for hint in ["--trust-corpus-embedder", "--embedder REF"] {
            refused.is("embedder_not_trusted", &server.url, hint);
        }
        assert_eq!(server.requests("").len(), known, "{verb:?}");
    }
    // Also beside a corpus that may be queried.
    let beside = ["--corpus", "island", "--corpus", "strange"];
    let label = words("label sources questions.jsonl --out labels.jsonl");
    refuses!(ken, &[&label[..], &beside].concat() => "embedder_not_trusted", "strange", "");
    // Ingesting more documents uses the embedder of the settings.
    refuses!(ken, &["ingest", "notes", "--corpus", "strange"] => "other_embedder", "strange", "");
    ken.text(&["corpus", "info", "--corpus", "strange"]);
    ken.text(&["corpus", "verify", "--corpus", "strange"]);
    assert_eq!(server.requests("").len(), known);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn with_consent_the_query_arrives_and_the_key_only_where_it_belongs() {
    let ken = Ken::new();
    let server = listener();
    stranger(&ken, &server.url);
    let embedder = format!("{}#tiny", server.url);
    let origin = server.url.trim_end_matches("/v1");
    ken.write(
        "keys.toml",
        format!("[keys]\n\"{origin}\" = \"env:LISTENER\"\n"),
    );
    ken.write("none.toml", format!("[keys]\n\"{origin}\" = \"none\"\n"));
    let other = "[keys]\n\"http://127.0.0.1:9\" = \"env:LISTENER\"\n\
                 \"https://127.0.0.1\" = \"env:LISTENER\"\n";
    ken.write("other.toml", other);
    let bearer = |key: &str| Some(format!("Bearer {key}"));
    type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], Option<String>);
    let cases: [Case; 8] = cases![
        &["--trust-corpus-embedder"] => &[], None;
        &[] => &[("KEN_TRUST_CORPUS_EMBEDDER", "true")], None;
        &["--trust-corpus-embedder", "--config", "other.toml"] => &[], None;
        &["--trust-corpus-embedder", "--config", "keys.toml"] => &[], bearer(OTHER_KEY);
        &["--embedder", &embedder] => &[], bearer(KEY);
        &[] => &[("KEN_EMBEDDER", &embedder)], bearer(KEY);
        &["--embedder", &embedder, "--config", "keys.toml"] => &[], bearer(OTHER_KEY);
        &["--embedder", &embedder, "--config", "none.toml"] => &[], None;
    ];
    for (flags, variables, key) in cases {
        let known = server.requests("").len();
        let search = [&["search", QUERY, "--corpus", "strange"], flags].concat();
        let keys = [("KEN_API_KEY", KEY), ("LISTENER", OTHER_KEY)];
        let output = called(&ken, &search, &[&keys, variables].concat());
        let said = said(&output);
        assert!(output.status.success(), "{flags:?}: {said}");
        assert!(!said.contains(KEY) && !said.contains(OTHER_KEY));
        assert_eq!(
            keys_of_queries(&server, known),
            [key],
            "{flags:?} {variables:?}"
        );
    }
    let known = server.requests("").len();
    let search = ["search", QUERY, "--corpus", "strange"];
    let flags = ["--embedder", &embedder, "--config", "keys.toml"];
    let search = [&search[..], &flags].concat();
    let refusal = refused(called(&ken, &search, &[("KEN_API_KEY", KEY)]));
    refusal.is("key_not_set", "LISTENER", "set LISTENER");
    assert_eq!(server.requests("").len(), known);
}

/// A corpus of one passage, by an embedder that exists in name only.
fn corpus_of(path: &Path, reference: &str) {
    let settings = Settings {
        embedder: EmbedderIdentity::new(reference, "f", 3),
        segmentation: "whole".to_owned(),
        sharding: Sharding::default(),
        dense: "auto".to_owned(),
    };
    let mut writer = Writer::create(path, settings).unwrap();
    let mut staged = writer.stage(0).unwrap();
    let mut index = SegmentWriter::create(staged.dir(), 3, DenseLayout::default()).unwrap();
    let document = Document {
        id: "a".to_owned(),
        title: String::new(),
        text: String::new(),
        record: true,
        ..Document::default()
    };
    for passage in staged.push(&document, &["a passage".into()]).unwrap() {
        index.push(&passage, &[1.0, 0.0, 0.0]).unwrap();
    }
    index.finish().unwrap();
    writer.publish(vec![staged]).unwrap();
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_model_that_a_corpus_names_is_not_fetched() {
    let ken = Ken::new();
    let hub = Server::start(|_| Reply::refusal(404, "Not Found"));
    let variables = [
        ("HF_ENDPOINT", hub.url.as_str()),
        ("KEN_PYTHON", "/nowhere/python"),
    ];
    for (corpus, reference) in [
        ("of-hub", "hf:nobody/model"),
        ("of-index", "pypi:nobody-has-this==1.0/model"),
        ("of-server", "//192.0.2.1/share/model"),
    ] {
        corpus_of(&ken.path(corpus), reference);
        let known = hub.requests("").len();
        let search = ["search", QUERY, "--corpus", corpus];
        let refusal = refused(called(&ken, &search, &variables));
        refusal.is("embedder_not_trusted", reference, "--embedder REF");
        assert_eq!(hub.requests("").len(), known, "{reference}");
        // With consent the attempt is made, and fails.
        let consented = [&search[..], &["--trust-corpus-embedder"]].concat();
        let failure = refused(called(&ken, &consented, &variables));
        assert_ne!(failure.kind, "embedder_not_trusted", "{reference}");
    }
    assert!(!hub.requests("").is_empty());
}

#[test]
fn two_endpoints_get_a_key_each() {
    let ken = Ken::new();
    let (model, embedder) = (listener(), listener());
    let origin = |server: &Server| server.url.trim_end_matches("/v1").to_owned();
    let keys = format!(
        "[keys]\n\"{}\" = \"env:FIRST\"\n\"{}\" = \"env:SECOND\"\n",
        origin(&model),
        origin(&embedder)
    );
    ken.write("ken.toml", keys);
    let variables = [
        ("KEN_MODEL", model.url.as_str()),
        ("KEN_EMBEDDER", &embedder.url),
        ("FIRST", KEY),
        ("SECOND", OTHER_KEY),
    ];
    let output = called(&ken, &["doctor"], &variables);
    let said = said(&output);
    assert!(!said.contains(KEY) && !said.contains(OTHER_KEY), "{said}");
    let found: Value = serde_json::from_str(&said).unwrap();
    has!(found, ["model"]["ready"]: true, ["settings"]["keys"][origin(&model)]: "env:FIRST");
    for (server, key) in [(&model, KEY), (&embedder, OTHER_KEY)] {
        let requests = server.requests("").into_iter();
        let keys: Vec<_> = requests.map(|request| request.authorization).collect();
        assert_eq!(keys, [Some(format!("Bearer {key}"))]);
    }
}

/// A file that came with a folder names servers, and which keys they get.
#[test]
fn a_file_that_lies_in_the_folder_gives_no_server_a_key() {
    let ken = Ken::new();
    let server = listener();
    let url = server.url.as_str();
    let origin = url.trim_end_matches("/v1");
    let named = format!("model = \"{url}\"\nembedder = \"{url}#tiny\"\n");
    let table = |value: &str| format!("{named}[keys]\n\"{origin}\" = \"{value}\"\n");
    let (bearer, other) = (format!("Bearer {KEY}"), format!("Bearer {OTHER_KEY}"));
    type Case<'a> = (
        String,
        &'a [&'a str],
        &'a [(&'a str, &'a str)],
        Option<&'a str>,
        &'a str,
    );
    let cases: [Case; 9] = cases![
        named.clone() => &[], &[], None, "KEN_API_KEY is not sent";
        table("env:LISTENER") => &[], &[], None, "LISTENER is not sent";
        table("none") => &[], &[], None, "";
        // The caller names the file itself, or the server.
        named.clone() => &["--config", "ken.toml"], &[], Some(&bearer), "";
        named.clone() => &[], &[("KEN_CONFIG", "ken.toml")], Some(&bearer), "";
        table("env:LISTENER") => &["--config", "ken.toml"], &[], Some(&other), "";
        named.clone() => &[], &[("KEN_MODEL", url)], Some(&bearer), "";
        table("env:LISTENER") => &[], &[("KEN_MODEL", url)], Some(&other), "";
        table("none") => &[], &[("KEN_MODEL", url)], None, "";
    ];
    for (file, flags, variables, key, warning) in cases {
        ken.write("ken.toml", &file);
        let known = server.requests("").len();
        let own = [("KEN_API_KEY", KEY), ("LISTENER", OTHER_KEY)];
        let unset = [("KEN_MODEL", ""), ("KEN_EMBEDDER", "")];
        let doctor = [&["doctor"][..], flags].concat();
        let output = called(&ken, &doctor, &[&own[..], &unset, variables].concat());
        let what = format!("{file} {flags:?} {variables:?}");
        assert!(output.status.success(), "{what}");
        assert!(!said(&output).contains(KEY) && !said(&output).contains(OTHER_KEY));
        let asked = server.requests("").into_iter().skip(known);
        let keys: Vec<_> = asked.map(|request| request.authorization).collect();
        assert_eq!(
            keys,
            [key.map(str::to_owned), key.map(str::to_owned)],
            "{what}"
        );
        let stderr = String::from_utf8(output.stderr).unwrap();
        let told: Vec<&str> = stderr.lines().collect();
        match warning {
            "" => assert_eq!(stderr, "", "{what}"),
            // Once, although two models are queried, with the remedy.
            _ => {
                assert_eq!(told.len(), 2, "{what}: {stderr}");
                assert!(told[0].starts_with(&format!("warning: {warning} to {origin}, ")));
                assert!(told[1].contains("--config or KEN_CONFIG"), "{stderr}");
            }
        }
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn no_key_is_sent_in_plain_text_to_another_machine() {
    let ken = with_notes();
    // Addresses for documents, where nothing answers.
    let model = "http://192.0.2.1:8000/v1";
    let ask = ["ask", QUERY, "--corpus", "island", "--model", model];
    let refusal = refused(called(&ken, &ask, &[("KEN_API_KEY", KEY)]));
    let hint = "--allow-plaintext-keys";
    refusal.is("key_in_plain_text", "192.0.2.1:8000", hint);
    let token = [("KEN_MILVUS_TOKEN", "root:hunter22")];
    let address = "milvus://192.0.2.1:19530/notes";
    for call in [
        &["search", QUERY, "--corpus", address][..],
        &["corpus", "info", "--corpus", address],
        &["corpus", "push", "--corpus", "island", "--to", address],
    ] {
        let output = called(&ken, call, &token);
        assert!(!said(&output).contains("hunter22"));
        refused(output).is("token_in_plain_text", "192.0.2.1:19530", "milvus+https://");
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_endpoint_that_a_collection_names_is_asked_nothing() {
    let ken = Ken::new();
    let server = listener();
    stranger(&ken, &server.url);
    let milvus = MilvusLite::start();
    let address = milvus.address("strange");
    ken.text(&["corpus", "push", "--corpus", "strange", "--to", &address]);
    let known = server.requests("").len();
    let search = ["search", QUERY, "--corpus", &address];
    let refusal = refused(called(&ken, &search, &[("KEN_API_KEY", KEY)]));
    let hint = "--trust-corpus-embedder";
    refusal.is("embedder_not_trusted", &server.url, hint);
    assert_eq!(server.requests("").len(), known);
    let consented = [&search[..], &["--trust-corpus-embedder"]].concat();
    let output = called(&ken, &consented, &[("KEN_API_KEY", KEY)]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(keys_of_queries(&server, known), [None]);
}
