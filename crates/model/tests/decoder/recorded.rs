//! Tiny decoders of every family against the results of transformers for the same weights
//! (`fixtures/record_decoders.py`), from the configuration that transformers saves, from one in the older form that
//! most checkpoints have, and from GGUF.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use candle_core::quantized::GgmlDType;
use ken_model::decoder::{Checkpoint, Decoder, Device, Family, LayerSet, LoadOptions, StoredAs};
use ken_testing::{holds, with};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::checkpoint::{Rope, Tensors, Tiny};
use super::folder::{self, Layout};
use super::{gguf, vocabulary};

const PROMPT: &str = " the";
const CONTINUATION: &str = " engineers are in a thin winter, reading the other thing and the ringing. the answer is a tree";
/// Log probabilities may differ by this much; they were computed in 32 bits.
const TOLERANCE: f32 = 2e-5;

static RECORDED: LazyLock<Recorded> =
    LazyLock::new(|| serde_json::from_str(include_str!("../fixtures/decoders.json")).unwrap());

#[derive(Deserialize)]
struct Recorded {
    tokens: Vec<u32>,
    models: BTreeMap<String, Model>,
}

#[derive(Deserialize)]
struct Model {
    /// As transformers saves it.
    config: Value,
    /// For every token except the first.
    logprobs: Vec<f32>,
}

/// The features of each recorded model.
fn models() -> Vec<(&'static str, Tiny)> {
    let of =
        |model_type: &'static str| with!(Tiny::new(model_type), intermediate: 48, context: 128);
    vec![
        ("llama", of("llama")),
        (
            "llama3",
            with!(of("llama"), tied: false, rope_base: 500.0, rope: Rope::Llama3(8.0, 0.5, 2.0, 48)),
        ),
        ("mistral", with!(of("mistral"), window: Some(7))),
        ("qwen2", of("qwen2")),
        ("qwen3", with!(of("qwen3"), head_width: 12, rope_base: 1e6)),
        ("phi3", with!(of("phi3"), window: Some(9))),
        (
            "phi3_long",
            with!(of("phi3"), rope: Rope::Long(vec![1.0, 1.1, 2.3, 4.7], 96), context: 96),
        ),
        (
            "phi4_mini",
            with!(of("phi3"), rope: Rope::Long(vec![1.0, 1.1, 2.3], 96), rotated: Some(6), context: 96),
        ),
        ("smollm3", with!(of("smollm3"), rope_base: 2e6)),
        ("granite", with!(of("granite"), tied: false)),
        (
            "ministral",
            with!(of("ministral"), window: Some(5), period: Some(2)),
        ),
        ("ministral3", ministral3()),
        ("qwen3_moe", of("qwen3_moe")),
        ("gemma3", gemma()),
    ]
}

fn ministral3() -> Tiny {
    with!(Tiny::new("ministral3"), intermediate: 48, context: 128, head_width: 12, rope_base: 1e6,
        rope: Rope::Yarn(4.0, 4.0, 0.5, 16), growth: Some(0.3), tied: false)
}

fn gemma() -> Tiny {
    with!(Tiny::new("gemma3_text"), intermediate: 48, context: 128, layers: 7, kv_heads: 1,
        head_width: 16, query_scalar: Some(16.0), rope_base: 1e6, rope: Rope::Linear(8.0),
        period: Some(6), local_rope_base: Some(10_000.0))
}

/// Weights derived from a name, as in the script.
fn drawn(name: &str, count: usize) -> impl Iterator<Item = f64> {
    let mut state = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    (0..count).map(move |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 23) - 1.0
    })
}

fn weights(tiny: &Tiny) -> Tensors {
    let mut tensors = tiny.weights();
    for (name, (shape, numbers)) in &mut tensors {
        let (mean, spread) = if name.ends_with("norm.weight") {
            (1.0 - f64::from(tiny.norm_offset()), 0.5)
        } else if name.ends_with("bias") {
            (0.0, 1.0)
        } else {
            (0.0, 2.0 / (shape[shape.len() - 1] as f64).sqrt())
        };
        *numbers = drawn(name, numbers.len())
            .map(|number| (mean + spread * number) as f32)
            .collect();
    }
    tensors
}

fn write_folder(config: &Value, weights: &Tensors, dir: &Path) {
    folder::write_json(&dir.join("config.json"), config);
    folder::write_json(&dir.join("tokenizer.json"), &vocabulary::tokenizer_json());
    folder::write_tensors(&dir.join("model.safetensors"), weights, Layout::F32);
}

fn assert_as_recorded(path: &Path, device: Device, name: &str) -> Decoder {
    let options = with!(LoadOptions::default(), device: device);
    let decoder = Decoder::load(path, &options).unwrap();
    let prompt = decoder.prompt("", PROMPT).unwrap();
    let score = decoder.score(&prompt, &[CONTINUATION]).unwrap().remove(0);
    let tokens = [prompt.tokens(), &score.tokens].concat();
    assert_eq!(tokens, RECORDED.tokens);
    let expected = &RECORDED.models[name].logprobs[prompt.tokens().len() - 1..];
    assert_eq!(score.logprobs.len(), expected.len());
    for (place, (found, expected)) in score.logprobs.iter().zip(expected).enumerate() {
        holds!("{name}, token {place}: {found} is not {expected}" =>
            (found - expected).abs() < TOLERANCE);
    }
    decoder
}

#[test]
fn every_family_computes_what_transformers_computes() {
    for (name, tiny) in models() {
        let (saved, older) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let weights = weights(&tiny);
        let recorded = &RECORDED.models[name];
        write_folder(&recorded.config, &weights, saved.path());
        write_folder(&tiny.config(), &weights, older.path());
        for device in [Device::Cpu, Device::Reference] {
            assert_as_recorded(saved.path(), device, name);
            assert_as_recorded(older.path(), device, name);
        }
        let file = saved.path().join("tiny.gguf");
        let mut metadata = gguf::metadata(&tiny, vocabulary::gguf_metadata());
        // Missing in most files of Gemma, which have the usual values.
        metadata.retain(|(key, _)| {
            let usual = key.ends_with("sliding_window_pattern") || key.ends_with("freq_base_swa");
            tiny.family != Family::Gemma3 || !usual
        });
        let (bytes, _) = gguf::bytes(&tiny, &weights, GgmlDType::F32, &metadata);
        std::fs::write(&file, bytes).unwrap();
        assert_as_recorded(&file, Device::Cpu, name);

        // The export of the GGUF file is the same model again.
        let written = saved.path().join("written");
        let checkpoint = Checkpoint::open(&file, None).unwrap();
        checkpoint
            .write(&written, StoredAs::F32, &BTreeMap::new())
            .unwrap();
        assert_as_recorded(&written, Device::Cpu, name);
    }
}

#[test]
fn a_model_of_which_some_layers_are_local_computes_what_transformers_computes() {
    let name = "qwen2_windowed";
    let dir = TempDir::new().unwrap();
    let tiny = with!(Tiny::new("qwen2"), intermediate: 48);
    let mut config = RECORDED.models[name].config.clone();
    write_folder(&config, &weights(&tiny), dir.path());
    assert_as_recorded(dir.path(), Device::Cpu, name);
    // Older files name the first local layer.
    config.as_object_mut().unwrap().remove("layer_types");
    folder::write_json(&dir.path().join("config.json"), &config);
    let decoder = assert_as_recorded(dir.path(), Device::Cpu, name);
    let window = decoder.config().sliding_window.clone().unwrap();
    assert_eq!(window.layers, LayerSet::From(1));
}

#[test]
fn a_mixture_with_layers_without_experts_computes_what_transformers_computes() {
    let name = "qwen3_moe_mixed";
    let dir = TempDir::new().unwrap();
    let experts = Tiny::new("qwen3_moe")
        .experts
        .map(|experts| with!(experts, normalized: false, dense: Some(1)));
    let tiny = with!(Tiny::new("qwen3_moe"), intermediate: 48, layers: 3, experts: experts);
    write_folder(&RECORDED.models[name].config, &weights(&tiny), dir.path());
    assert_as_recorded(dir.path(), Device::Cpu, name);
}

/// The text part has other names, which differ between newer and older checkpoints.
#[test]
fn of_a_multimodal_model_the_text_part_is_read() {
    let written = ["Gemma3ForCausalLM", "gemma3_text"];
    assert_text_part_is_read("gemma3", &gemma(), "gemma3", written);
    let written = ["Ministral3ForCausalLM", "ministral3"];
    assert_text_part_is_read("ministral3", &ministral3(), "mistral3", written);
}

fn assert_text_part_is_read(name: &str, tiny: &Tiny, whole: &str, written_as: [&str; 2]) {
    let weights = weights(tiny);
    let config = json!({
        "model_type": whole,
        "text_config": tiny.config(),
        "vision_config": {"hidden_size": 8},
    });
    for (from, to) in [
        ("model.", "language_model.model."),
        ("model.", "model.language_model."),
    ] {
        let dir = TempDir::new().unwrap();
        let mut named: Tensors = weights
            .iter()
            .map(|(name, tensor)| (name.replacen(from, to, 1), tensor.clone()))
            .collect();
        named.insert(
            "vision_tower.embeddings.weight".to_owned(),
            (vec![2], vec![0.0; 2]),
        );
        write_folder(&config, &named, dir.path());
        let decoder = assert_as_recorded(dir.path(), Device::Cpu, name);
        assert_eq!(decoder.config().family, tiny.family);

        // It is exported as a text model.
        let written = dir.path().join("written");
        let checkpoint = Checkpoint::open(dir.path(), None).unwrap();
        checkpoint
            .write(&written, StoredAs::F32, &BTreeMap::new())
            .unwrap();
        assert_as_recorded(&written, Device::Cpu, name);
        let config = std::fs::read_to_string(written.join("config.json")).unwrap();
        let config: Value = serde_json::from_str(&config).unwrap();
        let [architecture, model_type] = written_as;
        assert_eq!(config["architectures"], json!([architecture]));
        assert_eq!(config["model_type"], model_type);
    }
}
