//! How several samples are requested, and what a break leaves of a completion.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ken_language::{Finish, GenerateOptions, GenerateRequest, LanguageModel, Progress, Sampling};
use ken_model::remote::{Endpoint, RemoteModel};
use ken_testing::{has, holds, with};
use serde_json::{Value, json};

use super::faults::{endless, greedy, prompt, scripted, text_of};
use super::loopback::{Reply, Request, Server};

fn choices(texts: &[String]) -> Reply {
    let choices: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| json!({"index": index, "text": text, "finish_reason": "stop"}))
        .collect();
    Reply::json(&json!({"choices": choices}))
}

fn sampled() -> GenerateOptions {
    with!(greedy(), sampling: Sampling::at(1.0, 100))
}

/// One text, after its seed.
fn by_seed(request: &Request) -> Reply {
    choices(&[format!("seed {}", request.body["seed"])])
}

#[test]
fn samples_are_requested_one_by_one_if_several_are_refused_or_ignored() {
    for refuse in [true, false] {
        let (server, model) = scripted(move |request, _| match request.body.get("n") {
            Some(_) if refuse => Reply::refusal(400, "Only one completion choice: 'n' must be 1"),
            _ => by_seed(request),
        });
        let (prompt, options) = (prompt(), sampled());
        let requests = [GenerateRequest::new(&prompt, 4, &options)];
        for _ in 0..2 {
            let written = model
                .generate(&requests, &mut |_| ControlFlow::Continue(()))
                .unwrap();
            let texts: Vec<&str> = written[0]
                .iter()
                .map(|sample| sample.text.as_str())
                .collect();
            assert_eq!(texts, ["seed 100", "seed 101", "seed 102", "seed 103"]);
        }
        let tried = server.requests("completions");
        assert_eq!(
            tried.iter().filter(|r| r.body.get("n").is_some()).count(),
            1
        );
    }
}

#[test]
fn greedy_samples_are_generated_once() {
    let (server, model) = scripted(|_, _| choices(&["same".to_owned()]));
    let (prompt, options) = (prompt(), greedy());
    let request = GenerateRequest::new(&prompt, 3, &options);
    let before = server.requests("completions").len();
    let written = model
        .generate(&[request], &mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert!(written[0].iter().all(|sample| sample.text == "same"));
    assert_eq!(written[0].len(), 3);
    assert_eq!(server.requests("completions").len(), before + 1);
}

#[test]
fn requests_in_flight_are_as_many_as_allowed() {
    let (now, most) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let seen = most.clone();
    let (_server, model) = scripted(move |request, _| {
        seen.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(30));
        now.fetch_sub(1, Ordering::SeqCst);
        by_seed(request)
    });
    let prompt = prompt();
    let options: Vec<GenerateOptions> = (0..9)
        .map(|seed| with!(greedy(), sampling: Sampling::at(1.0, seed)))
        .collect();
    let requests: Vec<_> = options
        .iter()
        .map(|options| GenerateRequest::new(&prompt, 1, options))
        .collect();
    let caller = std::thread::current().id();
    let mut told = BTreeSet::new();
    let written = model
        .generate(&requests, &mut |progress| {
            let Progress::Text(piece) = progress else {
                panic!("an endpoint says nothing of reading");
            };
            assert_eq!(std::thread::current().id(), caller);
            told.insert((piece.request, piece.text.to_owned()));
            ControlFlow::Continue(())
        })
        .unwrap();
    for (seed, samples) in written.iter().enumerate() {
        assert_eq!(samples[0].text, format!("seed {seed}"));
        assert!(told.contains(&(seed, samples[0].text.clone())));
    }
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[test]
fn a_break_closes_the_connection() {
    let (server, model) = scripted(|_, _| endless());
    let (prompt, options) = (prompt(), greedy());
    let request = GenerateRequest::new(&prompt, 1, &options);
    let mut pieces = 0;
    let written = model
        .generate(&[request], &mut |_| {
            pieces += 1;
            match pieces {
                3 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        })
        .unwrap();
    has!(written[0][0], text: "xxx", finish: Finish::Cancelled);
    server.wait_for_disconnect();
}

/// What is left of the completions of a prompt, requested `times` times and streamed if once, after a
/// break at the first line: text, tokens, log probabilities.
fn lines(
    reply: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    times: usize,
) -> Vec<(String, usize, Option<Vec<f32>>)> {
    let (_server, model) = scripted(move |request, _| reply(request));
    let (prompt, options) = (prompt(), greedy());
    let request = GenerateRequest::new(&prompt, 1, &options);
    let written = model
        .generate(&vec![request; times], &mut |progress| {
            ken_language::break_if(
                matches!(progress, Progress::Text(piece) if piece.text.contains('\n')),
            )
        })
        .unwrap();
    let written = written.into_iter().flatten();
    written
        .map(|one| {
            assert_eq!(one.finish == Finish::Cancelled, one.text.contains('\n'));
            (one.text, one.tokens, one.logprobs)
        })
        .collect()
}

#[test]
fn log_probabilities_end_with_the_break() {
    let whole = |logprobs: Value| {
        let choice = json!({"text": " Oslo\nQ: d", "finish_reason": "stop", "logprobs": logprobs});
        json!({"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 5}})
    };
    let told = move |_: &Request| {
        let tokens = [" Os", "lo", "\n", "Q", ": d"];
        let logprobs = [-0.5, -0.25, -0.125, -2.0, -3.0];
        Reply::json(&whole(
            json!({"tokens": tokens, "token_logprobs": logprobs}),
        ))
    };
    let expected = (" Oslo\n".to_owned(), 3, Some(vec![-0.5, -0.25, -0.125]));
    // Requested once it is a stream, which this endpoint does not send.
    for times in [1, 2] {
        assert_eq!(lines(told, times), vec![expected.clone(); times]);
    }
    let untold = move |_: &Request| {
        Reply::json(&whole(
            json!({"token_logprobs": [-0.5, -0.25, -0.125, -2.0, -3.0]}),
        ))
    };
    let expected = (" Oslo\nQ: d".to_owned(), 5, None);
    assert_eq!(lines(untold, 2), vec![expected; 2]);

    let streamed = |_: &Request| {
        let piece = |text: &str, tokens: &[&str], logprobs: &[f32]| {
            let logprobs = json!({"tokens": tokens, "token_logprobs": logprobs});
            json!({"choices": [{"index": 0, "text": text, "logprobs": logprobs}]})
        };
        Reply::events(&[
            piece(" Oslo", &[" Os", "lo"], &[-0.5, -0.25]),
            piece("\nQ: d", &["\n", "Q", ": d"], &[-0.125, -2.0, -3.0]),
        ])
    };
    let expected = (" Oslo\n".to_owned(), 3, Some(vec![-0.5, -0.25, -0.125]));
    assert_eq!(lines(streamed, 1), [expected]);
}

#[test]
fn an_endpoint_without_runner_up_is_asked_without() {
    let (server, model) = scripted(|request, _| {
        if request.body["logprobs"] == 2 {
            return Reply::refusal(400, "logprobs must be at most 1");
        }
        let logprobs = json!({"tokens": [" Oslo"], "token_logprobs": [-0.5]});
        Reply::json(
            &json!({"choices": [{"text": " Oslo", "finish_reason": "stop", "logprobs": logprobs}]}),
        )
    });
    let (prompt, options) = (prompt(), greedy());
    let request = GenerateRequest::new(&prompt, 1, &options);
    for _ in 0..2 {
        let written = model
            .generate(&[request.clone(), request.clone()], &mut |_| {
                ControlFlow::Continue(())
            })
            .unwrap();
        let answer = &written[1][0];
        has!(answer, logprobs: Some(vec![-0.5]), margins: None);
    }
    let asked = server.requests("completions");
    assert_eq!(asked.last().unwrap().body["logprobs"], 1);
}

#[test]
fn an_empty_completion_has_no_log_probabilities() {
    let empty = |_: &Request| {
        let logprobs = json!({"tokens": [], "token_logprobs": []});
        Reply::json(
            &json!({"choices": [{"text": "", "finish_reason": "stop", "logprobs": logprobs}]}),
        )
    };
    assert_eq!(lines(empty, 2), vec![(String::new(), 0, None); 2]);
}

#[test]
fn no_samples_and_no_tokens_are_not_requested() {
    let (server, model) = scripted(|_, _| Reply::HangUp);
    let (prompt, options) = (prompt(), greedy());
    let before = server.requests("completions").len();
    let asked = |samples, options| GenerateRequest::new(&prompt, samples, options);
    let error = model
        .generate(&[asked(0, &options)], &mut |_| ControlFlow::Continue(()))
        .unwrap_err();
    assert_eq!(error.kind(), "no_samples");
    let nothing = with!(greedy(), max_tokens: 0);
    let written = model
        .generate(&[asked(2, &nothing)], &mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert_eq!(written[0].len(), 2);
    assert_eq!(written[0][1].finish, Finish::Length);
    assert_eq!(server.requests("completions").len(), before);
}

#[test]
fn max_tokens_is_what_the_prompt_leaves_of_the_context() {
    for (prompt_tokens, room) in [(22, Some(2)), (24, None)] {
        let server = Server::start(move |request| match request.path.as_str() {
            "/v1/models" => Reply::json(&json!({"data": [{"id": "tiny", "max_model_len": 24}]})),
            "/tokenize" => Reply::json(&json!({"count": prompt_tokens})),
            _ => choices(&["x".to_owned()]),
        });
        let model = RemoteModel::connect(Endpoint::new(&server.url)).unwrap();
        let written = text_of(&model, &prompt());
        if let Some(room) = room {
            written.unwrap();
            let asked = server.requests("completions");
            assert_eq!(asked.last().unwrap().body["max_tokens"], room);
        } else {
            let error = written.unwrap_err();
            assert_eq!(error.kind(), "context_exceeded");
            assert!(error.concerns_input());
            let message = error.to_string();
            holds!("{message}" => message.ends_with("it has 24 tokens, the context 24"));
        }
    }
}
