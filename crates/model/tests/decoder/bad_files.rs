//! Broken and unsupported models: each has its error, and none panics.

use std::ops::ControlFlow;
use std::path::Path;

use candle_core::quantized::GgmlDType;
use candle_core::quantized::gguf_file::Value as Gguf;
use ken_language::{GenerateOptions, Sampling};
use ken_model::decoder::{Decoder, DecoderError, LoadOptions};
use ken_testing::{cases, says, with};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::checkpoint::{Rope, Tensors, Tiny};
use super::folder::{self, Layout};
use super::{gguf, vocabulary};

fn tiny() -> Tiny {
    with!(Tiny::new("llama"), layers: 1, tied: false)
}

fn gguf_bytes(tiny: &Tiny, weights: &Tensors) -> Vec<u8> {
    let metadata = gguf::metadata(tiny, vocabulary::gguf_metadata());
    gguf::bytes(tiny, weights, GgmlDType::Q8_0, &metadata).0
}

fn refusal(path: &Path) -> DecoderError {
    match Decoder::load(path, &LoadOptions::default()) {
        Ok(_) => panic!("{} was loaded", path.display()),
        Err(error) => error,
    }
}

fn gguf_refusal(bytes: &[u8]) -> DecoderError {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("tiny.gguf");
    std::fs::write(&path, bytes).unwrap();
    refusal(&path)
}

/// The refusal of a GGUF file with one entry of its metadata replaced or removed.
fn entry_refusal(tiny: &Tiny, key: &str, value: Option<Gguf>) -> DecoderError {
    let mut metadata = gguf::metadata(tiny, vocabulary::gguf_metadata());
    metadata.retain(|(name, _)| name != key);
    metadata.extend(value.map(|value| (key.to_owned(), value)));
    gguf_refusal(&gguf::bytes(tiny, &tiny.weights(), GgmlDType::F32, &metadata).0)
}

/// The refusal of a folder whose `config.json` was changed.
fn config_refusal(tiny: &Tiny, change: impl FnOnce(&mut Value)) -> DecoderError {
    let dir = TempDir::new().unwrap();
    folder::write(tiny, Layout::F32, dir.path());
    let mut config = tiny.config();
    change(&mut config);
    folder::write_json(&dir.path().join("config.json"), &config);
    refusal(dir.path())
}

/// Where the tensors begin in a file that ends with them; their sizes are all multiples of 32.
fn header_length(bytes: &[u8]) -> usize {
    let name = b"output_norm.weight";
    let last = bytes
        .windows(name.len())
        .rposition(|window| window == name)
        .unwrap();
    last + name.len()
}

#[test]
fn a_truncated_gguf_is_refused_wherever_it_ends() {
    let bytes = gguf_bytes(&tiny(), &tiny().weights());
    let header = header_length(&bytes);
    let lengths = (0..header)
        .step_by(13)
        .chain((header..bytes.len()).step_by(997));
    for length in lengths.chain([bytes.len() - 1]) {
        let error = gguf_refusal(&bytes[..length]);
        let is_typed = ["corrupt_model", "truncated_model"].contains(&error.kind());
        assert!(is_typed, "{length}: {error:?}");
        assert!(error.remedy().is_some());
    }
    let error = gguf_refusal(&bytes[..bytes.len() - 1]);
    let DecoderError::TruncatedModel {
        expected, received, ..
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!(
        (expected, received),
        (bytes.len() as u64, bytes.len() as u64 - 1)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// A changed header may describe another model that works, but nothing may panic.
    #[test]
    fn a_gguf_with_changed_bytes_does_not_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = gguf_bytes(&tiny(), &tiny().weights());
        let header = header_length(&bytes);
        for (place, byte) in changes {
            bytes[place.index(header)] = byte;
        }
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("tiny.gguf");
        std::fs::write(&path, bytes).unwrap();
        let options = GenerateOptions::new(Sampling::Greedy, 2);
        if let Ok(decoder) = Decoder::load(&path, &LoadOptions::default())
            && let Ok(prompt) = decoder.prompt("", "the thing")
        {
            let _ = decoder.generate(&prompt, &options, &mut |_| ControlFlow::Continue(()));
            let _ = decoder.score(&prompt, &[" a"]);
        }
    }
}

#[test]
fn numbers_beyond_reason_are_refused() {
    let keys = [
        "llama.embedding_length",
        "llama.feed_forward_length",
        "llama.block_count",
        "llama.attention.head_count",
        "llama.attention.head_count_kv",
        "llama.context_length",
        "general.alignment",
    ];
    for key in keys {
        for value in [
            Gguf::U64(u64::MAX),
            Gguf::U32(0),
            Gguf::F64(f64::NAN),
            Gguf::I8(-1),
        ] {
            if key == "general.alignment" && !matches!(value, Gguf::U32(_)) {
                continue;
            }
            let error = entry_refusal(&tiny(), key, Some(value.clone()));
            let is_typed = ["invalid_config", "corrupt_model"].contains(&error.kind());
            assert!(is_typed, "{key} {value:?}: {error:?}");
        }
    }
}

#[test]
fn sizes_whose_product_is_beyond_reason_are_refused() {
    let error = config_refusal(&tiny(), |config| {
        for key in ["num_attention_heads", "num_key_value_heads", "head_dim"] {
            config[key] = json!(1u64 << 31);
        }
    });
    assert!(matches!(error, DecoderError::WrongShape { .. }), "{error}");
}

/// The alignment follows more metadata than any model has.
#[test]
fn an_endless_gguf_header_is_refused() {
    let text = |text: &[u8]| [&(text.len() as u64).to_le_bytes(), text].concat();
    let (string, number) = (8u32.to_le_bytes(), 4u32.to_le_bytes());
    let filler = text(&vec![b'x'; 64 << 20]);
    let mut bytes = [&b"GGUF"[..], &3u32.to_le_bytes()].concat();
    for count in [0u64, 2] {
        bytes.extend(count.to_le_bytes());
    }
    bytes.extend([&text(b"general.name")[..], &string, &filler].concat());
    bytes.extend([&text(b"general.alignment")[..], &number, &[0; 4]].concat());
    assert_eq!(gguf_refusal(&bytes).kind(), "corrupt_model");
}

/// The writer pads to 32 bytes; one of eight fillers puts the tensors at a multiple of 256.
#[test]
fn other_alignments_are_read() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("tiny.gguf");
    for alignment in [Gguf::U32(256), Gguf::U16(256)] {
        let loads = |filler: usize| {
            let mut metadata = gguf::metadata(&tiny(), vocabulary::gguf_metadata());
            metadata.push(("general.alignment".to_owned(), alignment.clone()));
            metadata.push(("general.name".to_owned(), Gguf::String("x".repeat(filler))));
            let (bytes, _) = gguf::bytes(&tiny(), &tiny().weights(), GgmlDType::F32, &metadata);
            std::fs::write(&path, bytes).unwrap();
            Decoder::load(&path, &LoadOptions::default()).is_ok()
        };
        let loaded = (0..256).step_by(32).filter(|&filler| loads(filler)).count();
        assert_eq!(loaded, 1, "{alignment:?}");
    }
}

#[test]
fn unknown_architectures_are_named() {
    let mamba = Gguf::String("mamba".to_owned());
    let errors = [
        entry_refusal(&tiny(), "general.architecture", Some(mamba)),
        config_refusal(&tiny(), |config| config["model_type"] = json!("mamba")),
    ];
    for error in errors {
        let DecoderError::UnknownArchitecture { architecture, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(architecture, "mamba");
        assert!(error.remedy().unwrap().mentions("qwen3"));
    }
    let error = config_refusal(&tiny(), |config| {
        config.as_object_mut().unwrap().remove("model_type");
    });
    assert_eq!(error.kind(), "unknown_architecture");
}

#[test]
fn unknown_quantizations_are_named() {
    let mut bytes = gguf_bytes(&tiny(), &tiny().weights());
    let name = b"token_embd.weight";
    let at = bytes
        .windows(name.len())
        .position(|window| window == name)
        .unwrap();
    // After the name: the number of dimensions, two of them, then the type.
    let dtype = at + name.len() + 4 + 16;
    assert_eq!(bytes[dtype], 8, "Q8_0");
    for unknown in [20, 77] {
        bytes[dtype] = unknown;
        let error = gguf_refusal(&bytes);
        assert_eq!(error.kind(), "unknown_quantization", "{error}");
        says!(error.to_string() => &unknown.to_string());
    }
}

#[test]
fn tensors_that_overlap_are_named() {
    let mut bytes = gguf_bytes(&tiny(), &tiny().weights());
    // After the name: the number of dimensions, these, the type, then the offset.
    let place_of = |bytes: &[u8], name: &str, dimensions: usize| {
        let found = bytes
            .windows(name.len())
            .position(|window| window == name.as_bytes());
        found.unwrap() + name.len() + 4 + 8 * dimensions + 4
    };
    let table = place_of(&bytes, "token_embd.weight", 2);
    let norm = place_of(&bytes, "output_norm.weight", 1);
    bytes.copy_within(table..table + 8, norm);
    let error = gguf_refusal(&bytes);
    assert_eq!(error.kind(), "corrupt_model");
    says!(error.to_string() => "token_embd.weight", "output_norm.weight", "overlap");
}

/// Every tensor except the output projection, which may be the embedding.
fn needed_tensors() -> Vec<String> {
    tiny()
        .weights()
        .into_keys()
        .filter(|name| name != "lm_head.weight")
        .collect()
}

#[test]
fn every_missing_tensor_is_named() {
    let dir = TempDir::new().unwrap();
    folder::write(&tiny(), Layout::F32, dir.path());
    for missing in needed_tensors() {
        let mut weights = tiny().weights();
        weights.remove(&missing);
        folder::write_tensors(&dir.path().join("model.safetensors"), &weights, Layout::F32);
        let error = refusal(dir.path());
        let DecoderError::MissingTensor { name, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(name, missing);
        let error = gguf_refusal(&gguf_bytes(&tiny(), &weights));
        assert_eq!(error.kind(), "missing_tensor", "{missing}: {error}");
    }
}

#[test]
fn every_misshapen_tensor_is_named() {
    let dir = TempDir::new().unwrap();
    folder::write(&tiny(), Layout::F32, dir.path());
    for misshapen in tiny().weights().into_keys() {
        let mut weights = tiny().weights();
        let (shape, numbers) = weights.get_mut(&misshapen).unwrap();
        // One head less, or one row.
        let row = if shape.len() == 1 { 1 } else { shape[1] };
        let rows = if shape.len() == 1 { 1 } else { 8 };
        shape[0] -= rows;
        numbers.truncate(numbers.len() - rows * row);
        let short = shape.clone();
        folder::write_tensors(&dir.path().join("model.safetensors"), &weights, Layout::F32);
        let error = refusal(dir.path());
        let DecoderError::WrongShape {
            name,
            received,
            expected,
            ..
        } = error
        else {
            panic!("{misshapen}: {error}");
        };
        assert_eq!((name, received), (misshapen.clone(), short));
        assert_eq!(expected, tiny().weights()[&misshapen].0);
        let error = gguf_refusal(&gguf_bytes(&tiny(), &weights));
        assert_eq!(error.kind(), "wrong_shape", "{misshapen}: {error}");
    }
}

#[test]
fn every_missing_key_of_the_configuration_is_named() {
    let keys = [
        "vocab_size",
        "hidden_size",
        "intermediate_size",
        "num_hidden_layers",
        "num_attention_heads",
        "max_position_embeddings",
    ];
    for key in keys {
        let error = config_refusal(&tiny(), |config| {
            config.as_object_mut().unwrap().remove(key);
        });
        assert_eq!(error.kind(), "invalid_config", "{error:?}");
        says!(error.to_string() => key);
    }
    let needed = [
        "embedding_length",
        "block_count",
        "attention.head_count",
        "context_length",
    ];
    for key in needed {
        let error = entry_refusal(&tiny(), &format!("llama.{key}"), None);
        says!(error.to_string() => key);
    }
}

#[test]
fn impossible_configurations_are_refused() {
    let long = with!(Tiny::new("phi3"), rope: Rope::Long(vec![1.0; 4], 64));
    let [smollm3, granite, ministral3, moe] =
        ["smollm3", "granite", "ministral3", "qwen3_moe"].map(Tiny::new);
    let tiny = tiny();
    let refusals = cases![
        &tiny => "num_key_value_heads", json!(3);
        &tiny => "num_key_value_heads", json!(0);
        &tiny => "head_dim", json!(7);
        &tiny => "num_attention_heads", json!(0);
        &tiny => "intermediate_size", json!(u64::MAX);
        &tiny => "head_dim", json!(u64::MAX - 1);
        &tiny => "hidden_size", json!(-32);
        &tiny => "partial_rotary_factor", json!(0.5);
        &tiny => "rope_scaling", json!({"rope_type": "dynamic", "factor": 2.0});
        &tiny => "rope_scaling", json!({"rope_type": "yarn", "factor": 2.0});
        &tiny => "rope_scaling", json!({"type": "linear"});
        &long => "rope_scaling", json!({"type": "longrope"});
        &long => "rope_scaling", json!({"type": "longrope", "short_factor": [1.0]});
        &long => "partial_rotary_factor", json!(1.5);
        &long => "partial_rotary_factor", json!(0.4);
        &long => "partial_rotary_factor", json!(-1);
        &smollm3 => "no_rope_layers", json!([1, 0]);
        &smollm3 => "no_rope_layer_interval", json!(0);
        &granite => "attention_multiplier", json!(0);
        &granite => "logits_scaling", json!(0);
        &granite => "attention_bias", json!(true);
        &ministral3 => "rope_parameters",
            json!({"rope_type": "default", "llama_4_scaling_beta": 0.1, "original_max_position_embeddings": 0});
        &moe => "num_experts_per_tok", json!(6);
        &moe => "num_experts", json!(u64::MAX);
        &moe => "num_experts", json!(null);
        &moe => "decoder_sparse_step", json!(0);
        &moe => "moe_intermediate_size", json!(null);
    ];
    let refusals =
        refusals.map(|(tiny, key, value)| config_refusal(tiny, |config| config[key] = value));
    let others = [
        config_refusal(&tiny, |config| *config = json!({"model_type": "llama"})),
        config_refusal(&smollm3, |config| {
            config["use_sliding_window"] = json!(true);
            config["sliding_window"] = json!(5);
        }),
        // It lacks its rotary scaling.
        config_refusal(&ministral3, |_| ()),
    ];
    for error in refusals.into_iter().chain(others) {
        assert_eq!(error.kind(), "invalid_config", "{error:?}");
    }
}

/// Features that llama.cpp's files can have in a family, and that the graph lacks.
#[test]
fn other_kinds_of_a_family_in_gguf_are_refused() {
    let granite = Tiny::new("granite");
    let moe = Tiny::new("qwen3_moe");
    let cases = [
        (&granite, "granite.expert_count", 8, "experts are not"),
        (&granite, "granite.rope.dimension_count", 4, "partial"),
        (&moe, "qwen3moe.expert_used_count", 9, "9 of 5 experts"),
        (&moe, "qwen3moe.expert_count", 6, "ffn_gate_inp"),
    ];
    for (tiny, key, value, part) in cases {
        let error = entry_refusal(tiny, key, Some(Gguf::U32(value)));
        assert!(error.to_string().contains(part), "{key}: {error}");
    }
    // Biases of projections.
    let mut weights = granite.weights();
    weights.insert(
        "model.layers.0.self_attn.q_proj.bias".to_owned(),
        (vec![32], vec![0.0; 32]),
    );
    let metadata = gguf::metadata(&granite, vocabulary::gguf_metadata());
    let (bytes, _) = gguf::bytes(&granite, &weights, GgmlDType::F32, &metadata);
    let error = gguf_refusal(&bytes).to_string();
    assert!(error.contains("blk.0.attn_q.bias"), "{error}");
}

#[test]
fn an_architecture_that_is_not_known_is_named_with_a_way_out() {
    let error = config_refusal(&tiny(), |config| config["model_type"] = json!("granitemoe"));
    assert_eq!(error.kind(), "unknown_architecture", "{error:?}");
    says!(error.to_string() => "`granitemoe`");
    assert!(error.remedy().unwrap().mentions("endpoint"));
}

#[test]
fn truncated_safetensors_are_refused_wherever_they_end() {
    let dir = TempDir::new().unwrap();
    folder::write(&tiny(), Layout::F32, dir.path());
    let path = dir.path().join("model.safetensors");
    let bytes = std::fs::read(&path).unwrap();
    for length in (0..bytes.len())
        .step_by(773)
        .chain([1, 7, 8, 9, bytes.len() - 1])
    {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let error = refusal(dir.path());
        assert_eq!(error.kind(), "corrupt_model", "{length}: {error:?}");
    }
}

#[test]
fn incomplete_folders_are_refused() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name);
    let kind = || refusal(dir.path()).kind();
    assert_eq!(kind(), "not_a_model");

    folder::write(&tiny(), Layout::Sharded, dir.path());
    std::fs::remove_file(path(&folder::shard_name(1))).unwrap();
    let error = refusal(dir.path());
    assert!(matches!(error, DecoderError::Io { .. }), "{error:?}");
    assert!(error.to_string().contains("00002-of-00002"), "{error}");
    folder::write_json(
        &path("model.safetensors.index.json"),
        &json!({"weight_map": [1]}),
    );
    assert_eq!(kind(), "corrupt_model");
    std::fs::remove_file(path("model.safetensors.index.json")).unwrap();
    assert_eq!(kind(), "not_a_model");

    folder::write(&tiny(), Layout::F32, dir.path());
    std::fs::write(path("tokenizer.json"), "{\"model\": 1}").unwrap();
    assert_eq!(kind(), "tokenizer");
    std::fs::remove_file(path("tokenizer.json")).unwrap();
    let error = refusal(dir.path());
    assert!(matches!(error, DecoderError::Tokenizer { .. }), "{error:?}");
    assert!(error.to_string().contains("tokenizer.json"), "{error}");

    std::fs::write(path("config.json"), "{").unwrap();
    assert_eq!(kind(), "invalid_config");
}

#[test]
fn paths_that_are_no_models_are_refused() {
    let dir = TempDir::new().unwrap();
    let text = dir.path().join("notes.txt");
    std::fs::write(&text, "not a model").unwrap();
    assert_eq!(refusal(&text).kind(), "not_a_model");
    assert_eq!(refusal(&dir.path().join("absent.gguf")).kind(), "io");
    assert_eq!(refusal(&dir.path().join("absent")).kind(), "io");
    assert_eq!(gguf_refusal(b"not a model").kind(), "corrupt_model");
    assert_eq!(gguf_refusal(b"").kind(), "corrupt_model");
}

#[test]
fn unusable_tokenizers_in_gguf_are_refused() {
    let changes: [(&str, Option<Gguf>); 8] = cases![
        "tokens" => None;
        "merges" => None;
        "model" => None;
        "model" => Some(Gguf::String("bert".to_owned()));
        "model" => Some(Gguf::String("llama".to_owned()));
        "pre" => Some(Gguf::String("bloom".to_owned()));
        "merges" => Some(Gguf::Array(vec![Gguf::String("th".to_owned())]));
        "merges" => Some(Gguf::Array(vec![Gguf::String("t Ж".to_owned())]));
    ];
    for (key, value) in changes {
        let key = format!("tokenizer.ggml.{key}");
        let error = entry_refusal(&tiny(), &key, value.clone());
        assert_eq!(error.kind(), "tokenizer", "{key} {value:?}: {error:?}");
    }
}
