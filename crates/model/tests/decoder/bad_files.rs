//! Broken and unsupported models: each has its error, and none panics.

use std::ops::ControlFlow;
use std::path::Path;

use candle_core::quantized::GgmlDType;
use candle_core::quantized::gguf_file::Value as Gguf;
use ken_language::{GenerateOptions, Sampling};
use ken_model::decoder::{Decoder, DecoderError, LoadOptions};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::checkpoint::{Rope, Tensors, Tiny};
use super::folder::{self, Layout};
use super::{gguf, vocabulary};

fn tiny() -> Tiny {
    Tiny {
        layers: 1,
        tied: false,
        ..Tiny::new("llama")
    }
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
        let typed = matches!(
            error,
            DecoderError::Corrupt { .. } | DecoderError::Truncated { .. }
        );
        assert!(typed, "{length}: {error:?}");
        assert!(error.remedy().is_some());
    }
    let error = gguf_refusal(&bytes[..bytes.len() - 1]);
    let DecoderError::Truncated {
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
    let weights = tiny().weights();
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
            let mut metadata = gguf::metadata(&tiny(), vocabulary::gguf_metadata());
            metadata.retain(|(name, _)| name != key);
            metadata.push((key.to_owned(), value.clone()));
            let (bytes, _) = gguf::bytes(&tiny(), &weights, GgmlDType::F32, &metadata);
            let error = gguf_refusal(&bytes);
            let typed = matches!(
                error,
                DecoderError::InvalidConfig { .. } | DecoderError::Corrupt { .. }
            );
            assert!(typed, "{key} {value:?}: {error:?}");
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
    let mut metadata = gguf::metadata(&tiny(), vocabulary::gguf_metadata());
    for (key, value) in &mut metadata {
        if key == "general.architecture" {
            *value = Gguf::String("mamba".to_owned());
        }
    }
    let (bytes, _) = gguf::bytes(&tiny(), &tiny().weights(), GgmlDType::F32, &metadata);
    let errors = [
        gguf_refusal(&bytes),
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
        assert!(
            matches!(error, DecoderError::UnknownQuantization { .. }),
            "{error}"
        );
        assert!(error.to_string().contains(&unknown.to_string()), "{error}");
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
    for name in ["token_embd.weight", "output_norm.weight", "overlap"] {
        assert!(error.to_string().contains(name), "{error}");
    }
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
        assert!(
            matches!(error, DecoderError::MissingTensor { .. }),
            "{missing}: {error}"
        );
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
        assert!(
            matches!(error, DecoderError::WrongShape { .. }),
            "{misshapen}: {error}"
        );
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
        assert!(
            matches!(error, DecoderError::InvalidConfig { .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains(key), "{error}");
    }
    let needed = [
        "embedding_length",
        "block_count",
        "attention.head_count",
        "context_length",
    ];
    for key in needed {
        let mut metadata = gguf::metadata(&tiny(), vocabulary::gguf_metadata());
        metadata.retain(|(name, _)| name != &format!("llama.{key}"));
        let (bytes, _) = gguf::bytes(&tiny(), &tiny().weights(), GgmlDType::F32, &metadata);
        let error = gguf_refusal(&bytes);
        assert!(error.to_string().contains(key), "{error}");
    }
}

#[test]
fn impossible_configurations_are_refused() {
    let long = Tiny {
        rope: Rope::Long(vec![1.0; 4], 64),
        ..Tiny::new("phi3")
    };
    let [smollm3, granite, ministral3, moe] =
        ["smollm3", "granite", "ministral3", "qwen3_moe"].map(Tiny::new);
    let refusals = [
        config_refusal(&tiny(), |config| config["num_key_value_heads"] = json!(3)),
        config_refusal(&tiny(), |config| config["num_key_value_heads"] = json!(0)),
        config_refusal(&tiny(), |config| config["head_dim"] = json!(7)),
        config_refusal(&tiny(), |config| config["num_attention_heads"] = json!(0)),
        config_refusal(&tiny(), |config| {
            config["intermediate_size"] = json!(u64::MAX);
        }),
        config_refusal(&tiny(), |config| config["head_dim"] = json!(u64::MAX - 1)),
        config_refusal(&tiny(), |config| config["hidden_size"] = json!(-32)),
        config_refusal(&tiny(), |config| {
            config["partial_rotary_factor"] = json!(0.5);
        }),
        config_refusal(&tiny(), |config| {
            config["rope_scaling"] = json!({"rope_type": "dynamic", "factor": 2.0});
        }),
        config_refusal(&tiny(), |config| {
            config["rope_scaling"] = json!({"rope_type": "yarn", "factor": 2.0});
        }),
        config_refusal(&tiny(), |config| {
            config["rope_scaling"] = json!({"type": "linear"});
        }),
        config_refusal(&long, |config| {
            config["rope_scaling"] = json!({"type": "longrope"});
        }),
        config_refusal(&long, |config| {
            config["rope_scaling"] = json!({"type": "longrope", "short_factor": [1.0]});
        }),
        config_refusal(&tiny(), |config| *config = json!({"model_type": "llama"})),
        config_refusal(&long, |config| config["partial_rotary_factor"] = json!(1.5)),
        config_refusal(&long, |config| config["partial_rotary_factor"] = json!(0.4)),
        config_refusal(&long, |config| config["partial_rotary_factor"] = json!(-1)),
        config_refusal(&smollm3, |config| config["no_rope_layers"] = json!([1, 0])),
        config_refusal(&smollm3, |config| {
            config["no_rope_layer_interval"] = json!(0);
        }),
        config_refusal(&smollm3, |config| {
            config["use_sliding_window"] = json!(true);
            config["sliding_window"] = json!(5);
        }),
        config_refusal(&granite, |config| config["attention_multiplier"] = json!(0)),
        config_refusal(&granite, |config| config["logits_scaling"] = json!(0)),
        config_refusal(&granite, |config| config["attention_bias"] = json!(true)),
        // It lacks its rotary scaling.
        config_refusal(&ministral3, |_| ()),
        config_refusal(&ministral3, |config| {
            config["rope_parameters"] = json!({
                "rope_type": "default",
                "llama_4_scaling_beta": 0.1,
                "original_max_position_embeddings": 0,
            });
        }),
        config_refusal(&moe, |config| config["num_experts_per_tok"] = json!(6)),
        config_refusal(&moe, |config| config["num_experts"] = json!(u64::MAX)),
        config_refusal(&moe, |config| config["num_experts"] = json!(null)),
        config_refusal(&moe, |config| config["decoder_sparse_step"] = json!(0)),
        config_refusal(&moe, |config| {
            config["moe_intermediate_size"] = json!(null);
        }),
    ];
    for error in refusals {
        assert!(
            matches!(error, DecoderError::InvalidConfig { .. }),
            "{error:?}"
        );
    }
}

/// Features that llama.cpp's files can have in a family, and that the graph lacks.
#[test]
fn other_kinds_of_a_family_in_gguf_are_refused() {
    let refused = |tiny: &Tiny, key: &str, value: Gguf| {
        let mut metadata = gguf::metadata(tiny, vocabulary::gguf_metadata());
        metadata.retain(|(name, _)| name != key);
        metadata.push((key.to_owned(), value));
        let (bytes, _) = gguf::bytes(tiny, &tiny.weights(), GgmlDType::F32, &metadata);
        gguf_refusal(&bytes).to_string()
    };
    let granite = Tiny::new("granite");
    let moe = Tiny::new("qwen3_moe");
    let cases = [
        (&granite, "granite.expert_count", 8, "experts are not"),
        (&granite, "granite.rope.dimension_count", 4, "partial"),
        (&moe, "qwen3moe.expert_used_count", 9, "9 of 5 experts"),
        (&moe, "qwen3moe.expert_count", 6, "ffn_gate_inp"),
    ];
    for (tiny, key, value, part) in cases {
        let error = refused(tiny, key, Gguf::U32(value));
        assert!(error.contains(part), "{key}: {error}");
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
    assert!(
        matches!(error, DecoderError::UnknownArchitecture { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("`granitemoe`"), "{error}");
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
        assert!(
            matches!(error, DecoderError::Corrupt { .. }),
            "{length}: {error:?}"
        );
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
    let changes: [(&str, Option<Gguf>); 8] = [
        ("tokens", None),
        ("merges", None),
        ("model", None),
        ("model", Some(Gguf::String("bert".to_owned()))),
        ("model", Some(Gguf::String("llama".to_owned()))),
        ("pre", Some(Gguf::String("bloom".to_owned()))),
        (
            "merges",
            Some(Gguf::Array(vec![Gguf::String("th".to_owned())])),
        ),
        (
            "merges",
            Some(Gguf::Array(vec![Gguf::String("t Ж".to_owned())])),
        ),
    ];
    for (key, value) in changes {
        let key = format!("tokenizer.ggml.{key}");
        let mut metadata = gguf::metadata(&tiny(), vocabulary::gguf_metadata());
        metadata.retain(|(name, _)| *name != key);
        metadata.extend(value.clone().map(|value| (key.clone(), value)));
        let (bytes, _) = gguf::bytes(&tiny(), &tiny().weights(), GgmlDType::F32, &metadata);
        let error = gguf_refusal(&bytes);
        assert!(
            matches!(error, DecoderError::Tokenizer { .. }),
            "{key} {value:?}: {error:?}"
        );
    }
}
