//! The architecture of a decoder in GGUF metadata.

use super::activation::Activation;
use super::layers::{LocalLayers, SlidingWindow};
use super::rope::RopeScaling;
use super::{DecoderConfig, embedding_scale};
use crate::decoder::config::family::Family;
use crate::decoder::error::DecoderError;
use crate::decoder::files::gguf::Metadata;

/// What a Gemma 3 has where its file does not say.
const GEMMA3_HEAD_WIDTH: usize = 256;
const GEMMA3_ROPE_BASE: f64 = 1_000_000.0;
const GEMMA3_LOCAL_ROPE_BASE: f64 = 10_000.0;
const GEMMA3_PERIOD: usize = 6;
/// The blocks of Gemma 3 27B. Its queries are scaled by another width than their heads', which files
/// do not say; no other Gemma 3 has as many blocks.
const GEMMA3_27B_LAYERS: usize = 62;

impl DecoderConfig {
    /// Reads the metadata of a GGUF file. `vocabulary` is the row count of the token embedding
    /// and `rope_factors` the file's own rotary divisors, if it has any.
    ///
    /// # Errors
    /// A missing key, or an architecture or rotary scaling that is not supported.
    pub(in crate::decoder) fn from_gguf(
        metadata: &Metadata<'_>,
        vocabulary: usize,
        rope_factors: Option<Vec<f32>>,
    ) -> Result<Self, DecoderError> {
        let path = metadata.path();
        let invalid = |reason: String| DecoderError::InvalidConfig {
            path: path.to_path_buf(),
            reason,
        };
        let architecture = metadata.string("general.architecture")?;
        let family =
            Family::parse(architecture).ok_or_else(|| DecoderError::UnknownArchitecture {
                path: path.to_path_buf(),
                architecture: architecture.to_owned(),
            })?;
        let is_gemma = family == Family::Gemma3;
        let key = |name: &str| format!("{architecture}.{name}");
        let optional = |name: &str| metadata.optional_number(&key(name));
        let heads = metadata.number(&key("attention.head_count"))? as usize;
        let hidden = metadata.number(&key("embedding_length"))? as usize;
        let layers = metadata.number(&key("block_count"))? as usize;
        let mut context = metadata.number(&key("context_length"))? as usize;
        let rope_scaling = match rope_factors {
            Some(factors) => {
                if family == Family::Phi3 {
                    context = optional("rope.scaling.original_context_length")
                        .map_or(context, |n| n as usize);
                }
                RopeScaling::PerFrequency {
                    factors,
                    magnitude: optional("rope.scaling.attn_factor").unwrap_or(1.0),
                }
            }
            None => match metadata.optional_string(&key("rope.scaling.type")) {
                None | Some("none") => RopeScaling::None,
                Some("linear") => RopeScaling::Linear {
                    factor: metadata.number(&key("rope.scaling.factor"))?,
                },
                Some(other) => {
                    return Err(invalid(format!(
                        "rotary scaling `{other}` is not supported (none and linear are)"
                    )));
                }
            },
        };
        let default_width = match is_gemma {
            true => GEMMA3_HEAD_WIDTH,
            false => hidden / heads.max(1),
        };
        let head_width = optional("attention.key_length").map_or(default_width, |n| n as usize);
        if optional("attention.value_length").is_some_and(|n| n as usize != head_width) {
            return Err(invalid(
                "keys and values of different widths are not supported".to_owned(),
            ));
        }
        if optional("final_logit_softcapping").is_some_and(|cap| cap != 0.0) {
            return Err(invalid("soft caps on logits are not supported".to_owned()));
        }
        Self {
            family,
            vocabulary,
            hidden,
            intermediate: metadata.number(&key("feed_forward_length"))? as usize,
            layers,
            heads,
            kv_heads: optional("attention.head_count_kv").map_or(heads, |n| n as usize),
            head_width,
            norm_epsilon: metadata.number(&key("attention.layer_norm_rms_epsilon"))? as f32,
            rope_base: optional("rope.freq_base").unwrap_or(match is_gemma {
                true => GEMMA3_ROPE_BASE,
                false => 10_000.0,
            }),
            rope_scaling,
            context,
            sliding_window: optional("attention.sliding_window")
                .map(|n| n as usize)
                .filter(|&n| n > 0)
                .map(|tokens| SlidingWindow {
                    tokens,
                    layers: local_layers(
                        metadata,
                        &key("attention.sliding_window_pattern"),
                        family,
                    ),
                    rope_base: is_gemma
                        .then(|| optional("rope.freq_base_swa").unwrap_or(GEMMA3_LOCAL_ROPE_BASE)),
                }),
            query_scalar: match is_gemma && layers == GEMMA3_27B_LAYERS {
                true => (hidden / heads.max(1)) as f64,
                false => head_width as f64,
            },
            activation: match is_gemma {
                true => Activation::GeluTanh,
                false => Activation::Silu,
            },
            embedding_scale: embedding_scale(family, hidden),
        }
        .checked(path)
    }
}

/// Which layers are local: one entry a layer, or a period, or else what the family has.
fn local_layers(metadata: &Metadata<'_>, key: &str, family: Family) -> LocalLayers {
    if let Some(listed) = metadata.booleans(key) {
        return LocalLayers::Listed(listed);
    }
    match (metadata.optional_number(key), family) {
        (Some(period), _) => LocalLayers::AllButEvery(period as usize),
        (None, Family::Gemma3) => LocalLayers::AllButEvery(GEMMA3_PERIOD),
        (None, _) => LocalLayers::All,
    }
}
