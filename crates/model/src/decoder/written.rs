//! A decoder as a folder of Hugging Face's: configuration, tokenizer and weights in one file, as
//! vLLM, transformers and ken load them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use candle_core::{DType, Tensor};
use safetensors::tensor::TensorView;
use serde_json::{Value, json};

use super::adapter::{SETTINGS_FILE, TENSORS_FILE};
use super::checkpoint::Checkpoint;
use super::config::RopeScaling;
use super::error::DecoderError;
use super::family::Family;
use super::origin;
use super::prompt_form::{FIELD, PromptForm};
use crate::kernels::UnknownName;

/// How exactly weights are written.
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
    const ALL: [Self; 3] = [Self::F32, Self::F16, Self::Bf16];

    fn dtype(self) -> DType {
        match self {
            Self::F32 => DType::F32,
            Self::F16 => DType::F16,
            Self::Bf16 => DType::BF16,
        }
    }

    /// As transformers calls it.
    fn torch(self) -> &'static str {
        match self {
            Self::F32 => "float32",
            Self::F16 => "float16",
            Self::Bf16 => "bfloat16",
        }
    }
}

impl fmt::Display for StoredAs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        })
    }
}

impl FromStr for StoredAs {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        UnknownName::find("precision", &Self::ALL, name)
    }
}

/// Files that say nothing of weights and are copied as they are.
const COPIED: [&str; 6] = [
    "tokenizer.json",
    "tokenizer_config.json",
    "generation_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "tokenizer.model",
];

impl Checkpoint {
    /// Writes the model into a folder, made where it is missing, with an adapter's weights merged
    /// in. `learned` stands in the place of weights of the same Hugging Face name.
    ///
    /// # Errors
    /// Weights that cannot be read, files that cannot be written.
    pub fn write(
        &self,
        folder: &Path,
        stored: StoredAs,
        learned: &BTreeMap<String, Tensor>,
    ) -> Result<(), DecoderError> {
        std::fs::create_dir_all(folder).map_err(|source| DecoderError::io(folder, source))?;
        if let Some(origin) = &self.origin {
            origin.write(folder)?;
        }
        let mut held: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
        for named in self.tensors() {
            let (name, tensor) = named?;
            let tensor = learned.get(&name).unwrap_or(&tensor);
            let bytes = bytes(&tensor.to_dtype(stored.dtype())?)?;
            held.push((name, tensor.dims().to_vec(), bytes));
        }
        let kind = match stored {
            StoredAs::F32 => safetensors::Dtype::F32,
            StoredAs::F16 => safetensors::Dtype::F16,
            StoredAs::Bf16 => safetensors::Dtype::BF16,
        };
        let weights = folder.join("model.safetensors");
        let refuse = |reason: String| DecoderError::io(&weights, std::io::Error::other(reason));
        let views = held
            .iter()
            .map(|(name, shape, bytes)| {
                TensorView::new(kind, shape.clone(), bytes).map(|view| (name.as_str(), view))
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(|e| refuse(e.to_string()))?;
        let metadata = [("format".to_owned(), "pt".to_owned())].into();
        let content =
            safetensors::serialize(views, Some(metadata)).map_err(|e| refuse(e.to_string()))?;
        let source = self.folder().filter(|source| *source != folder);
        let mut config = match self.folder() {
            Some(source) => read_json(&source.join("config.json"))?,
            None => self.config_json(),
        };
        // Older tools read the one, newer the other.
        config["torch_dtype"] = json!(stored.torch());
        config["dtype"] = json!(stored.torch());
        config[FIELD] = match self.prompt_form() {
            PromptForm::Examples => Value::Null,
            form => json!(form.name()),
        };
        if config[FIELD].is_null()
            && let Some(fields) = config.as_object_mut()
        {
            fields.remove(FIELD);
        }
        match source {
            Some(source) => {
                for name in COPIED {
                    let from = source.join(name);
                    if from.exists() {
                        std::fs::copy(&from, folder.join(name))
                            .map_err(|cause| DecoderError::io(&from, cause))?;
                    }
                }
            }
            None if self.folder().is_none() => self.write_tokenizer(folder)?,
            None => {}
        }
        replace(&folder.join("config.json"), config.to_string().as_bytes())?;
        replace(&weights, &content)
    }

    fn write_tokenizer(&self, folder: &Path) -> Result<(), DecoderError> {
        let tokenizer = self.tokenizer.json()?;
        replace(&folder.join("tokenizer.json"), tokenizer.as_bytes())?;
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
        let path = folder.join("tokenizer_config.json");
        replace(&path, settings.to_string().as_bytes())
    }

    /// The `config.json` of a model that came without one.
    fn config_json(&self) -> Value {
        let config = &self.config;
        let (model_type, architecture) = match config.family {
            Family::Llama if config.sliding_window.is_some() => ("mistral", "MistralForCausalLM"),
            Family::Llama => ("llama", "LlamaForCausalLM"),
            Family::Qwen2 => ("qwen2", "Qwen2ForCausalLM"),
            Family::Qwen3 => ("qwen3", "Qwen3ForCausalLM"),
            Family::Phi3 => ("phi3", "Phi3ForCausalLM"),
        };
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
            "hidden_act": "silu",
            "rms_norm_eps": config.norm_epsilon,
            "rope_theta": config.rope_base,
            "max_position_embeddings": config.context,
            "tie_word_embeddings": self.is_tied(),
            "attention_bias": config.family == Family::Qwen2,
            "eos_token_id": self.end_tokens,
        });
        if let Some(window) = config.sliding_window {
            json["sliding_window"] = json!(window);
        }
        match &config.rope_scaling {
            RopeScaling::None => {}
            RopeScaling::Linear { factor } => {
                json["rope_scaling"] = json!({"rope_type": "linear", "factor": factor});
            }
            RopeScaling::Llama3 {
                factor,
                low_freq_factor,
                high_freq_factor,
                original_context,
            } => {
                json["rope_scaling"] = json!({
                    "rope_type": "llama3",
                    "factor": factor,
                    "low_freq_factor": low_freq_factor,
                    "high_freq_factor": high_freq_factor,
                    "original_max_position_embeddings": original_context,
                });
            }
            RopeScaling::PerFrequency { factors } => {
                json["rope_scaling"] = json!({
                    "rope_type": "longrope",
                    "short_factor": factors,
                    "long_factor": factors,
                });
                json["original_max_position_embeddings"] = json!(config.context);
            }
        }
        json
    }
}

/// Removes the files of a model or an adapter from a folder, so that what is written there next is
/// all that there is of either.
///
/// # Errors
/// A folder that cannot be read, a file that cannot be removed.
pub fn remove_model(folder: &Path) -> Result<(), DecoderError> {
    let entries = std::fs::read_dir(folder).map_err(|source| DecoderError::io(folder, source))?;
    for entry in entries {
        let entry = entry.map_err(|source| DecoderError::io(folder, source))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Large models lie in several files, and one that lists them.
        let is_weights = name.starts_with("model")
            && (name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json"));
        let named = ["config.json", origin::FILE, SETTINGS_FILE, TENSORS_FILE];
        if is_weights || named.contains(&name.as_str()) || COPIED.contains(&name.as_str()) {
            let path = entry.path();
            std::fs::remove_file(&path).map_err(|source| DecoderError::io(&path, source))?;
        }
    }
    Ok(())
}

/// A tensor's numbers as they are stored.
fn bytes(tensor: &Tensor) -> Result<Vec<u8>, DecoderError> {
    let flat = tensor.flatten_all()?;
    Ok(match tensor.dtype() {
        DType::F16 => {
            let numbers: Vec<half::f16> = flat.to_vec1()?;
            numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
        }
        DType::BF16 => {
            let numbers: Vec<half::bf16> = flat.to_vec1()?;
            numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
        }
        _ => {
            let numbers: Vec<f32> = flat.to_vec1()?;
            numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
        }
    })
}

fn read_json(path: &Path) -> Result<Value, DecoderError> {
    let text = std::fs::read_to_string(path).map_err(|source| DecoderError::io(path, source))?;
    serde_json::from_str(&text).map_err(|e| DecoderError::InvalidConfig {
        path: path.to_path_buf(),
        reason: e.to_string(),
    })
}

/// Writes a file beside another and puts it in its place in one step.
fn replace(path: &Path, content: &[u8]) -> Result<(), DecoderError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = Path::new(&beside);
    std::fs::write(beside, content).map_err(|source| DecoderError::io(beside, source))?;
    std::fs::rename(beside, path).map_err(|source| DecoderError::io(path, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_models_and_adapters_are_removed_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let removed = [
            "config.json",
            "ken.json",
            "model.safetensors",
            "model-00001-of-00002.safetensors",
            "model.safetensors.index.json",
            "tokenizer.json",
            "adapter_config.json",
            "adapter_model.safetensors",
        ];
        let kept = ["training.safetensors", "history.jsonl", "notes.txt"];
        for name in removed.iter().chain(&kept) {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        remove_model(folder.path()).unwrap();
        let is_there = |name: &&str| folder.path().join(name).exists();
        assert!(!removed.iter().any(is_there));
        assert!(kept.iter().all(is_there));
    }
}
