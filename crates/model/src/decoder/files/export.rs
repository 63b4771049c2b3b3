//! Exporting a decoder to a folder in the Hugging Face layout: configuration, tokenizer and weights in
//! one file, as vLLM, transformers and ken load them.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use candle_core::{DType, Tensor};
use ken_language::named;
use safetensors::tensor::Dtype;
use serde_json::{Value, json};

use crate::decoder::config::family::Family;
use crate::decoder::config::{DecoderConfig, GLOBAL, LOCAL, LayerSet, QueryGrowth, RopeScaling};
use crate::decoder::error::DecoderError;
use crate::decoder::files::checkpoint::Checkpoint;
use crate::decoder::files::file_names::{CONFIG_FILE, COPIED, ORIGIN_FILE};
use crate::decoder::files::origin::Origin;
use crate::decoder::files::replacement::Replacement;
use crate::decoder::files::settings_file;
use crate::decoder::text::prompt_form::{FIELD, PromptForm};
use crate::decoder::text::text_part;

/// The precision in which weights are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StoredAs {
    /// In 32 bits.
    #[default]
    F32,
    /// In 16 bits.
    F16,
    /// In 16 bits with the range of 32.
    Bf16,
}

impl StoredAs {
    /// The type in candle, in safetensors and by its name in transformers.
    fn types(self) -> (DType, Dtype, &'static str) {
        match self {
            Self::F32 => (DType::F32, Dtype::F32, "float32"),
            Self::F16 => (DType::F16, Dtype::F16, "float16"),
            Self::Bf16 => (DType::BF16, Dtype::BF16, "bfloat16"),
        }
    }
}

named! {
    StoredAs, "precision of weights",
    StoredAs::F32 => "f32",
    StoredAs::F16 => "f16",
    StoredAs::Bf16 => "bf16",
}

impl Checkpoint {
    /// Writes the model into a folder, creating it if necessary, with an adapter's weights merged in. `learned`
    /// replaces weights with the same Hugging Face name.
    ///
    /// Files in the folder are replaced in the order that [`Replacement`] states: wherever the writing stops, the
    /// folder opens as the old model or as the new one, or is refused as incomplete.
    ///
    /// # Errors
    /// Weights that cannot be read, files that cannot be written.
    pub fn write(
        &self,
        folder: &Path,
        stored: StoredAs,
        learned: &BTreeMap<String, Tensor>,
    ) -> Result<(), DecoderError> {
        self.write_trained(folder, stored, learned, self.origin.as_ref())
    }

    /// As [`Checkpoint::write`], with this record of the model's training, if any.
    ///
    /// # Errors
    /// As [`Checkpoint::write`].
    pub fn write_trained(
        &self,
        folder: &Path,
        stored: StoredAs,
        learned: &BTreeMap<String, Tensor>,
        origin: Option<&Origin>,
    ) -> Result<(), DecoderError> {
        let mut files = Replacement::begin(folder)?;
        if let Some(origin) = origin {
            files.stage(ORIGIN_FILE, &origin.json()?)?;
        }
        match self.folder() {
            None => self.stage_tokenizer(&mut files)?,
            // Its own folder already has them.
            Some(source) if source == folder => COPIED.iter().for_each(|name| files.keep(name)),
            Some(source) => {
                for name in COPIED {
                    stage_copy(&mut files, source, name)?;
                }
            }
        }
        let mut config: Value = match self.folder() {
            Some(source) => settings_file::read(&source.join(CONFIG_FILE))?,
            None => self.config_json(),
        };
        // Of a multimodal model only the text part is written.
        if let Some(text) = text_part::config(&config) {
            config = text.clone();
            config["architectures"] = json!([self.kind().1]);
        }
        // Older tools read the one, newer tools the other.
        for key in ["torch_dtype", "dtype"] {
            config[key] = json!(stored.types().2);
        }
        if self.prompt_form != PromptForm::Examples {
            config[FIELD] = json!(self.prompt_form.to_string());
        } else if let Some(fields) = config.as_object_mut() {
            fields.remove(FIELD);
        }
        files.stage(CONFIG_FILE, config.to_string().as_bytes())?;
        self.stage_weights(&mut files, stored, learned)?;
        files.commit()
    }

    fn stage_weights(
        &self,
        files: &mut Replacement,
        stored: StoredAs,
        learned: &BTreeMap<String, Tensor>,
    ) -> Result<(), DecoderError> {
        let (dtype, stored, _) = stored.types();
        let mut held = Vec::new();
        for named in self.tensors() {
            let (name, tensor) = named?;
            let tensor = learned.get(&name).unwrap_or(&tensor);
            let tensor = tensor.to_dtype(dtype)?;
            let mut bytes = Vec::new();
            tensor.write_bytes(&mut bytes)?;
            held.push((name, tensor.dims().to_vec(), bytes));
        }
        files.stage_weights(stored, &held)
    }

    fn stage_tokenizer(&self, files: &mut Replacement) -> Result<(), DecoderError> {
        files.stage("tokenizer.json", self.tokenizer.json()?.as_bytes())?;
        let mut settings = json!({
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": self.config.context,
        });
        if let Some(chat) = &self.chat {
            settings["chat_template"] = json!(chat.source());
            let (beginning, end) = chat.ends();
            for (key, token) in [("bos_token", beginning), ("eos_token", end)] {
                if !token.is_empty() {
                    settings[key] = json!(token);
                }
            }
        }
        files.stage("tokenizer_config.json", settings.to_string().as_bytes())
    }

    /// The names of its kind and its architecture in transformers.
    fn kind(&self) -> (&'static str, &'static str) {
        match self.config.family {
            Family::Llama if self.config.query_growth.is_some() => {
                ("ministral3", "Ministral3ForCausalLM")
            }
            Family::Llama => match &self.config.sliding_window {
                Some(window) if window.layers != LayerSet::All => {
                    ("ministral", "MinistralForCausalLM")
                }
                Some(_) => ("mistral", "MistralForCausalLM"),
                None => ("llama", "LlamaForCausalLM"),
            },
            Family::Qwen2 => ("qwen2", "Qwen2ForCausalLM"),
            Family::Qwen3 => ("qwen3", "Qwen3ForCausalLM"),
            Family::Qwen3Moe => ("qwen3_moe", "Qwen3MoeForCausalLM"),
            Family::Phi3 => ("phi3", "Phi3ForCausalLM"),
            Family::SmolLm3 => ("smollm3", "SmolLM3ForCausalLM"),
            Family::Granite => ("granite", "GraniteForCausalLM"),
            Family::Gemma3 => ("gemma3_text", "Gemma3ForCausalLM"),
        }
    }

    /// A `config.json` for a model that has none.
    fn config_json(&self) -> Value {
        let config = &self.config;
        let (model_type, architecture) = self.kind();
        let mut json = json!({
            "architectures": [architecture],
            "model_type": model_type,
            "vocab_size": config.vocabulary,
            "hidden_size": config.hidden,
            "intermediate_size": config.intermediate,
            "num_hidden_layers": config.layers,
            "num_attention_heads": config.heads,
            "num_key_value_heads": config.kv_heads,
            "head_dim": config.head_width,
            "rms_norm_eps": config.norm_epsilon,
            "rope_theta": config.rope_base,
            "max_position_embeddings": config.context,
            "tie_word_embeddings": self.is_tied(),
            "attention_bias": config.family.has_biases(),
            "eos_token_id": self.end_tokens,
        });
        if config.rotated_width != config.head_width {
            let share = config.rotated_width as f64 / config.head_width as f64;
            json["partial_rotary_factor"] = json!(share);
        }
        let activation = config.activation.name();
        match config.family {
            Family::Gemma3 => {
                json["hidden_activation"] = json!(activation);
                // GGUF files have a whole number, and transformers needs one.
                json["query_pre_attn_scalar"] = json!(config.query_scalar as u64);
            }
            _ => json["hidden_act"] = json!(activation),
        }
        if let Some(experts) = &config.experts {
            json["num_experts"] = json!(experts.count);
            json["num_experts_per_tok"] = json!(experts.used);
            json["moe_intermediate_size"] = json!(experts.intermediate);
            json["norm_topk_prob"] = json!(experts.normalized);
            json["decoder_sparse_step"] = json!(experts.every);
            json["mlp_only_layers"] = json!(experts.dense);
        }
        if config.family == Family::Granite {
            json["embedding_multiplier"] = json!(config.embedding_scale);
            json["attention_multiplier"] = json!(config.query_scalar.sqrt().recip());
            json["residual_multiplier"] = json!(config.residual_scale);
            json["logits_scaling"] = json!(config.logit_divisor);
        }
        put_layers(config, &mut json);
        if let Some(scaling) = rope_scaling(&config.rope_scaling) {
            json["rope_scaling"] = scaling;
        }
        if let RopeScaling::PerFrequency { .. } = config.rope_scaling {
            json["original_max_position_embeddings"] = json!(config.context);
        }
        if let Some(QueryGrowth { rate, context }) = config.query_growth {
            json["rope_scaling"]["llama_4_scaling_beta"] = json!(rate);
            json["rope_scaling"]["original_max_position_embeddings"] = json!(context);
        }
        json
    }
}

/// Writes into a `config.json` which layers rotate, and which attend within a window.
fn put_layers(config: &DecoderConfig, json: &mut Value) {
    if config.rotated_layers != LayerSet::All {
        let rotates = |layer| usize::from(config.rotated_layers.contain(layer));
        json["no_rope_layers"] = (0..config.layers).map(rotates).collect();
    }
    if let Some(window) = &config.sliding_window {
        json["sliding_window"] = json!(window.tokens);
        if window.layers != LayerSet::All {
            let kind = |layer| match config.window(layer) {
                None => GLOBAL,
                Some(_) => LOCAL,
            };
            json["layer_types"] = (0..config.layers).map(kind).collect();
        }
        if let Some(base) = window.rope_base {
            json["rope_local_base_freq"] = json!(base);
        }
    }
}

/// As in `config.json`; `None` for unstretched frequencies.
fn rope_scaling(scaling: &RopeScaling) -> Option<Value> {
    Some(match scaling {
        RopeScaling::None => return None,
        RopeScaling::Linear { factor } => json!({"rope_type": "linear", "factor": factor}),
        RopeScaling::Llama3 {
            factor,
            low_freq_factor,
            high_freq_factor,
            original_context,
        } => json!({
            "rope_type": "llama3",
            "factor": factor,
            "low_freq_factor": low_freq_factor,
            "high_freq_factor": high_freq_factor,
            "original_max_position_embeddings": original_context,
        }),
        RopeScaling::Yarn {
            factor,
            fast,
            slow,
            original_context,
            magnitude,
        } => json!({
            "rope_type": "yarn",
            "factor": factor,
            "beta_fast": fast,
            "beta_slow": slow,
            "original_max_position_embeddings": original_context,
            "attention_factor": magnitude,
        }),
        RopeScaling::PerFrequency { factors, magnitude } => {
            let mut longrope = json!({
                "rope_type": "longrope",
                "short_factor": factors,
                "long_factor": factors,
            });
            if *magnitude != 1.0 {
                longrope["attention_factor"] = json!(magnitude);
            }
            longrope
        }
    })
}

/// Copies a file from another folder, if that has it.
fn stage_copy(files: &mut Replacement, source: &Path, name: &str) -> Result<(), DecoderError> {
    let path = source.join(name);
    match ken_storage::open_linked(&path) {
        Ok(mut from) => files.stage_by(name, |to| std::io::copy(&mut from, to).map(|_| ())),
        Err(error) if error.source.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    }
}
