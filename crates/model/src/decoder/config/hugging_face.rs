//! The architecture of a decoder in a Hugging Face `config.json`.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::activation::Activation;
use super::experts::Experts;
use super::layers::{LayerSet, SlidingWindow};
use super::rope::{RopeParameters, RopeScaling};
use super::{DecoderConfig, PARTIAL, embedding_scale, query_scalar};
use crate::decoder::config::family::Family;
use crate::decoder::error::DecoderError;
use crate::decoder::files::settings_file;
use crate::decoder::text::text_part;

/// The keys of a `config.json` that matter here.
#[derive(Deserialize)]
struct Keys {
    vocab_size: usize,
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    hidden_act: Option<String>,
    /// Gemma's name of `hidden_act`.
    hidden_activation: Option<String>,
    #[serde(default = "default_epsilon")]
    rms_norm_eps: f32,
    rope_theta: Option<f64>,
    rope_local_base_freq: Option<f64>,
    rope_scaling: Option<Value>,
    rope_parameters: Option<Value>,
    max_position_embeddings: usize,
    original_max_position_embeddings: Option<usize>,
    sliding_window: Option<usize>,
    use_sliding_window: Option<bool>,
    max_window_layers: Option<usize>,
    sliding_window_pattern: Option<usize>,
    layer_types: Option<Vec<String>>,
    /// 0 for each layer that does not rotate queries and keys.
    no_rope_layers: Option<Vec<usize>>,
    no_rope_layer_interval: Option<usize>,
    partial_rotary_factor: Option<f64>,
    query_pre_attn_scalar: Option<f64>,
    #[serde(alias = "num_local_experts")]
    num_experts: Option<usize>,
    num_experts_per_tok: Option<usize>,
    moe_intermediate_size: Option<usize>,
    norm_topk_prob: Option<bool>,
    decoder_sparse_step: Option<usize>,
    mlp_only_layers: Option<Vec<usize>>,
    /// This and the next three are Granite's.
    embedding_multiplier: Option<f32>,
    attention_multiplier: Option<f64>,
    residual_multiplier: Option<f32>,
    logits_scaling: Option<f32>,
    attention_bias: Option<bool>,
    mlp_bias: Option<bool>,
    attn_logit_softcapping: Option<f64>,
    final_logit_softcapping: Option<f64>,
    use_bidirectional_attention: Option<bool>,
}

fn default_epsilon() -> f32 {
    1e-6
}

/// transformers' defaults for a Gemma 3; its checkpoints leave out much.
fn gemma3_defaults() -> Value {
    json!({
        "vocab_size": 262_208,
        "hidden_size": 2304,
        "intermediate_size": 9216,
        "num_hidden_layers": 26,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "hidden_activation": "gelu_pytorch_tanh",
        "max_position_embeddings": 131_072,
        "rms_norm_eps": 1e-6,
        "rope_theta": 1_000_000.0,
        "rope_local_base_freq": 10_000.0,
        "query_pre_attn_scalar": 256,
        "sliding_window": 4096,
        "sliding_window_pattern": 6,
    })
}

/// By default in transformers, every this-many-th layer of SmolLM3 does not rotate.
const DEFAULT_NO_ROPE_INTERVAL: usize = 4;
/// By default in transformers, Qwen2 and Qwen3 begin local layers here.
const DEFAULT_MAX_WINDOW_LAYERS: usize = 28;

impl DecoderConfig {
    /// Reads a Hugging Face `config.json`; of a multimodal model the text part.
    ///
    /// # Errors
    /// An unreadable file, a missing key, or an architecture or rotary scaling that is not supported.
    pub fn from_hugging_face(path: &Path) -> Result<Self, DecoderError> {
        let invalid = |reason: String| DecoderError::invalid(path, reason);
        let mut value: Value = settings_file::read(path)?;
        let mut family = family_of(path, &value)?;
        if let Some(text) = text_part::config(&value) {
            value = text.clone();
            if value.get("model_type").is_some() {
                family = family_of(path, &value)?;
            }
        }
        let lacks_rope = ["rope_parameters", "rope_scaling"]
            .iter()
            .all(|key| value.get(key).is_none_or(Value::is_null));
        if lacks_rope && value["model_type"] == "ministral3" {
            return Err(invalid("its `rope_parameters` are missing".to_owned()));
        }
        if family == Family::Gemma3
            && let (Some(keys), Value::Object(defaults)) =
                (value.as_object_mut(), gemma3_defaults())
        {
            for (key, default) in defaults {
                keys.entry(key).or_insert(default);
            }
        }
        let keys: Keys = serde_json::from_value(value).map_err(|e| invalid(e.to_string()))?;
        keys.config(family).map_err(invalid)?.checked(path)
    }
}

fn family_of(path: &Path, config: &Value) -> Result<Family, DecoderError> {
    let model_type = config.get("model_type").and_then(Value::as_str);
    let model_type = model_type.unwrap_or("(none)");
    Family::parse(model_type).ok_or_else(|| DecoderError::UnknownArchitecture {
        path: path.to_path_buf(),
        architecture: model_type.to_owned(),
    })
}

impl Keys {
    fn config(self, family: Family) -> Result<DecoderConfig, String> {
        if let Some(what) = self.unsupported(family) {
            return Err(format!("{what} are not supported"));
        }
        let activation = self.hidden_activation.as_ref().or(self.hidden_act.as_ref());
        let activation = match activation {
            None => Activation::Silu,
            Some(name) => Activation::parse(name).ok_or_else(|| {
                format!("the activation `{name}` is not supported (silu and gelu_pytorch_tanh are)")
            })?,
        };
        let (rope, local_base) = self.rope()?;
        let is_granite = family == Family::Granite;
        let factor = |of_granite: Option<f32>| of_granite.filter(|_| is_granite).unwrap_or(1.0);
        let head_width = self
            .head_dim
            .unwrap_or(self.hidden_size / self.num_attention_heads.max(1));
        let share = rope.share.or(self.partial_rotary_factor).unwrap_or(1.0);
        let rotated_width = DecoderConfig::rotated_share(head_width, share);
        if rotated_width != head_width && !family.may_rotate_partly() {
            return Err(format!("{PARTIAL} are not supported"));
        }
        Ok(DecoderConfig {
            family,
            vocabulary: self.vocab_size,
            hidden: self.hidden_size,
            intermediate: self.intermediate_size,
            experts: self.experts(family)?,
            layers: self.num_hidden_layers,
            heads: self.num_attention_heads,
            kv_heads: self.num_key_value_heads.unwrap_or(self.num_attention_heads),
            head_width,
            rotated_width,
            norm_epsilon: self.rms_norm_eps,
            rope_base: rope
                .base
                .or(self.rope_theta)
                .unwrap_or_else(|| family.rope_base()),
            rotated_layers: self.rotated_layers(family),
            rope_scaling: rope.scaling,
            query_growth: rope.growth,
            context: rope.context.unwrap_or(self.max_position_embeddings),
            sliding_window: self.sliding_window(family, local_base)?,
            query_scalar: match is_granite {
                true => query_scalar(self.attention_multiplier.unwrap_or(1.0)),
                false => self.query_pre_attn_scalar.unwrap_or(head_width as f64),
            },
            activation,
            embedding_scale: match is_granite {
                true => factor(self.embedding_multiplier),
                false => embedding_scale(family, self.hidden_size),
            },
            residual_scale: factor(self.residual_multiplier),
            logit_divisor: factor(self.logits_scaling),
        })
    }

    /// The settings of the rotary frequencies, and the base of those of local layers.
    fn rope(&self) -> Result<(RopeParameters, Option<f64>), String> {
        let parameters = self.rope_scaling.as_ref().or(self.rope_parameters.as_ref());
        // If layers differ, newer files have the parameters by kind of layer.
        let of_kind = |kind: &str| parameters.and_then(|by_kind| by_kind.get(kind));
        let of_global = of_kind(GLOBAL).or(parameters);
        let read = |parameters| {
            RopeParameters::read(
                parameters,
                self.original_max_position_embeddings,
                self.max_position_embeddings,
            )
        };
        let rope = read(of_global)?;
        let of_local = read(of_kind(LOCAL))?;
        if of_local.scaling != RopeScaling::None {
            return Err(
                "stretched rotary frequencies of local layers are not supported".to_owned(),
            );
        }
        Ok((rope, of_local.base.or(self.rope_local_base_freq)))
    }

    /// Features of the model that the graph lacks.
    fn unsupported(&self, family: Family) -> Option<&'static str> {
        let soft_caps = self.attn_logit_softcapping.or(self.final_logit_softcapping);
        [
            (
                self.attention_bias == Some(true) && !family.has_biases(),
                "biases of attention",
            ),
            (
                self.mlp_bias == Some(true),
                "biases of the feed-forward layer",
            ),
            (soft_caps.is_some(), "soft caps on logits"),
            (
                self.use_bidirectional_attention == Some(true),
                "tokens that attend to later ones",
            ),
        ]
        .into_iter()
        .find_map(|(is_present, what)| is_present.then_some(what))
    }

    fn experts(&self, family: Family) -> Result<Option<Experts>, String> {
        let count = match family {
            Family::Qwen3Moe => self.num_experts.ok_or("its `num_experts` are missing")?,
            _ => 0,
        };
        if count == 0 {
            return Ok(None);
        }
        let number =
            |number: Option<usize>, key| number.ok_or_else(|| format!("its `{key}` is missing"));
        Ok(Some(Experts {
            count,
            used: number(self.num_experts_per_tok, "num_experts_per_tok")?,
            intermediate: number(self.moe_intermediate_size, "moe_intermediate_size")?,
            normalized: self.norm_topk_prob == Some(true),
            every: self.decoder_sparse_step.unwrap_or(1),
            dense: self.mlp_only_layers.clone().unwrap_or_default(),
        }))
    }

    fn rotated_layers(&self, family: Family) -> LayerSet {
        match (family, &self.no_rope_layers) {
            (Family::SmolLm3, Some(listed)) => {
                let rotated = listed.iter().take(self.num_hidden_layers);
                LayerSet::Listed(rotated.map(|&rotates| rotates != 0).collect())
            }
            (Family::SmolLm3, None) => LayerSet::AllButEvery(
                self.no_rope_layer_interval
                    .unwrap_or(DEFAULT_NO_ROPE_INTERVAL),
            ),
            _ => LayerSet::All,
        }
    }

    fn sliding_window(
        &self,
        family: Family,
        rope_base: Option<f64>,
    ) -> Result<Option<SlidingWindow>, String> {
        let is_qwen = matches!(family, Family::Qwen2 | Family::Qwen3);
        let in_use = self
            .use_sliding_window
            .unwrap_or(!is_qwen && !matches!(family, Family::SmolLm3 | Family::Qwen3Moe));
        let Some(tokens) = self.sliding_window.filter(|&n| in_use && n > 0) else {
            return match family {
                Family::Gemma3 => Err("its sliding window is missing".to_owned()),
                _ => Ok(None),
            };
        };
        let layers = match (&self.layer_types, self.sliding_window_pattern) {
            (Some(kinds), _) => {
                let local = kinds.iter().map(|kind| is_local(kind));
                LayerSet::Listed(local.collect::<Result<_, _>>()?)
            }
            (None, Some(period)) => LayerSet::AllButEvery(period),
            (None, None) if is_qwen => {
                LayerSet::From(self.max_window_layers.unwrap_or(DEFAULT_MAX_WINDOW_LAYERS))
            }
            (None, None) if family == Family::SmolLm3 => {
                return Err("its `layer_types` are missing".to_owned());
            }
            (None, None) => LayerSet::All,
        };
        Ok(Some(SlidingWindow {
            tokens,
            layers,
            rope_base,
        }))
    }
}

/// The kinds of layers, as in `layer_types`.
pub(in crate::decoder) const LOCAL: &str = "sliding_attention";
pub(in crate::decoder) const GLOBAL: &str = "full_attention";

fn is_local(kind: &str) -> Result<bool, String> {
    match kind {
        LOCAL => Ok(true),
        GLOBAL => Ok(false),
        other => Err(format!("layers of the kind `{other}` are not supported")),
    }
}

#[cfg(test)]
mod tests {
    use ken_testing::{cases, has};

    use super::*;

    fn read(config: &Value) -> Result<DecoderConfig, DecoderError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, config.to_string()).unwrap();
        DecoderConfig::from_hugging_face(&path)
    }

    /// The configuration of a Gemma 3 4B, whose checkpoint states little.
    #[test]
    fn what_a_gemma_leaves_out_is_filled_in() {
        let text = json!({
            "model_type": "gemma3_text",
            "hidden_size": 2560,
            "intermediate_size": 10240,
            "num_hidden_layers": 34,
            "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
            "sliding_window": 1024,
        });
        let whole = json!({"model_type": "gemma3", "text_config": text, "vision_config": {}});
        let config = read(&whole).unwrap();
        assert_eq!(config, read(&text).unwrap());
        has!(config, heads: 8, kv_heads: 4, head_width: 256, vocabulary: 262_208, context: 131_072,
            activation: Activation::GeluTanh, query_scalar: 256.0);
        assert!((config.embedding_scale - 50.596_443).abs() < 1e-5);
        let global: Vec<usize> = (0..34)
            .filter(|&layer| config.window(layer).is_none())
            .collect();
        assert_eq!(global, [5, 11, 17, 23, 29]);
        assert_eq!(config.window(0), Some(1024));
        let linear = RopeScaling::Linear { factor: 8.0 };
        assert_eq!((config.rope_base, &config.rope_scaling), (1e6, &linear));
        assert_eq!(config.rotary(0), RopeScaling::None.rotary(10_000.0, 256));
        assert_eq!(config.rotary(5), linear.rotary(1e6, 256));
    }

    #[test]
    fn what_the_graph_lacks_is_refused() {
        let cases = cases![
            "final_logit_softcapping" => json!(30.0), "soft caps";
            "attn_logit_softcapping" => json!(50.0), "soft caps";
            "use_bidirectional_attention" => json!(true), "later ones";
            "attention_bias" => json!(true), "biases of attention";
            "mlp_bias" => json!(true), "biases of the feed-forward";
            "hidden_activation" => json!("gelu"), "`gelu`";
            "layer_types" => json!(["chunked_attention"]), "chunked";
            "layer_types" => json!([LOCAL]), "26";
            "sliding_window_pattern" => json!(0), "0th";
            "sliding_window" => json!(0), "sliding window";
            "query_pre_attn_scalar" => json!(-1), "-1";
            "partial_rotary_factor" => json!(0.5), "partial rotary";
            "rope_parameters" => json!({LOCAL: {"rope_type": "linear", "factor": 2.0}}), "local layers";
        ];
        for (key, value, part) in cases {
            let mut config = json!({"model_type": "gemma3_text"});
            config[key] = value;
            let error = read(&config).unwrap_err().to_string();
            assert!(error.contains(part), "{key}: {error}");
        }
        read(&json!({"model_type": "gemma3_text"})).unwrap();
    }
}
