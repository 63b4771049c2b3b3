//! `/v1/completions`, `/tokenize` and `/detokenize` over a real model: their tokens and probabilities are those of
//! `ken model score`.

use std::iter::zip;

use ken_testing::{cases, extended, has, holds};
use serde_json::{Value, json};

use crate::harness::{Ken, argument, generator};
use crate::serve::Serving;

const PROMPT: &str = "The capital of France is";
const CONTINUATION: &str = " Paris";

fn serving(ken: &Ken) -> Serving {
    Serving::start(ken, &["--policy", "never"])
}

fn complete(serving: &Serving, more: &Value) -> Value {
    let body = json!({"model": "ken", "max_tokens": 4, "temperature": 0});
    serving.post("/v1/completions", &extended(body, more))
}

/// The chunks of a stream.
pub(crate) fn chunks(streamed: &str) -> Vec<Value> {
    let data = streamed
        .lines()
        .filter_map(|line| line.strip_prefix("data: {"));
    data.map(|chunk| serde_json::from_str(&format!("{{{chunk}")).unwrap())
        .collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    let numbers = value.as_array().unwrap().iter();
    numbers.filter_map(Value::as_f64).collect()
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn tokens_of_a_prompt_are_as_likely_as_they_are_scored() {
    let ken = Ken::new();
    let serving = serving(&ken);
    let tokens = |text: &str| {
        let cut = json!({"prompt": text, "add_special_tokens": false});
        serving.post("/tokenize", &cut)["tokens"].clone()
    };
    let whole = format!("{PROMPT}{CONTINUATION}");
    let (own, read) = (tokens(CONTINUATION), tokens(&whole));
    let told = serving.post("/detokenize", &json!({"tokens": read}));
    has!(told, ["content"]: whole, ["prompt"]: whole);

    let info = serving.get("/tokenizer_info");
    assert_eq!(info["eos_token"], "<|im_end|>");
    assert!(info["chat_template"].as_str().unwrap().contains("messages"));

    let generator = generator();
    let model = argument(&generator);
    let words = ["--prompt", PROMPT, "--continuation", CONTINUATION];
    let scored = ken.json(&[&["model", "score", model][..], &words].concat());
    let scored = numbers(&scored["logprobs"]);
    let echo = json!({"prompt": [read, tokens(PROMPT)], "echo": true, "logprobs": 2});
    let answer = complete(&serving, &echo);
    let first = &answer["choices"][0];
    let logprobs = &first["logprobs"];
    let begin = read.as_array().unwrap().len() - own.as_array().unwrap().len();
    let found = &logprobs["token_logprobs"].as_array().unwrap()[begin..];
    for (found, scored) in zip(found, &scored) {
        holds!("{found} {scored}" => (found.as_f64().unwrap() - scored).abs() < 1e-6);
    }
    let text = first["text"].as_str().unwrap();
    assert!(text.starts_with(&whole), "{text}");
    assert_eq!(first["finish_reason"], "length");
    let pieces = logprobs["tokens"].as_array().unwrap().iter();
    assert_eq!(
        pieces
            .map(|piece| piece.as_str().unwrap())
            .collect::<String>(),
        text
    );
    has!(logprobs, ["token_logprobs"][0]: Value::Null, ["top_logprobs"][0]: Value::Null);
    assert_eq!(answer["usage"]["completion_tokens"], 8);

    // The greedy continuation is the most likely one, and scores the same as a part of the prompt.
    let written = &complete(&serving, &json!({"prompt": PROMPT, "logprobs": 1}))["choices"][0];
    has!(answer, ["choices"][1]["text"]: format!("{PROMPT}{}", written["text"].as_str().unwrap()));
    for (own, top) in zip(
        written["logprobs"]["token_logprobs"].as_array().unwrap(),
        written["logprobs"]["top_logprobs"].as_array().unwrap(),
    ) {
        assert_eq!(top.as_object().unwrap().values().collect::<Vec<_>>(), [own]);
    }
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn texts_are_continued_whole_in_pieces_and_to_a_stop() {
    let ken = Ken::new();
    let serving = serving(&ken);
    let whole = complete(&serving, &json!({"prompt": PROMPT, "max_tokens": 12}));
    let text = whole["choices"][0]["text"].as_str().unwrap().to_owned();
    let body = json!({"model": "ken", "max_tokens": 12, "temperature": 0, "prompt": PROMPT, "stream": true,
        "echo": true, "stream_options": {"include_usage": true}});
    let (status, streamed) = serving.exchange("POST", "/v1/completions", &body.to_string());
    assert_eq!(status, 200, "{streamed}");
    let chunks = chunks(&streamed);
    let pieces = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["text"].as_str());
    assert_eq!(pieces.collect::<String>(), format!("{PROMPT}{text}"));
    assert!(streamed.contains("data: [DONE]"), "{streamed}");
    let (last, ending) = (&chunks[chunks.len() - 1], &chunks[chunks.len() - 2]);
    assert_eq!(last["usage"], whole["usage"]);
    assert_eq!(ending["choices"][0]["finish_reason"], "length");

    let stop = text.chars().rev().take(3).collect::<Vec<_>>();
    let stop: String = stop.into_iter().rev().collect();
    let more = json!({"prompt": PROMPT, "max_tokens": 12, "stop": stop, "logprobs": 0});
    let stopped = complete(&serving, &more);
    let choice = &stopped["choices"][0];
    assert_eq!(choice["finish_reason"], "stop");
    let kept = choice["text"].as_str().unwrap();
    assert!(text.starts_with(kept) && !kept.contains(&stop), "{kept}");
    let offsets = choice["logprobs"]["text_offset"].as_array().unwrap();
    assert!(
        offsets
            .iter()
            .all(|offset| offset.as_u64().unwrap() < kept.chars().count() as u64)
    );

    let sampled =
        json!({"prompt": [PROMPT, "Once"], "temperature": 1.0, "seed": 5, "n": 2, "max_tokens": 6});
    let sampled = complete(&serving, &sampled);
    let texts = sampled["choices"].as_array().unwrap();
    let indices: Vec<&Value> = texts.iter().map(|text| &text["index"]).collect();
    assert_eq!(indices, [0, 1, 2, 3]);
    assert_ne!(texts[0]["text"], texts[1]["text"]);
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn a_stream_tells_the_log_probabilities_of_its_pieces() {
    let ken = Ken::new();
    let serving = serving(&ken);
    for more in [json!({}), json!({"stop": " of"})] {
        let mut body = json!({"prompt": [PROMPT, "Once"], "max_tokens": 12, "logprobs": 1});
        if let Some(stop) = more.get("stop") {
            body["stop"] = stop.clone();
        }
        let whole = complete(&serving, &body);
        for (name, value) in [
            ("model", json!("ken")),
            ("stream", json!(true)),
            ("temperature", json!(0)),
        ] {
            body[name] = value;
        }
        let (_, streamed) = serving.exchange("POST", "/v1/completions", &body.to_string());
        let chunks = chunks(&streamed);
        for (index, whole) in whole["choices"].as_array().unwrap().iter().enumerate() {
            let own = chunks.iter().map(|chunk| &chunk["choices"][0]);
            let own: Vec<&Value> = own.filter(|choice| choice["index"] == index).collect();
            let all = |name: &str| -> Vec<Value> {
                let lists = own
                    .iter()
                    .filter_map(|choice| choice["logprobs"][name].as_array());
                lists.flatten().cloned().collect()
            };
            for name in ["tokens", "token_logprobs", "top_logprobs", "text_offset"] {
                assert_eq!(json!(all(name)), whole["logprobs"][name], "{index} {name}");
            }
        }
    }
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn what_is_not_done_is_refused_by_name() {
    let ken = Ken::new();
    let serving = serving(&ken);
    for (more, param) in cases![
        json!({"prompt": ""}) => "prompt";
        json!({"prompt": []}) => "prompt";
        json!({"prompt": vec!["x"; 257]}) => "n";
        json!({"prompt": "x", "n": 0}) => "n";
        json!({"prompt": "x", "logprobs": 21}) => "logprobs";
        json!({"prompt": "x", "logprobs": 1, "echo": true, "stream": true}) => "echo";
        json!({"prompt": vec!["x"; 200], "max_tokens": 2000, "logprobs": 5}) => "logprobs";
        json!({"prompt": "x", "suffix": "y"}) => "suffix";
        json!({"prompt": "x", "best_of": 3}) => "best_of";
        json!({"prompt": "x", "temperature": 3}) => "temperature";
        json!({"prompt": "x", "model": "gpt-5"}) => "model";
    ] {
        let body = extended(json!({"model": "ken"}), &more);
        let (status, refused) = serving.reply("/v1/completions", &body);
        assert!(status == 400 || status == 404, "{more}: {status}");
        assert_eq!(refused["error"]["param"], param, "{more}: {refused}");
    }
    for (path, body) in cases![
        "/detokenize" => json!({"tokens": [4_000_000_000_u32]});
        "/v1/completions" => json!({"model": "ken", "prompt": [4_000_000_000_u32]});
        "/v1/completions" => json!({"model": "ken", "prompt": vec![5; 9000]});
        "/v1/completions" => json!({"model": "ken", "prompt": [[1, -2]]});
    ] {
        let (status, refused) = serving.exchange("POST", path, &body.to_string());
        assert_eq!(status, 400, "{refused}");
    }
}
