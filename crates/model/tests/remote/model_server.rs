//! The real SmolLM2-135M-Instruct behind the routes of an OpenAI-compatible endpoint.

use std::collections::HashMap;
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex};

use ken_language::{Finish, GenerateOptions, Progress, Sampling};
use ken_model::decoder::{Decoder, GenerateRequest, Generation, LoadOptions};
use ken_testing::with;
use serde_json::{Value, json};

use super::loopback::{Reply, Request, Server};

pub(crate) static MODEL: LazyLock<Decoder> = LazyLock::new(|| {
    let models = std::env::var_os("KEN_TEST_MODELS").expect(
        "KEN_TEST_MODELS is not set: run this test by `cargo xtask test`, which prepares the models",
    );
    let file = "smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
    Decoder::load(&PathBuf::from(models).join(file), &LoadOptions::default()).unwrap()
});

/// The imitated server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// `prompt_logprobs`, `n`, `/tokenize` with `prompt`, `max_model_len`.
    Vllm,
    /// `echo`, `n`, no tokenizer, no nonstandard parameters.
    OpenAi,
    /// No scores, one sample per request, `/tokenize` with `content`, `meta`.
    LlamaServer,
}

pub(crate) fn start(manner: Manner) -> Server {
    start_on(TcpListener::bind("127.0.0.1:0").unwrap(), manner)
}

/// Starts it on a listener.
pub(crate) fn start_on(listener: TcpListener, manner: Manner) -> Server {
    Server::on(listener, move |request| match request.path.as_str() {
        "/v1/models" => models(manner),
        "/v1/completions" => completions(manner, request),
        "/tokenize" => tokenize(manner, request),
        _ => Reply::refusal(404, "Not Found"),
    })
}

fn models(manner: Manner) -> Reply {
    let mut model = json!({"id": "smollm2", "object": "model"});
    match manner {
        Manner::Vllm => model["max_model_len"] = json!(2048),
        Manner::OpenAi => {}
        Manner::LlamaServer => model["meta"] = json!({"n_vocab": 49152, "n_ctx_train": 1024}),
    }
    Reply::json(&json!({"object": "list", "data": [model]}))
}

fn tokenize(manner: Manner, request: &Request) -> Reply {
    let tokens = |name: &str| {
        let text = request.body[name].as_str().unwrap();
        MODEL.prompt("", text).unwrap().tokens().to_vec()
    };
    match manner {
        Manner::Vllm => {
            let tokens = tokens("prompt");
            let count = tokens.len();
            Reply::json(&json!({"count": count, "max_model_len": 2048, "tokens": tokens}))
        }
        Manner::OpenAi => Reply::text(404, "text/html", "<html>nothing here</html>"),
        Manner::LlamaServer => Reply::json(&json!({"tokens": tokens("content")})),
    }
}

fn completions(manner: Manner, request: &Request) -> Reply {
    let body = &request.body;
    assert_eq!(body["model"], "smollm2");
    if manner == Manner::OpenAi {
        for name in ["top_k", "min_p", "prompt_logprobs"] {
            if body.get(name).is_some() {
                let message = format!("Unrecognized request argument supplied: {name}");
                return Reply::refusal(400, &message);
            }
        }
    }
    let text = body["prompt"].as_str().unwrap();
    if manner == Manner::Vllm && !body["prompt_logprobs"].is_null() {
        return prompt_logprobs(text);
    }
    if manner == Manner::OpenAi && body["echo"] == true {
        return echo(text);
    }
    write(manner, text, body)
}

fn prompt_logprobs(text: &str) -> Reply {
    let entries: Vec<Value> = read(text)
        .iter()
        .map(|token| match token.logprob {
            None => Value::Null,
            Some(logprob) => json!({
                token.id.to_string(): {
                    "logprob": logprob, "rank": 1, "decoded_token": token.text,
                }
            }),
        })
        .collect();
    Reply::json(&json!({
        "choices": [{"index": 0, "text": "x", "finish_reason": "length", "prompt_logprobs": entries}],
        "usage": {"prompt_tokens": entries.len(), "completion_tokens": 1},
    }))
}

fn echo(text: &str) -> Reply {
    let tokens = read(text);
    let mut texts: Vec<Value> = tokens.iter().map(|token| json!(token.text)).collect();
    let mut logprobs: Vec<Value> = tokens.iter().map(|token| json!(token.logprob)).collect();
    texts.push(json!("x"));
    logprobs.push(json!(-0.5));
    Reply::json(&json!({
        "choices": [{
            "index": 0, "text": format!("{text}x"), "finish_reason": "length",
            "logprobs": {"tokens": texts, "token_logprobs": logprobs, "top_logprobs": null},
        }],
        "usage": {"prompt_tokens": tokens.len(), "completion_tokens": 1},
    }))
}

fn write(manner: Manner, text: &str, body: &Value) -> Reply {
    let number = |name: &str| body[name].as_f64();
    let temperature = number("temperature").unwrap() as f32;
    let sampling = if temperature == 0.0 {
        Sampling::Greedy
    } else {
        Sampling::Random {
            temperature,
            top_k: number("top_k").filter(|&k| k > 0.0).map(|k| k as usize),
            top_p: number("top_p").filter(|&p| p < 1.0).map(|p| p as f32),
            seed: body["seed"].as_u64().unwrap(),
        }
    };
    let stop = body["stop"].as_array().into_iter().flatten();
    let options = with!(GenerateOptions::new(sampling, body["max_tokens"].as_u64().unwrap() as usize),
        stop: stop.map(|stop| stop.as_str().unwrap().to_owned()).collect());
    let samples = match manner {
        Manner::LlamaServer => 1,
        _ => body["n"].as_u64().unwrap_or(1) as usize,
    };
    let prompt = MODEL.prompt("", text).unwrap();
    let request = GenerateRequest::new(&prompt, samples, &options);
    let mut pieces = Vec::new();
    let written = MODEL
        .generate_many(&[request], &mut |progress| {
            if let Progress::Text(piece) = progress {
                pieces.push(piece.text.to_owned());
            }
            ControlFlow::Continue(())
        })
        .unwrap()
        .remove(0);
    let tokens: usize = written.iter().map(|sample| sample.tokens.len()).sum();
    let usage = json!({"prompt_tokens": prompt.tokens().len(), "completion_tokens": tokens});
    if body["stream"] == true {
        let mut events: Vec<Value> = pieces
            .iter()
            .map(|piece| json!({"choices": [{"index": 0, "text": piece, "finish_reason": null}]}))
            .collect();
        let mut end = choice(manner, 0, &written[0]);
        end["text"] = json!("");
        events.push(json!({"choices": [end]}));
        events.push(json!({"choices": [], "usage": usage}));
        return Reply::events(&events);
    }
    let choices: Vec<Value> = written
        .iter()
        .enumerate()
        .map(|(index, sample)| choice(manner, index, sample))
        .collect();
    Reply::json(&json!({"choices": choices, "usage": usage}))
}

fn choice(manner: Manner, index: usize, sample: &Generation) -> Value {
    // Most return nothing for the end.
    let told = &sample.logprobs[..sample.tokens.len()];
    let margins = sample.margins.as_deref().unwrap_or_default();
    let runners_up: Vec<f32> = told
        .iter()
        .zip(margins)
        .map(|(logprob, margin)| (logprob.exp() - margin).max(f32::MIN_POSITIVE).ln())
        .collect();
    let logprobs = match manner {
        Manner::LlamaServer => {
            let content = told.iter().enumerate().map(|(at, logprob)| {
                let mut token = json!({"token": "?", "logprob": logprob});
                if let Some(second) = runners_up.get(at) {
                    token["top_logprobs"] = json!([{"logprob": logprob}, {"logprob": second}]);
                }
                token
            });
            json!({"content": content.collect::<Vec<Value>>()})
        }
        Manner::Vllm => {
            let tops = told.iter().zip(&runners_up);
            let tops = tops.map(|(logprob, second)| json!({"?": logprob, "!": second}));
            json!({"token_logprobs": told, "top_logprobs": tops.collect::<Vec<Value>>()})
        }
        Manner::OpenAi => json!({"token_logprobs": told, "top_logprobs": null}),
    };
    let mut choice = json!({"index": index, "text": sample.text, "logprobs": logprobs});
    choice["finish_reason"] = match sample.finish {
        Finish::Length => json!("length"),
        _ => json!("stop"),
    };
    if manner == Manner::Vllm {
        choice["stop_reason"] = match sample.finish {
            Finish::StopString => json!("a stop string"),
            _ => Value::Null,
        };
    }
    choice
}

/// A token of a scored text.
struct Token {
    id: u32,
    text: String,
    /// `None` for the first.
    logprob: Option<f32>,
}

fn tokens_of(text: &str) -> Vec<u32> {
    MODEL.prompt("", text).unwrap().tokens().to_vec()
}

/// Reads a text whose first word is a token. A token that is a part of a character has no text of its own.
fn read(text: &str) -> Arc<Vec<Token>> {
    static KNOWN: LazyLock<Mutex<HashMap<String, Arc<Vec<Token>>>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap();
    known
        .entry(text.to_owned())
        .or_insert_with(|| Arc::new(read_anew(text)))
        .clone()
}

fn read_anew(text: &str) -> Vec<Token> {
    let ids = tokens_of(text);
    let mut tokens: Vec<Token> = Vec::new();
    let mut from = 0;
    while tokens.len() < ids.len() {
        let rest = &ids[tokens.len()..];
        let (to, count) = text[from..]
            .char_indices()
            .map(|(at, c)| from + at + c.len_utf8())
            .map(|to| (to, tokens_of(&text[from..to])))
            .find(|(_, own)| rest.starts_with(own))
            .map(|(to, own)| (to, own.len()))
            .unwrap();
        tokens.extend(rest[..count].iter().map(|&id| Token {
            id,
            text: match count {
                1 => text[from..to].to_owned(),
                _ => "\u{fffd}".to_owned(),
            },
            logprob: None,
        }));
        from = to;
    }
    let first = tokens[0].text.len();
    let prompt = MODEL.prompt("", &text[..first]).unwrap();
    let score = MODEL.score(&prompt, &[&text[first..]]).unwrap().remove(0);
    assert_eq!(score.tokens, ids[1..], "{text:?}");
    for (token, logprob) in tokens[1..].iter_mut().zip(score.logprobs) {
        token.logprob = Some(logprob);
    }
    tokens
}
