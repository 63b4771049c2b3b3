//! Writes tiny embedders with random weights: every file that a real one has.

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Value, json};

pub(crate) const HIDDEN: usize = 24;
pub(crate) const HEADS: usize = 3;
pub(crate) const LAYERS: usize = 2;
pub(crate) const INTERMEDIATE: usize = 40;
pub(crate) const POSITIONS: usize = 24;
pub(crate) const WORDS: usize = 16;
pub(crate) const EPSILON: f64 = 1e-5;
const SPECIAL: [&str; 4] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"];

/// Tensors by name: shape and numbers.
pub(crate) type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// What distinguishes one tiny embedder from another.
pub(crate) struct Tiny {
    pub(crate) model_type: &'static str,
    pub(crate) pooling: &'static str,
    pub(crate) normalize: bool,
    pub(crate) tensor_prefix: &'static str,
    pub(crate) halves: bool,
}

impl Default for Tiny {
    fn default() -> Self {
        Self {
            model_type: "bert",
            pooling: "pooling_mode_mean_tokens",
            normalize: true,
            tensor_prefix: "",
            halves: false,
        }
    }
}

impl Tiny {
    /// Writes the embedder to `dir` and returns its weights.
    pub(crate) fn write(&self, dir: &Path) -> Tensors {
        write_json(&dir.join("config.json"), &config(self.model_type));
        write_json(&dir.join("tokenizer.json"), &tokenizer());
        write_json(
            &dir.join("sentence_bert_config.json"),
            &json!({"max_seq_length": 18}),
        );
        let mut modules = vec![
            json!({"path": "", "type": "sentence_transformers.models.Transformer"}),
            json!({"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}),
        ];
        if self.normalize {
            modules.push(
                json!({"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}),
            );
        }
        write_json(&dir.join("modules.json"), &Value::Array(modules));
        std::fs::create_dir_all(dir.join("1_Pooling")).unwrap();
        write_json(
            &dir.join("1_Pooling/config.json"),
            &json!({ self.pooling: true }),
        );
        let tensors = random_tensors(self.halves);
        write_tensors(dir, self.tensor_prefix, &tensors, self.halves);
        tensors
    }
}

pub(crate) fn config(model_type: &str) -> Value {
    json!({
        "model_type": model_type,
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": INTERMEDIATE,
        "vocab_size": SPECIAL.len() + WORDS,
        "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2,
        "layer_norm_eps": EPSILON,
        "hidden_act": "gelu",
        "pad_token_id": 0,
    })
}

pub(crate) fn write_json(path: &Path, value: &Value) {
    std::fs::write(path, serde_json::to_vec_pretty(value).unwrap()).unwrap();
}

/// The words are w0, w1 and so on.
fn tokenizer() -> Value {
    let words = (0..WORDS).map(|n| format!("w{n}"));
    let tokens = SPECIAL.iter().map(|&token| token.to_owned()).chain(words);
    let vocabulary: BTreeMap<String, usize> =
        tokens.enumerate().map(|(id, token)| (token, id)).collect();
    let special = |token: &str| json!({"id": token, "ids": [vocabulary[token]], "tokens": [token]});
    json!({
        "version": "1.0",
        "truncation": {"max_length": 3, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
        "padding": null,
        "added_tokens": [],
        "normalizer": null,
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
            ],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"[CLS]": special("[CLS]"), "[SEP]": special("[SEP]")},
        },
        "decoder": null,
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": vocabulary,
        },
    })
}

/// The model's input for a text of known words.
pub(crate) fn ids(text: &str) -> Vec<usize> {
    let word = |word: &str| SPECIAL.len() + word[1..].parse::<usize>().unwrap();
    let mut ids = vec![2];
    ids.extend(text.split_whitespace().map(word));
    ids.push(3);
    ids
}

fn random_tensors(halves: bool) -> Tensors {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |scale: f32, offset: f32| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let unit = (state >> 40) as f32 / (1u64 << 24) as f32;
        let value = (2.0 * unit - 1.0) * scale + offset;
        if halves {
            half::f16::from_f32(value).to_f32()
        } else {
            value
        }
    };
    let mut tensors = Tensors::new();
    let mut add = |name: String, shape: &[usize], scale: f32, offset: f32| {
        let values = (0..shape.iter().product())
            .map(|_| random(scale, offset))
            .collect();
        tensors.insert(name, (shape.to_vec(), values));
    };
    for (name, rows) in [
        ("word_embeddings", SPECIAL.len() + WORDS),
        ("position_embeddings", POSITIONS),
        ("token_type_embeddings", 2),
    ] {
        add(
            format!("embeddings.{name}.weight"),
            &[rows, HIDDEN],
            1.0,
            0.0,
        );
    }
    add(
        "embeddings.LayerNorm.weight".to_owned(),
        &[HIDDEN],
        0.3,
        1.0,
    );
    add("embeddings.LayerNorm.bias".to_owned(), &[HIDDEN], 0.3, 0.0);
    for layer in 0..LAYERS {
        for (name, outputs, inputs) in [
            ("attention.self.query", HIDDEN, HIDDEN),
            ("attention.self.key", HIDDEN, HIDDEN),
            ("attention.self.value", HIDDEN, HIDDEN),
            ("attention.output.dense", HIDDEN, HIDDEN),
            ("intermediate.dense", INTERMEDIATE, HIDDEN),
            ("output.dense", HIDDEN, INTERMEDIATE),
        ] {
            add(
                format!("encoder.layer.{layer}.{name}.weight"),
                &[outputs, inputs],
                0.5,
                0.0,
            );
            add(
                format!("encoder.layer.{layer}.{name}.bias"),
                &[outputs],
                0.2,
                0.0,
            );
        }
        for name in ["attention.output.LayerNorm", "output.LayerNorm"] {
            add(
                format!("encoder.layer.{layer}.{name}.weight"),
                &[HIDDEN],
                0.3,
                1.0,
            );
            add(
                format!("encoder.layer.{layer}.{name}.bias"),
                &[HIDDEN],
                0.3,
                0.0,
            );
        }
    }
    tensors
}

pub(crate) fn write_tensors(dir: &Path, prefix: &str, tensors: &Tensors, halves: bool) {
    let dtype = if halves { Dtype::F16 } else { Dtype::F32 };
    let encode = |value: &f32| match halves {
        true => half::f16::from_f32(*value).to_le_bytes().to_vec(),
        false => value.to_le_bytes().to_vec(),
    };
    let bytes: BTreeMap<String, (Vec<usize>, Vec<u8>)> = tensors
        .iter()
        .map(|(name, (shape, values))| {
            (
                format!("{prefix}{name}"),
                (shape.clone(), values.iter().flat_map(encode).collect()),
            )
        })
        .collect();
    let views = bytes.iter().map(|(name, (shape, data))| {
        (
            name.clone(),
            TensorView::new(dtype, shape.clone(), data).unwrap(),
        )
    });
    let content = safetensors::serialize(views, None).unwrap();
    std::fs::write(dir.join("model.safetensors"), content).unwrap();
}
