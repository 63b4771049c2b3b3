//! Writes an untrained decoder: a folder with configuration, tokenizer and random weights, as
//! [`crate::decoder::Decoder`] loads it. Callers provide the random numbers.

use std::path::Path;

use safetensors::tensor::Dtype;
use serde_json::{Value, json};

use crate::decoder::error::DecoderError;
use crate::decoder::files::file_names::CONFIG_FILE;
use crate::decoder::files::replacement::Replacement;
use crate::decoder::text::prompt_form::{FIELD, PromptForm};

/// Standard deviation of the weights (GPT-2).
const SPREAD: f32 = 0.02;
const NORM_EPSILON: f64 = 1e-5;
const ROPE_BASE: f64 = 10_000.0;

/// A decoder of the Llama family with as many key heads as query heads, and tied embeddings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Untrained {
    /// Entries in the vocabulary.
    pub vocabulary: usize,
    /// Width of the residual stream.
    pub hidden: usize,
    /// Width of the feed-forward layer.
    pub intermediate: usize,
    /// Number of blocks.
    pub layers: usize,
    /// Heads; divides `hidden`.
    pub heads: usize,
    /// The most tokens that a prompt and its answer may have together.
    pub context: usize,
    /// The token that begins and ends a text.
    pub end_token: u32,
    /// The form in which it reads prompts.
    pub prompt: PromptForm,
}

/// The weights of one tensor: its name, its shape, its standard deviation and its mean.
struct Drawn {
    name: String,
    shape: Vec<usize>,
    mean: f32,
    spread: f32,
}

impl Untrained {
    /// The number of its weights.
    pub fn parameters(&self) -> usize {
        let numbers = |drawn: &Drawn| drawn.shape.iter().product::<usize>();
        self.tensors().iter().map(numbers).sum()
    }

    /// Writes `config.json`, `tokenizer.json` and `model.safetensors` into a folder, creating it if necessary.
    /// `normal` returns numbers of mean 0 and variance 1; equal numbers give equal weights. Weights that write into
    /// the residual stream are smaller, the more blocks there are (GPT-2).
    ///
    /// # Errors
    /// A folder or file that cannot be written.
    pub fn write(
        &self,
        folder: &Path,
        tokenizer: &Value,
        normal: &mut dyn FnMut() -> f32,
    ) -> Result<(), DecoderError> {
        let mut files = Replacement::begin(folder)?;
        for (name, value) in [(CONFIG_FILE, &self.config()), ("tokenizer.json", tokenizer)] {
            files.stage(name, format!("{value:#}\n").as_bytes())?;
        }
        let tensors = self.tensors().into_iter().map(|drawn| {
            let numbers = (0..drawn.shape.iter().product::<usize>()).flat_map(|_| {
                // A norm's weights are all equal.
                let number = match drawn.spread {
                    0.0 => drawn.mean,
                    spread => drawn.mean + spread * normal(),
                };
                number.to_le_bytes()
            });
            let bytes: Vec<u8> = numbers.collect();
            (drawn.name, drawn.shape, bytes)
        });
        let tensors: Vec<_> = tensors.collect();
        files.stage_weights(Dtype::F32, &tensors)?;
        files.commit()
    }

    fn tensors(&self) -> Vec<Drawn> {
        let (hidden, wide) = (self.hidden, self.intermediate);
        let residual = SPREAD / (2.0 * self.layers as f32).sqrt();
        let drawn = |name: &str, shape: &[usize], mean: f32, spread: f32| Drawn {
            name: format!("model.{name}.weight"),
            shape: shape.to_vec(),
            mean,
            spread,
        };
        let mut tensors = vec![
            drawn("embed_tokens", &[self.vocabulary, hidden], 0.0, SPREAD),
            drawn("norm", &[hidden], 1.0, 0.0),
        ];
        for layer in 0..self.layers {
            for (part, shape, mean, spread) in [
                ("input_layernorm", &[hidden][..], 1.0, 0.0),
                ("self_attn.q_proj", &[hidden, hidden], 0.0, SPREAD),
                ("self_attn.k_proj", &[hidden, hidden], 0.0, SPREAD),
                ("self_attn.v_proj", &[hidden, hidden], 0.0, SPREAD),
                ("self_attn.o_proj", &[hidden, hidden], 0.0, residual),
                ("post_attention_layernorm", &[hidden], 1.0, 0.0),
                ("mlp.gate_proj", &[wide, hidden], 0.0, SPREAD),
                ("mlp.up_proj", &[wide, hidden], 0.0, SPREAD),
                ("mlp.down_proj", &[hidden, wide], 0.0, residual),
            ] {
                tensors.push(drawn(
                    &format!("layers.{layer}.{part}"),
                    shape,
                    mean,
                    spread,
                ));
            }
        }
        tensors
    }

    fn config(&self) -> Value {
        let mut config = json!({
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "vocab_size": self.vocabulary,
            "hidden_size": self.hidden,
            "intermediate_size": self.intermediate,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.heads,
            "hidden_act": "silu",
            "rms_norm_eps": NORM_EPSILON,
            "rope_theta": ROPE_BASE,
            "max_position_embeddings": self.context,
            "tie_word_embeddings": true,
            "bos_token_id": self.end_token,
            "eos_token_id": self.end_token,
            "torch_dtype": "float32",
        });
        config[FIELD] = self.prompt.to_string().into();
        config
    }
}
