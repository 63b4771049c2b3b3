//! Selecting an endpoint's model and probing the endpoint's capabilities.

use ken_language::{GenerateOptions, LanguageModel, Prompt, Sampling, ScoreRequest};
use ken_model::remote::{ApiKey, Endpoint, RemoteError, RemoteModel};
use ken_testing::{fails, has, holds, says, with};
use serde_json::{Value, json};

use super::faults::{greedy, model_list, prompt, scripted, text_of};
use super::loopback::{Reply, Request, Server};

fn error_of(endpoint: Endpoint) -> RemoteError {
    RemoteModel::connect(endpoint).unwrap_err()
}

/// A server with chat completions only.
fn chat_only() -> Server {
    Server::start(|request: &Request| match request.path.as_str() {
        "/v1/models" => model_list(&["gpt"]),
        "/v1/completions" => Reply::refusal(
            404,
            "This is a chat model and not supported in the v1/completions endpoint.",
        ),
        "/v1/chat/completions" => {
            if request.body.get("max_tokens").is_some() {
                return Reply::refusal(400, "Use 'max_completion_tokens' instead of 'max_tokens'.");
            }
            let logprobs = json!({"content": [{"token": "Oslo", "logprob": -0.25}]});
            if request.body["stream"] == true {
                let delta =
                    |text: &str| json!({"choices": [{"index": 0, "delta": {"content": text}}]});
                return Reply::events(&[
                    json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}),
                    delta("Os"),
                    delta("lo"),
                    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "logprobs": logprobs}]}),
                    json!({"choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": 2}}),
                ]);
            }
            Reply::json(&json!({
                "choices": [{
                    "index": 0, "message": {"role": "assistant", "content": "Oslo"},
                    "finish_reason": "stop", "logprobs": logprobs,
                }],
                "usage": {"prompt_tokens": 30, "completion_tokens": 1},
            }))
        }
        _ => Reply::refusal(404, "Not Found"),
    })
}

#[test]
fn an_endpoint_without_completions_gets_chat_messages() {
    let server = chat_only();
    let model = RemoteModel::connect(Endpoint::new(&server.url)).unwrap();
    let prompt = prompt();
    let text = text_of(&model, &prompt).unwrap();
    assert_eq!(text, "Oslo");
    let asked = server.requests("chat/completions");
    let body = &asked.last().unwrap().body;
    let turns: Vec<(&str, &str)> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| {
            (
                turn["role"].as_str().unwrap(),
                turn["content"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("system", "Answer."),
        ("user", "Q: a\nA:"),
        ("assistant", "b"),
        ("user", "Q: c\nA:"),
    ];
    assert_eq!(turns, expected);
    assert_eq!(body["max_completion_tokens"], 5);
    // The other route is tried once, while connecting.
    text_of(&model, &prompt).unwrap();
    let texts = |path: &str| server.requests(path).len();
    assert_eq!(texts("v1/completions"), 1);

    assert!(!model.capabilities().score && model.capabilities().logprobs);
    let request = ScoreRequest::new(&prompt, &[" b"]);
    let error = model.score(&[request]).unwrap_err();
    assert_eq!(error.kind(), "cannot_score");
    let message = error.to_string();
    holds!("{message}" =>
        message.ends_with("cannot score: it has no /completions to continue text with"));
}

#[test]
fn an_endpoint_without_prompt_log_probabilities_cannot_score() {
    let (_server, model) = scripted(|_, _| Reply::HangUp);
    assert!(!model.capabilities().score && !model.capabilities().logprobs);
    let prompt = prompt();
    let request = ScoreRequest::new(&prompt, &[" b"]);
    let error = model.choose(&[request]).unwrap_err();
    assert_eq!(error.kind(), "cannot_score");
    let message = error.to_string();
    says!(message => "neither by `prompt_logprobs` nor by `echo`");
    assert!(error.remedy().unwrap().mentions("vLLM"));
    fails!(model.hidden(&[&prompt], 3) => "cannot_show_hidden");
}

#[test]
fn several_models_are_listed_unless_one_is_named() {
    let server = Server::start(|request| match request.path.as_str() {
        "/v1/models" => model_list(&["small", "large"]),
        "/v1/completions" => Reply::json(&json!({"choices": [{"text": "x"}]})),
        _ => Reply::refusal(404, "Not Found"),
    });
    let error = error_of(Endpoint::new(&server.url));
    has!(error, kind(): "several_models",
        to_string(): format!("{} offers several models: small, large", server.url));
    assert_eq!(
        error.remedy().unwrap().to_string(),
        "name the model: model_name NAME"
    );
    let named = |name: &str| with!(Endpoint::new(&server.url), model: Some(name.to_owned()));
    let small = RemoteModel::connect(named("small")).unwrap();
    let large = RemoteModel::connect(named("large")).unwrap();
    assert_eq!(large.name(), "large");
    assert_ne!(small.fingerprint(), large.fingerprint());
    let again = RemoteModel::connect(named("small")).unwrap();
    assert_eq!(small.fingerprint(), again.fingerprint());
}

#[test]
fn an_unknown_model_is_an_error() {
    let server = Server::start(|request| match request.path.as_str() {
        "/v1/models" => model_list(&["small"]),
        _ => Reply::refusal(404, "The model `huge` does not exist."),
    });
    let error = error_of(with!(Endpoint::new(&server.url), model: Some("huge".to_owned())));
    assert!(
        error
            .to_string()
            .ends_with("HTTP status 404: The model `huge` does not exist."),
        "{error}"
    );
    assert!(error.remedy().unwrap().mentions("the model's name"));
}

#[test]
fn an_endpoint_that_lists_nothing_needs_a_name() {
    for list in [Reply::json as fn(&Value) -> Reply, |_| {
        Reply::refusal(404, "Not Found")
    }] {
        let server = Server::start(move |_| list(&json!({"object": "list", "data": null})));
        let error = error_of(Endpoint::new(&server.url));
        assert_eq!(error.kind(), "unknown_model", "{error}");
    }
}

#[test]
fn a_key_is_sent_and_never_shown() {
    let server = Server::start(|request| match &request.authorization {
        Some(key) => Reply::refusal(401, &format!("Incorrect API key: {key}")),
        None => Reply::refusal(401, "no key"),
    });
    let endpoint = with!(Endpoint::new(&server.url), key: Some(ApiKey::new("sk-secret").unwrap()));
    assert!(!format!("{endpoint:?}").contains("secret"));
    let error = error_of(endpoint);
    assert_eq!(
        server.requests("")[0].authorization.as_deref(),
        Some("Bearer sk-secret")
    );
    let expected = format!(
        "{}/models answered with HTTP status 401: Incorrect API key: Bearer (API key)",
        server.url
    );
    assert_eq!(error.to_string(), expected);
    assert!(error.remedy().unwrap().mentions("api_key"));
}

#[test]
fn an_unreachable_endpoint_is_an_error() {
    let mut endpoint = Endpoint::new("http://127.0.0.1:1/v1");
    endpoint.settings.retries = 0;
    let error = error_of(endpoint);
    assert_eq!(error.kind(), "endpoint_unreachable");
    holds!("{error}" => error.to_string().starts_with("cannot reach 127.0.0.1:1: "));
}

#[test]
fn rejected_parameters_are_left_out_from_then_on() {
    let (server, model) = scripted(|request, _| {
        for name in ["min_p", "seed", "top_k"] {
            if request.body.get(name).is_some() {
                return Reply::refusal(400, &format!("Unknown parameter: '{name}'."));
            }
        }
        Reply::json(&json!({"choices": [{"text": " b", "finish_reason": "length"}]}))
    });
    let random = |top_k| GenerateOptions {
        sampling: Sampling::Random {
            temperature: 1.0,
            top_k,
            top_p: None,
            seed: 1,
        },
        ..greedy()
    };
    let prompt: Prompt = prompt();
    let ask = |options: &GenerateOptions| {
        let request = ken_language::GenerateRequest::new(&prompt, 1, options);
        model.generate(&[request], &mut |_| std::ops::ControlFlow::Continue(()))
    };
    let before = server.requests("completions").len();
    ask(&random(None)).unwrap();
    ask(&random(None)).unwrap();
    assert_eq!(server.requests("completions").len(), before + 5);
    // A value that the caller set is not left out.
    let error = ask(&random(Some(3))).unwrap_err();
    assert_eq!(error.kind(), "endpoint_status");
    assert!(
        error
            .to_string()
            .ends_with("HTTP status 400: Unknown parameter: 'top_k'.")
    );
}

/// A server of a model that thinks, and accepts neither a temperature, nor a system message, nor `refused`.
fn thinking(refused: &'static [&'static str]) -> Server {
    Server::start(move |request: &Request| match request.path.as_str() {
        "/v1/models" => model_list(&["thinker"]),
        "/v1/chat/completions" => {
            let body = &request.body;
            let named = ["temperature", "top_p", "logprobs"].iter().chain(refused);
            if let Some(name) = named.copied().find(|name| body.get(*name).is_some()) {
                return Reply::refusal(400, &format!("Unsupported parameter: '{name}'"));
            }
            if body["messages"][0]["role"] == "system" {
                return Reply::refusal(500, "Jinja Exception: System role not supported");
            }
            let is_thought = body
                .pointer("/chat_template_kwargs/enable_thinking")
                .is_none();
            let thoughts = if is_thought {
                "<think>\nHm.\n</think>\n"
            } else {
                ""
            };
            let text = format!("{thoughts}Oslo");
            let usage = json!({"prompt_tokens": 30, "completion_tokens": 2});
            if body["stream"] == true {
                let delta = json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]});
                return Reply::events(&[delta, json!({"choices": [], "usage": usage})]);
            }
            let message = json!({"role": "assistant", "content": text});
            Reply::json(
                &json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}),
            )
        }
        _ => Reply::refusal(404, "Not Found"),
    })
}

#[test]
fn what_a_model_that_thinks_refuses_is_learned() {
    for refused in [&[][..], &["chat_template_kwargs"]] {
        let server = thinking(refused);
        let model = RemoteModel::connect(Endpoint::new(&server.url)).unwrap();
        assert_eq!(model.not_taken(), ["temperature"]);
        let prompt = prompt();
        for _ in 0..2 {
            assert_eq!(text_of(&model, &prompt).unwrap().trim(), "Oslo");
        }
        let asked = server.requests("chat/completions");
        let body = &asked.last().unwrap().body;
        assert_eq!(
            body["messages"][0],
            json!({"role": "user", "content": "Answer.\n\nQ: a\nA:"})
        );
        has!(body, get("temperature"): None, get("chat_template_kwargs").is_some(): refused.is_empty());
        // The client's own temperature is the client's to change.
        let mut options = greedy();
        options.sampling = Sampling::at(0.7, 1);
        let request = ken_language::GenerateRequest::new(&prompt, 1, &options);
        let flow = &mut |_: ken_language::Progress<'_>| std::ops::ControlFlow::Continue(());
        let error = model.generate(&[request], flow).unwrap_err();
        assert!(error.to_string().contains("temperature"), "{error}");
    }
}

#[test]
fn a_model_that_may_think_is_not_asked_not_to() {
    let server = thinking(&[]);
    let mut endpoint = Endpoint::new(&server.url);
    endpoint.settings.no_thinking = false;
    let model = RemoteModel::connect(endpoint).unwrap();
    for _ in 0..2 {
        assert_eq!(text_of(&model, &prompt()).unwrap().trim(), "Oslo");
    }
    let asked = server.requests("chat/completions");
    assert_eq!(asked.last().unwrap().body.get("chat_template_kwargs"), None);
}

#[test]
fn an_endpoint_that_is_gone_is_not_ready() {
    let server = chat_only();
    let model = RemoteModel::connect(Endpoint::new(&server.url)).unwrap();
    model.ready().unwrap();
    server.close();
    assert_eq!(model.ready().unwrap_err().kind(), "endpoint_unreachable");
}
