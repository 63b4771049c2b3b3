//! Responses without an end or with impossible claims: each is refused soon, with the limit that it
//! exceeds.

use std::io::Write;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use ken_language::{
    Embedder, GenerateOptions, GenerateRequest, LanguageModel, ModelError, Role, Sampling,
};
use ken_model::remote::{Endpoint, RemoteEmbedder, RemoteModel, RemoteSettings};
use ken_testing::with;
use serde_json::{Value, json};

use super::faults::{model_list, prompt, scripted, serving, settings, text_of};
use super::loopback::{Reply, Server};

const MEBIBYTE: u64 = 1 << 20;

fn limited() -> RemoteSettings {
    with!(settings(), answer_bytes: MEBIBYTE, answer_time: Duration::from_secs(2))
}

/// The same bytes forever, or for longer than any test.
fn endless(media: &str, bytes: &[u8]) -> Reply {
    Reply::Repeated {
        head: format!("Content-Type: {media}\r\nConnection: close\r\n"),
        bytes: bytes.to_vec(),
        times: usize::MAX,
        pause: Duration::ZERO,
    }
}

/// The error of generating with a server that always gives the same response.
fn outcome(reply: impl Fn() -> Reply + Send + Sync + 'static) -> ModelError {
    let server = serving(move |_| reply());
    let model =
        RemoteModel::connect(with!(Endpoint::new(&server.url), settings: limited())).unwrap();
    let begun = Instant::now();
    let error = text_of(&model, &prompt()).unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(30));
    error
}

fn refused_as_too_large(error: &ModelError, detail: &str) {
    assert_eq!(error.kind(), "endpoint_answer_too_large", "{error}");
    assert!(error.to_string().contains(detail), "{error}");
}

#[test]
fn a_response_without_an_end_is_aborted() {
    for media in ["application/json", "text/event-stream"] {
        let error = outcome(move || endless(media, b": nothing\n\n       "));
        refused_as_too_large(&error, "more than 1048576 bytes");
    }
}

#[test]
fn a_line_without_an_end_is_aborted() {
    let (server, model) = scripted(|_, _| endless("text/event-stream", &[b'x'; 4096]));
    let error = text_of(&model, &prompt()).unwrap_err();
    refused_as_too_large(&error, "an event of it has more than 1048576 bytes");
    server.wait_for_disconnect();
}

#[test]
fn a_response_that_trickles_is_aborted() {
    for media in ["application/json", "text/event-stream"] {
        let error = outcome(move || Reply::Repeated {
            head: format!("Content-Type: {media}\r\nConnection: close\r\n"),
            bytes: b"\n".to_vec(),
            times: 1000,
            pause: Duration::from_millis(50),
        });
        refused_as_too_large(&error, "longer than 2 s");
    }
}

#[test]
fn a_decompression_bomb_is_aborted() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&vec![b' '; 64 << 20]).unwrap();
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 100_000);
    let error = outcome(move || Reply::Repeated {
        head: format!(
            "Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\
             Connection: close\r\n",
            packed.len()
        ),
        bytes: packed.clone(),
        times: 1,
        pause: Duration::ZERO,
    });
    refused_as_too_large(&error, "more than 1048576 bytes");
}

#[test]
fn only_the_start_of_an_error_response_is_read() {
    let error = outcome(|| Reply::text(400, "text/plain", &"no ".repeat(4 << 20)));
    assert_eq!(error.kind(), "endpoint_status");
    assert!(error.to_string().len() < 1_000);
}

#[test]
fn impossible_counts_are_refused() {
    let choice = json!({"text": "x", "finish_reason": "stop"});
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 1_000_000_000_000_u64});
    let answer = json!({"choices": [choice], "usage": usage});
    let answer = answer.to_string();
    let error = outcome(move || Reply::text(200, "application/json", &answer));
    refused_as_too_large(&error, "`usage.completion_tokens` is 1000000000000");
}

#[test]
fn an_endless_context_counts_as_a_long_one() {
    let server = Server::start(|request| match request.path.as_str() {
        "/v1/models" => Reply::json(&json!({"data": [{"id": "x", "max_model_len": u64::MAX}]})),
        "/v1/completions" => Reply::json(&json!({"choices": [{"text": "x"}]})),
        _ => Reply::refusal(404, "Not Found"),
    });
    let model = RemoteModel::connect(Endpoint::new(&server.url)).unwrap();
    assert_eq!(model.context_tokens(), 1 << 24);
}

#[test]
fn surplus_completions_are_ignored() {
    let (server, model) = scripted(|_, _| {
        let choices: Vec<Value> = (0..10_000)
            .map(|n| json!({"text": n.to_string()}))
            .collect();
        Reply::json(&json!({"choices": choices}))
    });
    let prompt = prompt();
    let options = GenerateOptions::new(Sampling::at(1.0, 1), 5);
    let request = GenerateRequest::new(&prompt, 3, &options);
    let written = model.generate(&[request], &mut |_| std::ops::ControlFlow::Continue(()));
    let texts: Vec<String> = written
        .unwrap()
        .remove(0)
        .into_iter()
        .map(|w| w.text)
        .collect();
    assert_eq!(texts, ["0", "1", "2"]);
    // Those of connecting, and one more.
    assert!(server.requests("completions").len() < 6);
}

#[test]
fn only_printable_model_names_are_shown() {
    let names: Vec<String> = (0..1000).map(|n| format!("model-{n}")).collect();
    let server = Server::start(move |_| {
        let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
        let long = "x".repeat(1000);
        names.extend(["\u{1b}[8m", &long]);
        model_list(&names)
    });
    let error = RemoteModel::connect(Endpoint::new(&server.url)).unwrap_err();
    assert_eq!(error.kind(), "several_models");
    let message = error.to_string();
    assert!(message.ends_with("model-19 and 980 more"), "{message}");
}

#[test]
fn endless_embeddings_are_refused() {
    let server = Server::start(|request| match request.path.as_str() {
        "/v1/models" => model_list(&["tiny"]),
        _ => endless("application/json", b"{\"data\":[{\"embedding\":[1,1,1,1,1"),
    });
    let error = RemoteEmbedder::connect(with!(Endpoint::new(&server.url), settings: limited()));
    assert_eq!(error.unwrap_err().kind(), "endpoint_answer_too_large");

    let server = Server::start(|request| match request.path.as_str() {
        "/v1/models" => model_list(&["tiny"]),
        _ => Reply::json(&json!({"data": [{"embedding": vec![1; 20_000]}]})),
    });
    let error = RemoteEmbedder::connect(Endpoint::new(&server.url)).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("one has 20000 numbers, and 16384 is the most")
    );

    // The largest accepted.
    let server = Server::start(|request| match request.path.as_str() {
        "/v1/models" => model_list(&["tiny"]),
        _ => {
            let texts = request.body["input"].as_array().unwrap().len();
            let data = vec![json!({"embedding": vec![1; 16_384]}); texts];
            Reply::json(&json!({"data": data}))
        }
    });
    let embedder = RemoteEmbedder::connect(Endpoint::new(&server.url)).unwrap();
    let embeddings = embedder.embed(&["a"; 64], Role::Passage).unwrap();
    assert_eq!((embeddings.len(), embeddings[63].len()), (64, 16_384));
}
