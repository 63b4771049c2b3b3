//! The same model gives the same results locally and behind an endpoint.

use std::ops::ControlFlow;

use ken_language::{
    Examples, Finish, GenerateOptions, GenerateRequest, Generation, LanguageModel, Progress,
    Prompt, Sampling, ScoreRequest, WorkedExample,
};
use ken_model::remote::{Endpoint, RemoteModel};
use ken_testing::{has, with};

use super::loopback::Server;
use super::model_server::{MODEL, Manner, start};

const EXAMPLES: [WorkedExample<'static>; 1] = [WorkedExample {
    input: "Question: What is the capital of France?\nAnswer:",
    output: "Paris",
}];

fn prompt(question: &str) -> Prompt {
    let input = format!("Question: {question}\nAnswer:");
    Prompt::new("Answer the question.", Examples::Fixed(&EXAMPLES), input)
}

fn connected(manner: Manner) -> (Server, RemoteModel) {
    let server = start(manner);
    let model = RemoteModel::connect(Endpoint::new(&server.url)).unwrap();
    (server, model)
}

/// The generations, and the pieces of the first sample of the first request.
fn written(
    model: &dyn LanguageModel,
    prompts: &[Prompt],
    samples: usize,
    options: &GenerateOptions,
) -> (Vec<Vec<Generation>>, Vec<String>) {
    let requests: Vec<_> = prompts
        .iter()
        .map(|prompt| GenerateRequest::new(prompt, samples, options))
        .collect();
    let mut pieces = Vec::new();
    let written = model
        .generate(&requests, &mut |progress| {
            if let Progress::Text(piece) = progress
                && (piece.request, piece.sample) == (0, 0)
            {
                pieces.push(piece.text.to_owned());
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    (written, pieces)
}

fn assert_same(here: &Generation, there: &Generation) {
    has!(here, text: there.text, tokens: there.tokens, prompt_tokens: there.prompt_tokens);
    let margins = [&here.margins, &there.margins].map(|told| told.as_deref().unwrap_or_default());
    let (logprobs, told) = (&here.logprobs, &there.logprobs);
    let (here, there) = (
        logprobs.as_ref().unwrap(),
        told.as_deref().unwrap_or_default(),
    );
    // The endpoint returns no log probability of the end.
    assert!(there.len() == here.len() || there.len() + 1 == here.len());
    for (a, b) in here
        .iter()
        .zip(there)
        .chain(margins[0].iter().zip(margins[1]))
    {
        assert!((a - b).abs() < 1e-4, "{a} is not {b}");
    }
}

fn random(seed: u64) -> Sampling {
    Sampling::Random {
        temperature: 0.7,
        top_k: None,
        top_p: Some(0.9),
        seed,
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_streamed_completion_is_the_same() {
    let options = with!(GenerateOptions::new(Sampling::Greedy, 12), stop: vec!["\n".to_owned()]);
    let prompts = [prompt("What is the capital of Norway?")];
    let (here, here_pieces) = written(&*MODEL, &prompts, 1, &options);
    for manner in [Manner::Vllm, Manner::OpenAi, Manner::LlamaServer] {
        let (server, model) = connected(manner);
        let (there, there_pieces) = written(&model, &prompts, 1, &options);
        assert_same(&here[0][0], &there[0][0]);
        assert_eq!(here_pieces, there_pieces);
        let margins = there[0][0].margins.as_ref();
        let told = margins.map(|margins| margins.len() == there[0][0].tokens);
        assert_eq!(told, (manner != Manner::OpenAi).then_some(true));
        assert_eq!(here[0][0].finish, Finish::StopString);
        let finish = match manner {
            Manner::Vllm => Finish::StopString,
            _ => Finish::End,
        };
        assert_eq!(there[0][0].finish, finish);
        assert_eq!(
            server.requests("completions").last().unwrap().body["stream"],
            true
        );
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn many_samples_are_the_same() {
    let options = with!(GenerateOptions::new(random(11), 5), stop: vec!["\n".to_owned()]);
    let prompts =
        ["the capital of Norway?", "a quark?"].map(|what| prompt(&format!("What is {what}")));
    let (here, _) = written(&*MODEL, &prompts, 3, &options);
    let (_, there) = connected(Manner::Vllm);
    let (there, pieces) = written(&there, &prompts, 3, &options);
    for (here, there) in here.iter().flatten().zip(there.iter().flatten()) {
        assert_same(here, there);
    }
    assert_eq!(there.len(), 2);
    assert!(there.iter().all(|samples| samples.len() == 3));
    assert_eq!(pieces.concat(), there[0][0].text);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn samples_requested_one_by_one_have_consecutive_seeds() {
    let options = |seed| GenerateOptions::new(random(seed), 4);
    let prompts = [prompt("What is a quark?")];
    let (_, model) = connected(Manner::LlamaServer);
    let (there, _) = written(&model, &prompts, 3, &options(5));
    assert_eq!(there[0].len(), 3);
    for (sample, there) in there[0].iter().enumerate() {
        let (here, _) = written(&*MODEL, &prompts, 1, &options(5 + sample as u64));
        assert_same(&here[0][0], there);
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn scores_and_choices_are_the_same() {
    let prompts = [
        prompt("What is the capital of Norway?"),
        prompt("Where is 深圳?"),
    ];
    let continuations: [&[&str]; 2] = [
        &[" Oslo", " Bergen", " the city of Oslo\n"],
        &[" China", " 中国", " Zürich"],
    ];
    let requests: Vec<_> = prompts
        .iter()
        .zip(continuations)
        .map(|(prompt, continuations)| ScoreRequest::new(prompt, continuations))
        .collect();
    let here = LanguageModel::score(&*MODEL, &requests).unwrap();
    let shares = LanguageModel::choose(&*MODEL, &requests).unwrap();
    for manner in [Manner::Vllm, Manner::OpenAi] {
        let (_, model) = connected(manner);
        let there = model.score(&requests).unwrap();
        for (here, there) in here.iter().flatten().zip(there.iter().flatten()) {
            assert_eq!(here.logprobs.len(), there.logprobs.len());
            for (a, b) in here.logprobs.iter().zip(&there.logprobs) {
                assert!((a - b).abs() < 1e-4, "{a} is not {b}");
            }
        }
        let chosen = model.choose(&requests).unwrap();
        for (a, b) in shares.iter().flatten().zip(chosen.iter().flatten()) {
            assert!((a - b).abs() < 1e-4, "{a} is not {b}");
        }
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn tokens_are_counted_by_the_endpoint_or_estimated_from_above() {
    let prompt = prompt("What is the capital of Norway?");
    let text = "The capital of Norway is Oslo.";
    let here = LanguageModel::count_tokens(&*MODEL, text).unwrap();
    let here_prompt = MODEL.count_prompt_tokens(&prompt).unwrap();
    for (manner, context) in [(Manner::Vllm, 2048), (Manner::LlamaServer, 1024)] {
        let (_, model) = connected(manner);
        assert_eq!(model.count_tokens(text).unwrap(), here);
        assert_eq!(model.count_prompt_tokens(&prompt).unwrap(), here_prompt);
        assert_eq!(model.context_tokens(), context);
    }
    let (_, model) = connected(Manner::OpenAi);
    assert_eq!(model.count_tokens(text).unwrap(), 15);
    assert!(model.count_prompt_tokens(&prompt).unwrap() > here_prompt);
    assert_eq!(model.context_tokens(), 4096);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn capabilities_are_known_once_connected() {
    for (manner, score) in [
        (Manner::Vllm, true),
        (Manner::OpenAi, true),
        (Manner::LlamaServer, false),
    ] {
        let (server, model) = connected(manner);
        let capabilities = model.capabilities();
        assert_eq!(capabilities.score, score, "{manner:?}");
        assert!(capabilities.logprobs && capabilities.hidden_layers.is_none());
        assert!(server.requests("completions").len() <= 3);
    }
}
