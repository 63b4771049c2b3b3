//! Embedders behind endpoints.

use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ken_language::{Embedder, Role};
use ken_model::remote::{Endpoint, RemoteEmbedder};
use ken_testing::{cases, fails, holds, with};
use serde_json::{Value, json};

use super::faults::{model_list, settings};
use super::loopback::{Reply, Server};

/// A vector whose direction identifies its text.
fn vector(text: &str) -> Vec<f32> {
    vec![text.len() as f32, 3.0, 4.0]
}

fn data(texts: &[Value]) -> Vec<Value> {
    texts
        .iter()
        .enumerate()
        .map(|(index, text)| json!({"index": index, "embedding": vector(text.as_str().unwrap())}))
        .collect()
}

/// A server whose embeddings a script spoils from the second request on.
fn spoiled(
    name: &'static str,
    spoil: impl Fn(&mut Vec<Value>, usize) -> Option<Reply> + Send + Sync + 'static,
) -> (Server, RemoteEmbedder) {
    let number = AtomicUsize::new(0);
    let server = Server::start(move |request| match request.path.as_str() {
        "/v1/models" => model_list(&[name]),
        "/v1/embeddings" => {
            let mut data = data(request.body["input"].as_array().unwrap());
            let number = number.fetch_add(1, Ordering::SeqCst);
            let other = if number == 0 {
                None
            } else {
                spoil(&mut data, number)
            };
            other.unwrap_or_else(|| Reply::json(&json!({"object": "list", "data": data})))
        }
        _ => Reply::refusal(404, "Not Found"),
    });
    let embedder =
        RemoteEmbedder::connect(with!(Endpoint::new(&server.url), settings: settings())).unwrap();
    (server, embedder)
}

#[test]
fn embeddings_come_in_the_order_of_the_texts_and_of_length_1() {
    let (server, embedder) = spoiled("tiny", |data, number| {
        data.reverse();
        (number == 1).then(|| Reply::refusal(503, "busy"))
    });
    let texts: Vec<String> = (0..150).map(|n| "x".repeat(n)).collect();
    let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
    let embeddings = embedder.embed(&borrowed, Role::Passage).unwrap();
    assert_eq!((embeddings.len(), embedder.dimensions()), (150, 3));
    for (n, embedding) in embeddings.iter().enumerate() {
        let length: f32 = embedding.iter().map(|x| x * x).sum::<f32>().sqrt();
        assert!((length - 1.0).abs() < 1e-6);
        // An empty text is sent as a blank.
        let length = embedding[0] / embedding[1] * 3.0;
        holds!("{length} is not {n}" => (length - n.max(1) as f32).abs() < 1e-3);
    }
    // One to learn the dimensions, three batches, one of them retried.
    assert_eq!(server.requests("embeddings").len(), 5);
    assert!(embedder.embed(&[], Role::Query).unwrap().is_empty());
}

#[test]
fn a_batch_that_the_server_refuses_for_its_size_is_halved() {
    let (server, embedder) = spoiled("tiny", |data, _| {
        let message = format!("batch size {} > maximum allowed batch size 20", data.len());
        (data.len() > 20).then(|| Reply::refusal(413, &message))
    });
    let texts: Vec<String> = (1..=40).map(|n| "x".repeat(n)).collect();
    let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
    let embeddings = embedder.embed(&borrowed, Role::Passage).unwrap();
    for (n, embedding) in (1..).zip(&embeddings) {
        let length = embedding[0] / embedding[1] * 3.0;
        assert!((length - n as f32).abs() < 1e-3, "{length} is not {n}");
    }
    let before = server.requests("embeddings").len();
    embedder.embed(&borrowed, Role::Passage).unwrap();
    // What it takes is known then.
    assert_eq!(server.requests("embeddings").len() - before, 2);
}

#[test]
fn the_family_of_the_model_determines_the_prefixes() {
    let (server, embedder) = spoiled("intfloat/e5-small-v2", |_, _| None);
    embedder.embed(&["a"], Role::Query).unwrap();
    embedder.embed(&["a"], Role::Passage).unwrap();
    let sent = |at: usize| server.requests("embeddings")[at].body["input"][0].clone();
    assert_eq!((sent(1), sent(2)), (json!("query: a"), json!("passage: a")));
    let (server, other) = spoiled("tiny", |_, _| None);
    other.embed(&["a"], Role::Query).unwrap();
    assert_eq!(server.requests("embeddings")[1].body["input"][0], "a");
    assert_ne!(other.fingerprint(), embedder.fingerprint());
}

#[test]
fn embeddings_that_do_not_fit_are_refused() {
    type Spoil = fn(&mut Vec<Value>);
    let cases: [(Spoil, &str); 6] = cases![
        |data| drop(data.pop()) => "1 came for 2 texts";
        |data| data[1]["index"] = json!(0) => "their indexes are not those of the texts";
        |data| data[1]["index"] = json!(7) => "their indexes are not those of the texts";
        |data| data[1]["embedding"] = json!([1.0, 2.0]) => "one has 2 numbers, others 3";
        |data| data[1]["embedding"] = json!([1.0, null, 2.0]) => "one is not a list of numbers";
        |data| data[1]["embedding"] = json!([1e38, 1e38, 1e39]) => "one is not made of finite numbers";
    ];
    for (spoil, detail) in cases {
        let (server, embedder) = spoiled("tiny", move |data, _| {
            spoil(data);
            None
        });
        let error = embedder.embed(&["a", "b"], Role::Passage).unwrap_err();
        assert_eq!(error.kind(), "bad_embeddings");
        let expected = format!("the embeddings of {} cannot be used: {detail}", server.url);
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn an_endpoint_that_does_not_embed_says_so() {
    let server = Server::start(|request| match request.path.as_str() {
        "/v1/models" => model_list(&["tiny"]),
        _ => Reply::refusal(501, "This server does not support embeddings"),
    });
    let error = RemoteEmbedder::connect(Endpoint::new(&server.url)).unwrap_err();
    let expected = format!(
        "{}/embeddings answered with HTTP status 501: This server does not support embeddings",
        server.url
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
fn token_spans_and_the_longest_input_are_unknown() {
    let (_server, embedder) = spoiled("tiny", |_, _| None);
    fails!(embedder.token_spans("a b") => "cannot_show_tokens"; "words");
    assert_eq!(embedder.max_tokens(), None);
    assert!(
        !embedder
            .is_cut(&"long ".repeat(10_000), Role::Passage)
            .unwrap()
    );
}

#[test]
fn vectors_come_as_bytes_where_the_server_has_them() {
    let bytes = |entry: &mut Value| {
        let numbers = entry["embedding"].as_array().unwrap().iter();
        let bytes = numbers.flat_map(|number| (number.as_f64().unwrap() as f32).to_le_bytes());
        entry["embedding"] = json!(STANDARD.encode(bytes.collect::<Vec<u8>>()));
    };
    let (server, embedder) = spoiled("tiny", move |data, _| {
        data.iter_mut().for_each(bytes);
        None
    });
    let vectors = embedder.embed(&["aaa", "b"], Role::Passage).unwrap();
    let asked = server.requests("embeddings");
    assert_eq!(asked[1].body["encoding_format"], "base64");
    let (server, plain) = spoiled("tiny", |_, number| {
        (number == 1).then(|| Reply::refusal(400, "unknown parameter: encoding_format"))
    });
    assert_eq!(plain.embed(&["aaa", "b"], Role::Passage).unwrap(), vectors);
    let formats: Vec<Value> = server
        .requests("embeddings")
        .iter()
        .map(|asked| asked.body["encoding_format"].clone())
        .collect();
    assert_eq!(formats, ["base64", "base64", "float"]);
}

#[test]
fn the_work_is_divided_among_replicas_of_one_model() {
    let (first, embedder) = spoiled("tiny", |_, _| None);
    let (second, _) = spoiled("tiny", |_, _| None);
    let endpoint = |url: &str| with!(Endpoint::new(url), settings: settings());
    let embedder = embedder.with_replicas(vec![endpoint(&second.url)]).unwrap();
    let texts: Vec<String> = (1..2000).map(|n| "x".repeat(n % 40 + 1)).collect();
    let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = embedder.embed(&borrowed, Role::Passage).unwrap();
    for (text, vector) in texts.iter().zip(&vectors) {
        let length = vector[0] / vector[1] * 3.0;
        assert!((length - text.len() as f32).abs() < 1e-3);
    }
    for server in [&first, &second] {
        assert!(server.requests("embeddings").len() > 5);
    }
    let (other, _) = spoiled("tiny", |data, _| {
        data[0]["embedding"] = json!([0.0, 0.0, 1.0]);
        None
    });
    let error = embedder
        .with_replicas(vec![endpoint(&other.url)])
        .unwrap_err();
    assert!(error.to_string().contains("embeds otherwise"), "{error}");
}
