//! The architecture of a decoder, read from a Hugging Face
//! `config.json` or from GGUF metadata. Holds no weights.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::error::DecoderError;
use super::family::Family;
use super::gguf::Metadata;
use crate::small_file::{self, MOST_SETTINGS_BYTES};

/// How the rotary frequencies are stretched beyond the pre-training context.
#[derive(Debug, Clone, PartialEq)]
pub enum RopeScaling {
    /// The frequencies as trained.
    None,
    /// Every frequency is divided by the factor (position interpolation).
    Linear {
        /// The divisor.
        factor: f64,
    },
    /// Llama 3.1's interpolation by wavelength.
    Llama3 {
        /// The divisor of the lowest frequencies.
        factor: f64,
        /// Wavelengths above `original_context / low` are divided in full.
        low_freq_factor: f64,
        /// Wavelengths below `original_context / high` stay as they are.
        high_freq_factor: f64,
        /// The context of pre-training, in tokens.
        original_context: usize,
    },
    /// One divisor a frequency (GGUF's `rope_freqs.weight`; LongRoPE's short factors).
    /// Length: half the rotary dimensions.
    PerFrequency {
        /// The divisors.
        factors: Vec<f32>,
    },
}

/// The architecture of a decoder.
#[derive(Debug, Clone, PartialEq)]
pub struct DecoderConfig {
    /// The architecture family.
    pub family: Family,
    /// Entries in the vocabulary.
    pub vocabulary: usize,
    /// Width of the residual stream.
    pub hidden: usize,
    /// Width of the feed-forward layer.
    pub intermediate: usize,
    /// Number of blocks.
    pub layers: usize,
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; divides `heads`.
    pub kv_heads: usize,
    /// Width of a head.
    pub head_width: usize,
    /// Epsilon of the root-mean-square norms.
    pub norm_epsilon: f32,
    /// Base of the rotary frequencies.
    pub rope_base: f64,
    /// Stretching of the rotary frequencies.
    pub rope_scaling: RopeScaling,
    /// Most tokens that a prompt and its answer may have together.
    pub context: usize,
    /// A token attends to at most this many tokens, itself included; `None` for all before it.
    pub sliding_window: Option<usize>,
}

/// No number of an architecture is larger; the product of two, and small multiples of it, cannot
/// overflow.
const LARGEST_SIZE: usize = 1 << 31;

/// The keys of a Hugging Face `config.json` that matter here.
#[derive(Deserialize)]
struct HuggingFaceConfig {
    vocab_size: usize,
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    #[serde(default = "default_epsilon")]
    rms_norm_eps: f32,
    #[serde(default = "default_rope_base")]
    rope_theta: f64,
    rope_scaling: Option<Value>,
    rope_parameters: Option<Value>,
    max_position_embeddings: usize,
    original_max_position_embeddings: Option<usize>,
    sliding_window: Option<usize>,
    use_sliding_window: Option<bool>,
    partial_rotary_factor: Option<f64>,
}

fn default_epsilon() -> f32 {
    1e-6
}

fn default_rope_base() -> f64 {
    10_000.0
}

impl DecoderConfig {
    /// The approximate number of weights of all blocks, the embedding and the output projection.
    #[must_use]
    pub(super) fn parameters(&self) -> usize {
        // The weights have not been checked yet, so the sizes need not be those of a model.
        let attention = (2 * self.head_width).saturating_mul(self.heads + self.kv_heads);
        let widths = attention.saturating_add(3 * self.intermediate);
        let blocks = self
            .hidden
            .saturating_mul(widths)
            .saturating_mul(self.layers);
        blocks.saturating_add(2 * self.vocabulary * self.hidden)
    }

    /// Bytes that the keys and values of a token take on the CPU.
    pub(super) fn bytes_per_token(&self) -> usize {
        2 * self.layers * self.kv_heads * self.head_width * size_of::<f32>()
    }

    /// Refuses token ids that the model does not know.
    pub(super) fn known(&self, tokens: Vec<u32>) -> Result<Vec<u32>, DecoderError> {
        let vocabulary = self.vocabulary;
        match tokens.iter().find(|&&token| token as usize >= vocabulary) {
            Some(&token) => Err(DecoderError::UnknownToken { token, vocabulary }),
            None => Ok(tokens),
        }
    }

    /// Reads a Hugging Face `config.json`.
    ///
    /// # Errors
    /// An unreadable file, a missing key, or an architecture or rotary scaling that is not supported.
    pub fn from_hugging_face(path: &Path) -> Result<Self, DecoderError> {
        let invalid = |reason: String| DecoderError::InvalidConfig {
            path: path.to_path_buf(),
            reason,
        };
        let text = small_file::text(path, MOST_SETTINGS_BYTES)
            .map_err(|source| DecoderError::io(path, source))?;
        let value: Value = serde_json::from_str(&text).map_err(|e| invalid(e.to_string()))?;
        let model_type = value
            .get("model_type")
            .and_then(Value::as_str)
            .unwrap_or("(none)");
        let family =
            Family::parse(model_type).ok_or_else(|| DecoderError::UnknownArchitecture {
                path: path.to_path_buf(),
                architecture: model_type.to_owned(),
            })?;
        let raw: HuggingFaceConfig =
            serde_json::from_value(value).map_err(|e| invalid(e.to_string()))?;
        if raw
            .partial_rotary_factor
            .is_some_and(|f| (f - 1.0).abs() > 1e-9)
        {
            return Err(invalid(
                "partial rotary embeddings are not supported".to_owned(),
            ));
        }
        let mut context = raw.max_position_embeddings;
        let parameters = raw.rope_scaling.as_ref().or(raw.rope_parameters.as_ref());
        let rope_base = parameters
            .and_then(|p| p.get("rope_theta"))
            .and_then(Value::as_f64)
            .unwrap_or(raw.rope_theta);
        let rope_scaling = match parameters {
            None => RopeScaling::None,
            Some(scaling) => {
                let kind = scaling
                    .get("rope_type")
                    .or_else(|| scaling.get("type"))
                    .and_then(Value::as_str)
                    .unwrap_or("default");
                let number = |key: &str| {
                    scaling
                        .get(key)
                        .and_then(Value::as_f64)
                        .ok_or_else(|| invalid(format!("the rotary scaling lacks `{key}`")))
                };
                match kind {
                    "default" => RopeScaling::None,
                    "linear" => RopeScaling::Linear {
                        factor: number("factor")?,
                    },
                    "llama3" => RopeScaling::Llama3 {
                        factor: number("factor")?,
                        low_freq_factor: number("low_freq_factor")?,
                        high_freq_factor: number("high_freq_factor")?,
                        original_context: number("original_max_position_embeddings")? as usize,
                    },
                    "longrope" | "su" => {
                        // Below the original context the short factors hold and the attention is
                        // not rescaled, so the context is kept there.
                        context = raw
                            .original_max_position_embeddings
                            .or_else(|| {
                                number("original_max_position_embeddings")
                                    .ok()
                                    .map(|n| n as usize)
                            })
                            .ok_or_else(|| {
                                invalid("`original_max_position_embeddings` is missing".to_owned())
                            })?;
                        let factors = scaling
                            .get("short_factor")
                            .cloned()
                            .and_then(|f| serde_json::from_value(f).ok())
                            .ok_or_else(|| invalid("`short_factor` is missing".to_owned()))?;
                        RopeScaling::PerFrequency { factors }
                    }
                    other => {
                        return Err(invalid(format!(
                            "rotary scaling `{other}` is not supported (default, linear, llama3 and longrope are)"
                        )));
                    }
                }
            }
        };
        let window_in_use = raw
            .use_sliding_window
            .unwrap_or(family != Family::Qwen2 && family != Family::Qwen3);
        Self {
            family,
            vocabulary: raw.vocab_size,
            hidden: raw.hidden_size,
            intermediate: raw.intermediate_size,
            layers: raw.num_hidden_layers,
            heads: raw.num_attention_heads,
            kv_heads: raw.num_key_value_heads.unwrap_or(raw.num_attention_heads),
            head_width: raw
                .head_dim
                .unwrap_or(raw.hidden_size / raw.num_attention_heads.max(1)),
            norm_epsilon: raw.rms_norm_eps,
            rope_base,
            rope_scaling,
            context,
            sliding_window: raw.sliding_window.filter(|&n| window_in_use && n > 0),
        }
        .checked(path)
    }

    /// Reads the metadata of a GGUF file. `vocabulary` is the row count of the token embedding
    /// and `rope_factors` the file's own rotary divisors, if it has any.
    ///
    /// # Errors
    /// A missing key, or an architecture or rotary scaling that is not supported.
    pub(super) fn from_gguf(
        metadata: &Metadata<'_>,
        vocabulary: usize,
        rope_factors: Option<Vec<f32>>,
    ) -> Result<Self, DecoderError> {
        let path = metadata.path();
        let architecture = metadata.string("general.architecture")?;
        let family =
            Family::parse(architecture).ok_or_else(|| DecoderError::UnknownArchitecture {
                path: path.to_path_buf(),
                architecture: architecture.to_owned(),
            })?;
        let key = |name: &str| format!("{architecture}.{name}");
        let heads = metadata.number(&key("attention.head_count"))? as usize;
        let hidden = metadata.number(&key("embedding_length"))? as usize;
        let mut context = metadata.number(&key("context_length"))? as usize;
        let original = metadata.optional_number(&key("rope.scaling.original_context_length"));
        let rope_scaling = match rope_factors {
            Some(factors) => {
                if family == Family::Phi3 {
                    context = original.map_or(context, |n| n as usize);
                }
                RopeScaling::PerFrequency { factors }
            }
            None => match metadata.optional_string(&key("rope.scaling.type")) {
                None | Some("none") => RopeScaling::None,
                Some("linear") => RopeScaling::Linear {
                    factor: metadata.number(&key("rope.scaling.factor"))?,
                },
                Some(other) => {
                    return Err(DecoderError::InvalidConfig {
                        path: path.to_path_buf(),
                        reason: format!(
                            "rotary scaling `{other}` is not supported (none and linear are)"
                        ),
                    });
                }
            },
        };
        Self {
            family,
            vocabulary,
            hidden,
            intermediate: metadata.number(&key("feed_forward_length"))? as usize,
            layers: metadata.number(&key("block_count"))? as usize,
            heads,
            kv_heads: metadata
                .optional_number(&key("attention.head_count_kv"))
                .map_or(heads, |n| n as usize),
            head_width: metadata
                .optional_number(&key("attention.key_length"))
                .map_or(hidden / heads.max(1), |n| n as usize),
            norm_epsilon: metadata.number(&key("attention.layer_norm_rms_epsilon"))? as f32,
            rope_base: metadata
                .optional_number(&key("rope.freq_base"))
                .unwrap_or(10_000.0),
            rope_scaling,
            context,
            sliding_window: metadata
                .optional_number(&key("attention.sliding_window"))
                .map(|n| n as usize)
                .filter(|&n| n > 0),
        }
        .checked(path)
    }

    /// Refuses more blocks than a file with this many tensors can hold, before anything is allocated
    /// for each block.
    pub(super) fn check_tensors(&self, path: &Path, tensors: usize) -> Result<(), DecoderError> {
        match self.layers > tensors {
            false => Ok(()),
            true => Err(DecoderError::InvalidConfig {
                path: path.to_path_buf(),
                reason: format!("it has {} blocks and {tensors} tensors", self.layers),
            }),
        }
    }

    /// The architecture as one text, which is the same in all versions of ken: it is part of
    /// fingerprints.
    pub(super) fn told(&self) -> String {
        let sizes = [
            self.vocabulary,
            self.hidden,
            self.intermediate,
            self.layers,
            self.heads,
            self.kv_heads,
            self.head_width,
            self.context,
            self.sliding_window.unwrap_or(0),
        ];
        let scaling = match &self.rope_scaling {
            RopeScaling::None => String::new(),
            RopeScaling::Linear { factor } => format!("linear {factor}"),
            RopeScaling::Llama3 {
                factor,
                low_freq_factor,
                high_freq_factor,
                original_context,
            } => format!("llama3 {factor} {low_freq_factor} {high_freq_factor} {original_context}"),
            RopeScaling::PerFrequency { factors } => format!("{factors:?}"),
        };
        let (epsilon, base) = (self.norm_epsilon, self.rope_base);
        format!("{:?} {sizes:?} {epsilon} {base} {scaling}", self.family)
    }

    /// Refuses numbers that no decoder can have, so that the graph may rely on them.
    fn checked(self, path: &Path) -> Result<Self, DecoderError> {
        let positive = [
            self.vocabulary,
            self.hidden,
            self.intermediate,
            self.layers,
            self.heads,
            self.kv_heads,
            self.head_width,
            self.context,
        ];
        let reason = if positive.contains(&0) {
            Some("a size is zero".to_owned())
        } else if let Some(size) = positive.into_iter().find(|&size| size > LARGEST_SIZE) {
            Some(format!("a size of {size} is beyond reason"))
        } else if !self.heads.is_multiple_of(self.kv_heads) {
            Some(format!(
                "{} query heads cannot share {} key heads",
                self.heads, self.kv_heads
            ))
        } else if !self.head_width.is_multiple_of(2) {
            Some(format!(
                "a head width of {} cannot be rotated",
                self.head_width
            ))
        } else if let RopeScaling::PerFrequency { factors } = &self.rope_scaling {
            (factors.len() != self.head_width / 2).then(|| {
                format!(
                    "{} rotary factors for {} frequencies",
                    factors.len(),
                    self.head_width / 2
                )
            })
        } else {
            None
        };
        match reason {
            None => Ok(self),
            Some(reason) => Err(DecoderError::InvalidConfig {
                path: path.to_path_buf(),
                reason,
            }),
        }
    }

    /// The rotary frequencies. Shape `[head_width / 2]`, in radians a position.
    #[must_use]
    pub fn rope_frequencies(&self) -> Vec<f64> {
        let half = self.head_width / 2;
        (0..half)
            .map(|i| {
                let frequency = self
                    .rope_base
                    .powf(-2.0 * i as f64 / self.head_width as f64);
                match &self.rope_scaling {
                    RopeScaling::None => frequency,
                    RopeScaling::Linear { factor } => frequency / factor,
                    RopeScaling::PerFrequency { factors } => frequency / f64::from(factors[i]),
                    RopeScaling::Llama3 {
                        factor,
                        low_freq_factor,
                        high_freq_factor,
                        original_context,
                    } => {
                        let wavelength = std::f64::consts::TAU / frequency;
                        let original = *original_context as f64;
                        if wavelength < original / high_freq_factor {
                            frequency
                        } else if wavelength > original / low_freq_factor {
                            frequency / factor
                        } else {
                            let smooth = (original / wavelength - low_freq_factor)
                                / (high_freq_factor - low_freq_factor);
                            (1.0 - smooth) * frequency / factor + smooth * frequency
                        }
                    }
                }
            })
            .collect()
    }
}
