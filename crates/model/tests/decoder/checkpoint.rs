//! Tiny decoders with random weights: what distinguishes one from another, their weights under Hugging Face's names,
//! and their configuration.

use std::collections::BTreeMap;

use ken_model::decoder::Family;
use ken_testing::{cases, with};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

pub(super) const NORM_EPSILON: f64 = 1e-5;

/// How many times as long as the original context LongRoPE's is.
pub(super) const LONGER: u32 = 32;

/// Tensors by their Hugging Face names: shape and numbers.
pub(crate) type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// How the rotary frequencies are stretched.
#[derive(Debug, Clone)]
pub(super) enum Rope {
    Plain,
    Linear(f64),
    /// Factor, low and high frequency factor, original context.
    Llama3(f64, f64, f64, usize),
    /// Factor, fast and slow turns, original context.
    Yarn(f64, f64, f64, usize),
    /// LongRoPE's short factors, and the original context.
    Long(Vec<f32>, usize),
}

/// The experts of a tiny decoder.
#[derive(Debug, Clone, Copy)]
pub(super) struct TinyExperts {
    pub count: usize,
    pub used: usize,
    pub width: usize,
    pub normalized: bool,
    /// The layer that has none.
    pub dense: Option<usize>,
}

/// What distinguishes one tiny decoder from another.
#[derive(Debug, Clone)]
pub(super) struct Tiny {
    pub model_type: &'static str,
    pub family: Family,
    pub vocabulary: usize,
    pub hidden: usize,
    pub intermediate: usize,
    pub layers: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub head_width: usize,
    /// How much of a head is rotated; `None` for all of it.
    pub rotated: Option<usize>,
    /// Every n-th layer does not rotate.
    pub unrotated_every: Option<usize>,
    pub rope_base: f64,
    pub rope: Rope,
    /// The rate at which queries grow, over the original context.
    pub growth: Option<f64>,
    pub context: usize,
    pub window: Option<usize>,
    /// All layers but every n-th attend within the window; `None` for all. Gemma's have one.
    pub period: Option<usize>,
    /// Base of the rotary frequencies of layers that attend within the window, if they have their own.
    pub local_rope_base: Option<f64>,
    /// The scalar whose root divides the products of queries and keys.
    pub query_scalar: Option<f64>,
    /// Replace feed-forward layers.
    pub experts: Option<TinyExperts>,
    /// Granite's factors of the embedding, of attention, of the outputs of blocks, and the divisor of the logits.
    pub factors: Option<[f32; 4]>,
    pub tied: bool,
}

impl Tiny {
    pub(super) fn new(model_type: &'static str) -> Self {
        let family = match model_type {
            "qwen2" => Family::Qwen2,
            "qwen3" => Family::Qwen3,
            "qwen3_moe" => Family::Qwen3Moe,
            "phi3" => Family::Phi3,
            "smollm3" => Family::SmolLm3,
            "granite" => Family::Granite,
            "gemma3_text" => Family::Gemma3,
            _ => Family::Llama,
        };
        let gemma = family == Family::Gemma3;
        Self {
            model_type,
            family,
            vocabulary: super::vocabulary::TOKENS.len(),
            hidden: 32,
            intermediate: 64,
            layers: if family == Family::SmolLm3 { 4 } else { 2 },
            heads: 4,
            kv_heads: 2,
            head_width: 8,
            rotated: None,
            unrotated_every: (family == Family::SmolLm3).then_some(4),
            rope_base: 10_000.0,
            rope: Rope::Plain,
            growth: None,
            context: 96,
            window: gemma.then_some(5),
            period: gemma.then_some(2),
            local_rope_base: gemma.then_some(100.0),
            query_scalar: gemma.then_some(8.0),
            experts: (family == Family::Qwen3Moe).then_some(TinyExperts {
                count: 5,
                used: 2,
                width: 32,
                normalized: true,
                dense: None,
            }),
            factors: (family == Family::Granite).then_some([12.0, 0.25, 0.5, 4.0]),
            tied: true,
        }
    }

    /// The experts of a layer.
    pub(super) fn experts_in(&self, layer: usize) -> Option<TinyExperts> {
        self.experts.filter(|experts| experts.dense != Some(layer))
    }

    /// Whether each query and each key head is normalized.
    pub(super) fn norms_heads(&self) -> bool {
        matches!(
            self.family,
            Family::Qwen3 | Family::Qwen3Moe | Family::Gemma3
        )
    }

    /// Whether GGUF has the rows of rotary pairs side by side.
    pub(super) fn pairs_rows(&self) -> bool {
        matches!(
            self.family,
            Family::Llama | Family::SmolLm3 | Family::Granite
        )
    }

    /// Whether a layer rotates queries and keys.
    pub(super) fn rotates(&self, layer: usize) -> bool {
        self.unrotated_every
            .is_none_or(|period| !(layer + 1).is_multiple_of(period))
    }

    pub(super) fn rotated_width(&self) -> usize {
        self.rotated.unwrap_or(self.head_width)
    }

    /// Whether a layer attends within the window.
    pub(super) fn is_local(&self, layer: usize) -> bool {
        self.window.is_some()
            && self
                .period
                .is_none_or(|period| !(layer + 1).is_multiple_of(period))
    }

    /// The number to add to the weights of norms.
    pub(super) fn norm_offset(&self) -> f32 {
        if self.family == Family::Gemma3 {
            1.0
        } else {
            0.0
        }
    }

    /// Widths that fit the 256 weights of a K-quant's block.
    pub(super) fn wide(model_type: &'static str) -> Self {
        with!(Self::new(model_type), hidden: 256, intermediate: 256, head_width: 64)
    }

    /// Random weights, always the same for the same decoder.
    pub(super) fn weights(&self) -> Tensors {
        let mut random = StdRng::seed_from_u64(2);
        let mut tensors = Tensors::new();
        let mut add = |name: String, shape: &[usize], mean: f32, spread: f32| {
            let numbers = (0..shape.iter().product())
                .map(|_| mean + spread * (random.random::<f32>() * 2.0 - 1.0))
                .collect();
            tensors.insert(name, (shape.to_vec(), numbers));
        };
        let (queries, keys) = (
            self.heads * self.head_width,
            self.kv_heads * self.head_width,
        );
        let spread = |columns: usize| 2.0 / (columns as f32).sqrt();
        let ends = [self.vocabulary, self.hidden];
        add(
            "model.embed_tokens.weight".to_owned(),
            &ends,
            0.0,
            spread(self.hidden),
        );
        if !self.tied {
            add("lm_head.weight".to_owned(), &ends, 0.0, spread(self.hidden));
        }
        let mean = 1.0 - self.norm_offset();
        add("model.norm.weight".to_owned(), &[self.hidden], mean, 0.5);
        for layer in 0..self.layers {
            let mut add = |name: &str, shape: &[usize], mean: f32, spread: f32| {
                add(format!("model.layers.{layer}.{name}"), shape, mean, spread);
            };
            let mut matrix = |name: &str, rows: usize, columns: usize| {
                add(
                    &format!("{name}.weight"),
                    &[rows, columns],
                    0.0,
                    spread(columns),
                );
            };
            if self.family == Family::Phi3 {
                matrix("self_attn.qkv_proj", queries + 2 * keys, self.hidden);
                matrix("mlp.gate_up_proj", 2 * self.intermediate, self.hidden);
            } else {
                matrix("self_attn.q_proj", queries, self.hidden);
                matrix("self_attn.k_proj", keys, self.hidden);
                matrix("self_attn.v_proj", keys, self.hidden);
            }
            matrix("self_attn.o_proj", self.hidden, queries);
            let mut gated = |name: &str, width: usize| {
                if self.family != Family::Phi3 {
                    matrix(&format!("{name}.gate_proj"), width, self.hidden);
                    matrix(&format!("{name}.up_proj"), width, self.hidden);
                }
                matrix(&format!("{name}.down_proj"), self.hidden, width);
            };
            match self.experts_in(layer) {
                None => gated("mlp", self.intermediate),
                Some(experts) => {
                    for expert in 0..experts.count {
                        gated(&format!("mlp.experts.{expert}"), experts.width);
                    }
                    matrix("mlp.gate", experts.count, self.hidden);
                }
            }
            let mut norm = |name: &str, width: usize| {
                add(&format!("{name}.weight"), &[width], mean, 0.5);
            };
            norm("input_layernorm", self.hidden);
            norm("post_attention_layernorm", self.hidden);
            if self.family == Family::Gemma3 {
                norm("pre_feedforward_layernorm", self.hidden);
                norm("post_feedforward_layernorm", self.hidden);
            }
            if self.norms_heads() {
                norm("self_attn.q_norm", self.head_width);
                norm("self_attn.k_norm", self.head_width);
            }
            if self.family == Family::Qwen2 {
                add("self_attn.q_proj.bias", &[queries], 0.0, 1.0);
                add("self_attn.k_proj.bias", &[keys], 0.0, 1.0);
                add("self_attn.v_proj.bias", &[keys], 0.0, 1.0);
            }
        }
        tensors
    }

    /// The `config.json`.
    pub(super) fn config(&self) -> Value {
        let mut config = json!({
            "model_type": self.model_type,
            "vocab_size": self.vocabulary,
            "hidden_size": self.hidden,
            "intermediate_size": self.intermediate,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "rms_norm_eps": NORM_EPSILON,
            "rope_theta": self.rope_base,
            "max_position_embeddings": self.context,
            "sliding_window": self.window,
            "eos_token_id": super::vocabulary::END,
        });
        let others = cases![
            "sliding_window_pattern" => self.period.map(|n| json!(n));
            "rope_local_base_freq" => self.local_rope_base.map(|n| json!(n));
            "query_pre_attn_scalar" => self.query_scalar.map(|n| json!(n));
            "no_rope_layer_interval" => self.unrotated_every.map(|n| json!(n));
            "partial_rotary_factor" => self.rotated.map(|n| json!(n as f64 / self.head_width as f64));
        ];
        for (key, value) in others {
            if let Some(value) = value {
                config[key] = value;
            }
        }
        if self.head_width * self.heads != self.hidden || self.family == Family::Gemma3 {
            config["head_dim"] = json!(self.head_width);
        }
        if let Some(experts) = self.experts {
            config["num_experts"] = json!(experts.count);
            config["num_experts_per_tok"] = json!(experts.used);
            config["moe_intermediate_size"] = json!(experts.width);
            config["norm_topk_prob"] = json!(experts.normalized);
            config["mlp_only_layers"] = json!(Vec::from_iter(experts.dense));
        }
        if let Some([embedding, attention, residual, logits]) = self.factors {
            config["embedding_multiplier"] = json!(embedding);
            config["attention_multiplier"] = json!(attention);
            config["residual_multiplier"] = json!(residual);
            config["logits_scaling"] = json!(logits);
        }
        match &self.rope {
            Rope::Plain => {}
            Rope::Linear(factor) => {
                config["rope_scaling"] = json!({"type": "linear", "factor": factor});
            }
            Rope::Llama3(factor, low, high, original) => {
                config["rope_scaling"] = json!({
                    "rope_type": "llama3",
                    "factor": factor,
                    "low_freq_factor": low,
                    "high_freq_factor": high,
                    "original_max_position_embeddings": original,
                });
            }
            Rope::Yarn(factor, fast, slow, original) => {
                config["rope_scaling"] = json!({
                    "rope_type": "yarn",
                    "factor": factor,
                    "beta_fast": fast,
                    "beta_slow": slow,
                    "original_max_position_embeddings": original,
                });
                if let Some(rate) = self.growth {
                    config["rope_scaling"]["llama_4_scaling_beta"] = json!(rate);
                    config["rope_scaling"]["mscale"] = json!(1.0);
                    config["rope_scaling"]["mscale_all_dim"] = json!(1.0);
                }
            }
            Rope::Long(factors, original) => {
                config["max_position_embeddings"] = json!(original * LONGER as usize);
                config["original_max_position_embeddings"] = json!(original);
                config["rope_scaling"] = json!({
                    "type": "longrope",
                    "short_factor": factors,
                    "long_factor": vec![9.0; factors.len()],
                });
            }
        }
        config
    }
}
