//! Every family and weight type against the reference.

use std::ops::ControlFlow;

use candle_core::quantized::GgmlDType;
use ken_language::{GenerateOptions, Sampling};
use ken_model::Precision;
use ken_model::decoder::{
    Decoder, Device, Family, GenerateRequest, LoadOptions, Prompt, ScoreRequest,
};
use ken_testing::{holds, with};
use tempfile::TempDir;

use super::checkpoint::{Rope, Tensors, Tiny};
use super::folder::{self, Layout};
use super::{gguf, reference};

const PROMPT: &str = " the engineers are in a thin winter, reading the other thing";
const CONTINUATIONS: [&str; 3] = [" and the ringing", "er", ". the answer is a tree"];

/// Scores the continuations and compares every log probability with the reference.
fn assert_agrees(decoder: &Decoder, tiny: &Tiny, weights: &Tensors, prompt: &str) {
    let prompt = decoder.prompt("", prompt).unwrap();
    for score in decoder.score(&prompt, &CONTINUATIONS).unwrap() {
        let tokens = [prompt.tokens(), &score.tokens].concat();
        let expected = reference::log_probabilities(tiny, weights, &tokens);
        assert_eq!(score.tokens.len(), score.logprobs.len());
        for (place, (&token, &found)) in score.tokens.iter().zip(&score.logprobs).enumerate() {
            let expected = expected[prompt.tokens().len() - 1 + place][token as usize];
            holds!("{found} is not {expected}" => (f64::from(found) - expected).abs() < 1e-4);
        }
    }
}

fn check_folder(tiny: &Tiny, layout: Layout) {
    let dir = TempDir::new().unwrap();
    let weights = folder::write(tiny, layout, dir.path());
    for device in [Device::Cpu, Device::Reference] {
        let options = with!(LoadOptions::default(), device: device);
        let decoder = Decoder::load(dir.path(), &options).unwrap();
        assert_eq!(decoder.config().family, tiny.family);
        assert_eq!(decoder.config().head_width, tiny.head_width);
        assert_eq!(decoder.context_tokens(), tiny.context);
        assert_agrees(&decoder, tiny, &weights, PROMPT);
    }
}

fn check_gguf(tiny: &Tiny, dtype: GgmlDType) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("tiny.gguf");
    let weights = gguf::write(tiny, dtype, &path);
    let decoder = Decoder::load(&path, &LoadOptions::default()).unwrap();
    assert_eq!(decoder.config().family, tiny.family);
    assert_eq!(decoder.config().head_width, tiny.head_width);
    assert_eq!(decoder.context_tokens(), tiny.context);
    assert_agrees(&decoder, tiny, &weights, PROMPT);
}

/// One of each kind, with its peculiarities.
fn families() -> Vec<Tiny> {
    vec![
        Tiny::new("llama"),
        with!(Tiny::new("llama"), kv_heads: 4, tied: false, rope_base: 500.0),
        with!(Tiny::new("llama"), rope: Rope::Linear(2.5), kv_heads: 1),
        // The four frequencies turn 6.4, 0.64, 0.064 and 0.0064 times over the original context.
        with!(Tiny::new("llama"), rope: Rope::Llama3(8.0, 0.1, 2.0, 40), tied: false),
        with!(Tiny::new("mistral"), window: Some(5), tied: false),
        Tiny::new("qwen2"),
        with!(Tiny::new("qwen3"), head_width: 12, tied: false, rope_base: 1e6),
        with!(Tiny::new("phi3"), tied: false, window: Some(7)),
        with!(Tiny::new("phi3"), rope: Rope::Long(vec![1.0, 1.1, 2.3, 4.7], 96)),
        // As in Phi-4-mini.
        with!(Tiny::new("phi3"), rope: Rope::Long(vec![1.0, 1.1, 2.3], 96), rotated: Some(6)),
        // The first pair stays, the second is divided in part, the others in full.
        with!(Tiny::new("qwen3"), rope: Rope::Yarn(4.0, 8.0, 0.5, 60)),
        ministral3(),
        Tiny::new("qwen3_moe"),
        Tiny::new("smollm3"),
        Tiny::new("granite"),
        Tiny::new("gemma3_text"),
        // The last of its layers is global; heads together are wider than the residual stream.
        with!(Tiny::new("gemma3_text"), layers: 4, period: Some(4), kv_heads: 1, head_width: 16,
            query_scalar: Some(16.0), rope: Rope::Linear(8.0), tied: false),
    ]
}

/// Queries grow from the 16th token on.
fn ministral3() -> Tiny {
    with!(Tiny::new("ministral3"), rope: Rope::Yarn(4.0, 4.0, 0.5, 16), growth: Some(0.3), head_width: 12,
        tied: false)
}

#[test]
fn every_family_agrees_with_the_reference_from_safetensors() {
    for tiny in families() {
        check_folder(&tiny, Layout::F32);
    }
}

/// As in Gemma 3 27B; GGUF does not say so.
#[test]
fn queries_are_scaled_as_the_configuration_says() {
    let tiny = with!(Tiny::new("gemma3_text"), query_scalar: Some(3.0));
    check_folder(&tiny, Layout::F32);
}

/// Two thirds of a mixture: one layer has no experts, and their weights are not normalized.
#[test]
fn layers_with_experts_stand_beside_layers_without() {
    let tiny = Tiny::new("qwen3_moe");
    let experts = tiny
        .experts
        .map(|experts| with!(experts, normalized: false, dense: Some(1)));
    let tiny = Tiny {
        layers: 3,
        experts,
        ..tiny
    };
    check_folder(&tiny, Layout::F32);
}

/// Equal to the last bit, in either precision, with a shared part and without.
#[test]
fn no_family_depends_on_the_batch() {
    for (tiny, precision) in families()
        .into_iter()
        .flat_map(|tiny| [Precision::F32, Precision::Int8].map(|p| (tiny.clone(), p)))
    {
        let dir = TempDir::new().unwrap();
        folder::write(&tiny, Layout::F32, dir.path());
        let options = with!(LoadOptions::default(), precision: precision);
        let decoder = Decoder::load(dir.path(), &options).unwrap();
        let prompts: Vec<Prompt> = ["er", PROMPT, " a wren sings", "s are in the garden"]
            .iter()
            .map(|rest| decoder.prompt(" the engineer", rest).unwrap())
            .collect();
        let request = |prompt| ScoreRequest::new(prompt, &CONTINUATIONS);
        let together: Vec<ScoreRequest<'_>> = prompts.iter().map(request).collect();
        let together = decoder.score_many(&together).unwrap();
        let greedy = GenerateOptions::new(Sampling::Greedy, 8);
        let written = |prompts: &[Prompt]| {
            let requests: Vec<GenerateRequest<'_>> = prompts
                .iter()
                .map(|prompt| GenerateRequest::new(prompt, 1, &greedy))
                .collect();
            decoder
                .generate_many(&requests, &mut |_| ControlFlow::Continue(()))
                .unwrap()
        };
        let written_together = written(&prompts);
        for (index, prompt) in prompts.iter().enumerate() {
            let alone = Decoder::load(dir.path(), &options).unwrap();
            let alone = alone.score(prompt, &CONTINUATIONS).unwrap();
            for (together, alone) in together[index].iter().zip(&alone) {
                assert_eq!(together.logprobs, alone.logprobs, "{}", tiny.model_type);
            }
            let alone = &written(&prompts[index..=index])[0][0];
            let together = &written_together[index][0];
            assert_eq!(together.tokens, alone.tokens, "{}", tiny.model_type);
            assert_eq!(together.logprobs, alone.logprobs, "{}", tiny.model_type);
        }
    }
}

#[test]
fn half_precision_and_sharded_safetensors_are_read() {
    check_folder(&Tiny::new("llama"), Layout::BF16);
    check_folder(&with!(Tiny::new("qwen2"), tied: false), Layout::F16);
    check_folder(&with!(Tiny::new("qwen3"), tied: false), Layout::Sharded);
}

#[test]
fn every_family_agrees_with_the_reference_from_gguf() {
    for tiny in families() {
        check_gguf(&tiny, GgmlDType::F32);
    }
}

#[test]
fn every_quantization_agrees_with_its_dequantized_weights() {
    use GgmlDType::{BF16, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0};
    for dtype in [F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0] {
        check_gguf(&Tiny::new("llama"), dtype);
    }
    check_gguf(&Tiny::new("phi3"), Q4_0);
    for dtype in [F16, Q4_0, Q8_0] {
        check_gguf(&Tiny::new("qwen3_moe"), dtype);
    }
    check_gguf(&Tiny::new("qwen2"), Q8_0);
}

#[test]
fn every_k_quantization_agrees_with_its_dequantized_weights() {
    use GgmlDType::{Q2K, Q3K, Q4K, Q5K, Q6K};
    for dtype in [Q2K, Q3K, Q4K, Q5K, Q6K] {
        check_gguf(&with!(Tiny::wide("llama"), layers: 1), dtype);
    }
    check_gguf(&with!(Tiny::wide("qwen3"), layers: 1), Q4K);
    let tiny = Tiny::wide("qwen3_moe");
    let experts = tiny.experts.map(|experts| with!(experts, width: 256));
    for dtype in [Q2K, Q4K, Q6K] {
        let tiny = with!(tiny.clone(), layers: 1, experts: experts);
        check_gguf(&tiny, dtype);
    }
}

/// Long prompts are read in pieces; a window must reach over their seams.
#[test]
fn a_prompt_of_many_pieces_agrees_with_the_reference() {
    let dir = TempDir::new().unwrap();
    let tiny = with!(Tiny::new("mistral"), context: 700, window: Some(40), layers: 1);
    let weights = folder::write(&tiny, Layout::F32, dir.path());
    let decoder = Decoder::load(dir.path(), &LoadOptions::default()).unwrap();
    let prompt = " a wren sings in the garden".repeat(30);
    assert!(decoder.count_tokens(&prompt).unwrap() > 540);
    assert_agrees(&decoder, &tiny, &weights, &prompt);
}

/// Qwen's configurations name a window that is not in use; others write none as 0.
#[test]
fn an_unused_window_is_ignored() {
    let dir = TempDir::new().unwrap();
    let tiny = Tiny::new("qwen2");
    let weights = folder::write(&tiny, Layout::F32, dir.path());
    let mut config = tiny.config();
    config["sliding_window"] = 5.into();
    config["use_sliding_window"] = false.into();
    folder::write_json(&dir.path().join("config.json"), &config);
    let decoder = Decoder::load(dir.path(), &LoadOptions::default()).unwrap();
    assert_eq!(decoder.config().sliding_window, None);
    assert_eq!(decoder.config().family, Family::Qwen2);
    assert_agrees(&decoder, &tiny, &weights, PROMPT);

    config["sliding_window"] = 0.into();
    config["use_sliding_window"] = true.into();
    folder::write_json(&dir.path().join("config.json"), &config);
    let decoder = Decoder::load(dir.path(), &LoadOptions::default()).unwrap();
    assert_eq!(decoder.config().sliding_window, None);
    assert_agrees(&decoder, &tiny, &weights, PROMPT);
}

#[test]
fn other_weights_have_another_fingerprint() {
    let dir = TempDir::new().unwrap();
    let fingerprint = |tiny: &Tiny| {
        folder::write(tiny, Layout::F32, dir.path());
        Decoder::load(dir.path(), &LoadOptions::default())
            .unwrap()
            .fingerprint()
            .to_owned()
    };
    let first = fingerprint(&Tiny::new("llama"));
    assert_ne!(first, fingerprint(&with!(Tiny::new("llama"), tied: false)));
    assert_eq!(first, fingerprint(&Tiny::new("llama")));
}
