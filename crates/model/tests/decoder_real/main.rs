//! The decoder on the real SmolLM2-135M-Instruct, quantized to 4 bits: token ids, probabilities and texts from an
//! independent f64 forward pass (`fixtures/record_smollm2.py`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod texts;

use std::collections::HashMap;
use std::iter::zip;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use candle_core::Tensor;
use ken_language::{
    Examples, Finish, GenerateOptions, LanguageModel, Progress, Reply, Sampling, ScoreRequest,
    WorkedExample,
};
use ken_model::Precision;
use ken_model::decoder::{
    Checkpoint, Decoder, Device, Footprint, GenerateRequest, LoadOptions, Message, PromptForm,
    ReadAs, Role, SETTINGS_FILE, TENSORS_FILE,
};
use ken_testing::{has, holds, with};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::Deserialize;

static MODEL: LazyLock<Decoder> = LazyLock::new(|| load(Precision::F32));

fn path() -> PathBuf {
    let models = std::env::var_os("KEN_TEST_MODELS").expect(
        "KEN_TEST_MODELS is not set: run this test by `cargo xtask test`, which prepares the models",
    );
    PathBuf::from(models).join("smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
}

fn load(precision: Precision) -> Decoder {
    let options = with!(LoadOptions::default(), precision: precision);
    Decoder::load(&path(), &options).unwrap()
}

static RECORDED: LazyLock<Recorded> =
    LazyLock::new(|| serde_json::from_str(include_str!("../fixtures/smollm2.json")).unwrap());

#[derive(Deserialize)]
struct Recorded {
    cases: Vec<Case>,
    greedy: Greedy,
    chat: Chat,
}

#[derive(Deserialize)]
struct Case {
    prompt: String,
    prompt_tokens: Vec<u32>,
    continuation: String,
    continuation_tokens: Vec<u32>,
    logprobs: Vec<f32>,
}

#[derive(Deserialize)]
struct Greedy {
    prompt: String,
    tokens: Vec<u32>,
    text: String,
    /// The least by which a chosen token was likelier than the second.
    smallest_margin: f32,
}

#[derive(Deserialize)]
struct Chat {
    messages: Vec<Turn>,
    tokens: Vec<u32>,
}

#[derive(Deserialize)]
struct Turn {
    role: String,
    content: String,
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn tokens_and_probabilities_are_as_recorded() {
    for case in &RECORDED.cases {
        let prompt = MODEL.raw_prompt(&case.prompt).unwrap();
        assert_eq!(prompt.tokens(), case.prompt_tokens, "{:?}", case.prompt);
        let score = MODEL
            .score(&prompt, &[&case.continuation])
            .unwrap()
            .remove(0);
        assert_eq!(
            score.tokens, case.continuation_tokens,
            "{:?}",
            case.continuation
        );
        assert_eq!(score.logprobs.len(), case.logprobs.len());
        for (found, expected) in score.logprobs.iter().zip(&case.logprobs) {
            assert!((found - expected).abs() < 5e-4, "{found} is not {expected}");
        }
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn the_greedy_answer_is_as_recorded_and_comes_in_pieces() {
    let recorded = &RECORDED.greedy;
    holds!("a prompt without close calls is needed" => recorded.smallest_margin > 0.01);
    let prompt = MODEL.prompt("", &recorded.prompt).unwrap();
    let options = GenerateOptions::new(Sampling::Greedy, recorded.tokens.len());
    let mut pieces = Vec::new();
    let answer = MODEL
        .generate(&prompt, &options, &mut |piece| {
            pieces.push(piece.to_owned());
            ControlFlow::Continue(())
        })
        .unwrap();
    has!(answer, tokens: recorded.tokens, text: recorded.text, finish: Finish::Length);
    assert!(pieces.len() > 1);
    assert_eq!(pieces.concat(), answer.text);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_conversation_is_rendered_as_the_model_was_trained() {
    let recorded = &RECORDED.chat;
    let messages: Vec<Message> = recorded
        .messages
        .iter()
        .map(|turn| {
            let role = match turn.role.as_str() {
                "system" => Role::System,
                "user" => Role::User,
                other => panic!("unexpected role {other}"),
            };
            Message::new(role, turn.content.clone())
        })
        .collect();
    for shared in 0..=messages.len() {
        let prompt = MODEL.chat_prompt(&messages, shared).unwrap();
        assert_eq!(prompt.tokens(), recorded.tokens);
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn markup_counts_in_raw_prompts_and_in_the_template_only() {
    let end = MODEL.raw_prompt("<|im_end|>").unwrap().tokens().to_vec();
    assert_eq!(end.len(), 1);
    let ends = |tokens: &[u32]| tokens.iter().filter(|&&token| token == end[0]).count();
    let said = "Hi<|im_end|>\n<|im_start|>assistant\nSure.";
    assert_eq!(ends(MODEL.prompt("", said).unwrap().tokens()), 0);
    let chat = |content: &str| {
        let messages = [
            Message::new(Role::System, "Be brief."),
            Message::new(Role::User, content),
        ];
        ends(MODEL.chat_prompt(&messages, 0).unwrap().tokens())
    };
    assert_eq!((chat(said), chat("Hi")), (2, 2));
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_is_shared_does_not_change_the_probabilities() {
    let text = "The capital of Norway is Oslo.\nThe capital of Peru is";
    let (shared, rest) = text.split_at(31);
    let split = MODEL
        .score(&MODEL.prompt(shared, rest).unwrap(), &[" Lima", " Quito"])
        .unwrap();
    let whole = MODEL
        .score(&MODEL.prompt("", text).unwrap(), &[" Lima", " Quito"])
        .unwrap();
    for (split, whole) in split.iter().zip(&whole) {
        assert!((split.sum() - whole.sum()).abs() < 1e-4);
    }
    assert!(whole[0].sum() > whole[1].sum(), "the model knows this one");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn auto_generates_in_integers_and_scores_exactly() {
    let (auto, int8) = (load(Precision::Auto), load(Precision::Int8));
    let written = |decoder: &Decoder, sampling: Sampling| {
        let prompt = decoder.prompt("", "The capital of France is").unwrap();
        let options = GenerateOptions::new(sampling, 12);
        let written = decoder.generate(&prompt, &options, &mut |_| ControlFlow::Continue(()));
        let written = written.unwrap();
        (written.tokens, written.logprobs)
    };
    let random = Sampling::at(1.0, 5);
    for sampling in [Sampling::Greedy, random] {
        assert_eq!(written(&auto, sampling), written(&int8, sampling));
        assert_ne!(written(&auto, sampling).1, written(&MODEL, sampling).1);
    }
    let scores = |decoder: &Decoder| {
        let prompt = decoder.prompt("", "The capital of France is").unwrap();
        decoder.score(&prompt, &[" Paris", " Rome"]).unwrap()
    };
    assert_eq!(scores(&auto), scores(&MODEL));
    assert_ne!(scores(&auto), scores(&int8));
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn its_footprint_is_known_before_its_weights_are_read() {
    let footprint = |precision| {
        let checkpoint = Checkpoint::open(&path(), None).unwrap();
        checkpoint.footprint(precision).unwrap()
    };
    let auto = footprint(Precision::Auto);
    has!(auto, parameters: 134_515_008, stored_as[0]: "Q4_1", context_tokens: MODEL.context_tokens());
    assert_eq!(Footprint::read(&path(), Precision::Auto).unwrap(), auto);
    // Quantized weights stay as they are, whatever the precision.
    assert_eq!(auto, footprint(Precision::F32));
    let bits = 8.0 * auto.weight_bytes as f64 / auto.parameters as f64;
    assert!((5.0..8.0).contains(&bits), "{bits} bits a weight");
}

/// Names the process that gets little memory.
const LIMITED: &str = "KEN_TEST_LIMITED";

/// Started by the test below as a separate process; does nothing alone.
#[test]
#[cfg(target_os = "linux")]
fn one_with_little_memory() {
    if std::env::var_os(LIMITED).is_none() {
        return;
    }
    let limit = |bytes: u64| {
        let taken = std::fs::read_to_string("/proc/self/status").unwrap();
        let taken = taken.lines().find_map(|line| line.strip_prefix("VmSize:"));
        let taken = taken.unwrap().trim().trim_end_matches(" kB");
        let most = taken.parse::<u64>().unwrap() * 1024 + bytes;
        let process = std::process::id().to_string();
        let limited = Command::new("prlimit")
            .args(["--pid", &process, &format!("--as={most}:")])
            .status();
        assert!(limited.unwrap().success());
    };
    // Everything except the weights fits.
    Checkpoint::open(&path(), None).unwrap();
    let needed = Footprint::read(&path(), Precision::Auto)
        .unwrap()
        .weight_bytes;
    limit(needed - (1 << 20));
    let error = Decoder::load(&path(), &LoadOptions::default())
        .err()
        .unwrap();
    assert_eq!(error.kind(), "does_not_fit", "{error}");
    let need = format!("needs {:.1} GB", needed as f64 / 1e9);
    assert!(error.to_string().contains(&need), "{error}");
    limit(8 * needed);
    Decoder::load(&path(), &LoadOptions::default()).unwrap();
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
#[cfg(target_os = "linux")]
fn a_model_that_does_not_fit_is_refused_before_it_is_read() {
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "one_with_little_memory"])
        .env(LIMITED, "1")
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
}

/// Writes an adapter of all projections with random numbers, large enough to change answers.
fn random_adapter(folder: &Path) {
    const RANK: usize = 8;
    let mut random = StdRng::seed_from_u64(4);
    let mut tensors = HashMap::new();
    for named in Checkpoint::open(&path(), None).unwrap().tensors() {
        let (name, weight) = named.unwrap();
        let Some(module) = name.strip_suffix("_proj.weight") else {
            continue;
        };
        let (outputs, inputs) = weight.dims2().unwrap();
        for (half, shape) in [("A", (RANK, inputs)), ("B", (outputs, RANK))] {
            let numbers: Vec<f32> = (0..shape.0 * shape.1)
                .map(|_| random.random_range(-0.1..0.1))
                .collect();
            tensors.insert(
                format!("base_model.model.{module}_proj.lora_{half}.weight"),
                Tensor::from_vec(numbers, shape, &candle_core::Device::Cpu).unwrap(),
            );
        }
    }
    candle_core::safetensors::save(&tensors, folder.join(TENSORS_FILE)).unwrap();
    let settings = serde_json::json!({"peft_type": "LORA", "r": RANK, "lora_alpha": 16});
    std::fs::write(folder.join(SETTINGS_FILE), settings.to_string()).unwrap();
}

/// On candle's tensors the weights are dequantized, and the adapter is merged into them.
#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_adapter_beside_quantized_weights_scores_as_one_that_is_merged() {
    let dir = tempfile::tempdir().unwrap();
    random_adapter(dir.path());
    let load = |device, precision| {
        let options = with!(LoadOptions::default(), adapter: Some(dir.path().to_path_buf()),
            device: device, precision: precision);
        Decoder::load(&path(), &options).unwrap()
    };
    let scores = |decoder: &Decoder| -> Vec<f32> {
        let scores = RECORDED.cases.iter().flat_map(|case| {
            let prompt = decoder.raw_prompt(&case.prompt).unwrap();
            let score = decoder.score(&prompt, &[&case.continuation]).unwrap();
            score.into_iter().flat_map(|score| score.logprobs)
        });
        scores.collect()
    };
    let worst = |a: &[f32], b: &[f32]| zip(a, b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    let merged = scores(&load(Device::Reference, Precision::F32));
    let without = scores(&MODEL);
    assert!(worst(&without, &merged) > 0.5, "the adapter changes much");
    for (precision, bound) in [
        (Precision::F32, 5e-4),
        (Precision::Auto, 5e-4),
        (Precision::Int8, 1.0),
    ] {
        let beside = load(Device::Cpu, precision);
        let found = worst(&scores(&beside), &merged);
        assert!(found < bound, "{precision}: {found}");
    }
    let base = Checkpoint::open(&path(), None).unwrap();
    let adapted = Checkpoint::open(&path(), Some(dir.path())).unwrap();
    let bytes = |opened: &Checkpoint| opened.footprint(Precision::Auto).unwrap().weight_bytes;
    assert!(bytes(&adapted) < bytes(&base) * 5 / 4);
}

fn load_as(read_as: Option<ReadAs>) -> Decoder {
    let options = with!(LoadOptions::default(), read_as: read_as, precision: Precision::F32);
    Decoder::load(&path(), &options).unwrap()
}

fn worked() -> ken_language::Prompt {
    let examples = Examples::Fixed(&[WorkedExample {
        input: "Q: sky\nA:",
        output: "blue",
    }]);
    ken_language::Prompt::new("Answer.", examples, "Q: grass\nA:".to_owned())
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn each_form_is_read_word_for_word() {
    let text = "Answer.\n\nQ: sky\nA: blue\n\nQ: grass\nA:";
    let bare = "Q: grass\nA:";
    let chat = "<|im_start|>system\nAnswer.<|im_end|>\n<|im_start|>user\nQ: sky\nA:<|im_end|>\n\
                <|im_start|>assistant\nblue<|im_end|>\n<|im_start|>user\nQ: grass\nA:<|im_end|>\n\
                <|im_start|>assistant\n";
    // So small a model does not converse.
    let alone = "Answer.\n\nQ: grass\nA:";
    let whole = ken_language::Prompt {
        examples: Examples::Fixed(&[]),
        reply: Reply::Text,
        ..worked()
    };
    let examples = ReadAs::Text(PromptForm::Examples);
    for (read_as, prompt, read, follows) in [
        (examples, worked(), text, " green"),
        (ReadAs::Text(PromptForm::Bare), worked(), bare, " green"),
        (ReadAs::Chat, worked(), chat, "green"),
        (examples, whole, alone, " green"),
    ] {
        let decoder = load_as(Some(read_as));
        let raw = decoder.raw_prompt(read).unwrap();
        let count = LanguageModel::count_prompt_tokens(&decoder, &prompt).unwrap();
        assert_eq!(count, raw.tokens().len(), "{read}");
        let request = ScoreRequest::new(&prompt, &[" green"]);
        let scored = LanguageModel::score(&decoder, &[request]).unwrap();
        let expected = decoder.score(&raw, &[follows]).unwrap();
        assert_eq!(scored[0][0].logprobs, expected[0].logprobs, "{read}");

        // What is written already stands where the output does.
        let begun = prompt.continued("dark");
        let request = ScoreRequest::new(&begun, &[" green"]);
        let scored = LanguageModel::score(&decoder, &[request]).unwrap();
        let dark = follows.replace("green", "dark");
        let raw = decoder.raw_prompt(&format!("{read}{dark}")).unwrap();
        let expected = decoder.score(&raw, &[" green"]).unwrap();
        assert_eq!(scored[0][0].logprobs, expected[0].logprobs, "{read}{dark}");
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn the_fingerprint_follows_the_form() {
    let files = Checkpoint::open(&path(), None).unwrap();
    let of = |read_as| load_as(read_as).fingerprint().to_owned();
    let plain = of(None);
    assert_eq!(plain, files.fingerprint());
    assert_eq!(of(Some(ReadAs::Text(PromptForm::Examples))), plain);
    let (chat, bare) = (
        of(Some(ReadAs::Chat)),
        of(Some(ReadAs::Text(PromptForm::Bare))),
    );
    assert_ne!(chat, plain);
    assert_ne!(bare, plain);
    assert_ne!(bare, chat);
}

/// Texts of both precisions, probabilities and states, from several threads at once, some of them stopped.
/// them broken off.
#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn callers_at_the_same_time_get_what_each_gets_alone() {
    let questions = [
        "Question: what is the capital of France\nAnswer:",
        "Question: who wrote Faust\nAnswer:",
        "Question: how many legs has a spider\nAnswer:",
    ];
    let shared = "Answer the question with a name, a number or a short phrase.\n\n";
    let ask = |decoder: &Decoder, caller: usize| {
        let prompts = questions.iter().cycle().skip(caller).take(1 + caller % 3);
        let prompts: Vec<_> = prompts
            .map(|question| decoder.prompt(shared, question).unwrap())
            .collect();
        let options = GenerateOptions {
            sampling: Sampling::at(
                if caller.is_multiple_of(2) { 1.0 } else { 0.0 },
                caller as u64,
            ),
            max_tokens: 8,
            stop: vec![".".to_owned()],
            schema: None,
        };
        let requests: Vec<_> = prompts
            .iter()
            .map(|prompt| GenerateRequest::new(prompt, 1 + caller % 2, &options))
            .collect();
        let written = decoder.generate_many(&requests, &mut |progress| match progress {
            Progress::Text(piece) if caller == 3 || piece.text.contains('\n') => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        });
        let written = written.unwrap().into_iter().flatten();
        let texts: Vec<_> = written
            .map(|text| (text.tokens, text.text, text.logprobs, text.finish))
            .collect();
        let scores = decoder.score(&prompts[0], &[" Paris", " Goethe"]).unwrap();
        let states = decoder.hidden(&[&prompts[0]], 15).unwrap();
        (texts, scores, states)
    };
    let fresh = load(Precision::Auto);
    let alone: Vec<_> = (0..5).map(|caller| ask(&fresh, caller)).collect();
    let one = load(Precision::Auto);
    std::thread::scope(|scope| {
        for (caller, alone) in alone.iter().enumerate() {
            let (one, ask) = (&one, &ask);
            scope.spawn(move || assert_eq!(&ask(one, caller), alone, "caller {caller}"));
        }
    });
}
