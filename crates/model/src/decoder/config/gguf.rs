//! The architecture of a decoder in GGUF metadata.

use super::activation::Activation;
use super::experts::Experts;
use super::layers::{LayerSet, SlidingWindow};
use super::rope::{QueryGrowth, RopeScaling, YARN_FAST, YARN_SLOW, yarn_magnitude};
use super::{DecoderConfig, PARTIAL, embedding_scale, query_scalar};
use crate::decoder::config::family::Family;
use crate::decoder::error::DecoderError;
use crate::decoder::files::gguf::Metadata;

/// Defaults of a Gemma 3.
const GEMMA3_HEAD_WIDTH: usize = 256;
const GEMMA3_ROPE_BASE: f64 = 1_000_000.0;
const GEMMA3_LOCAL_ROPE_BASE: f64 = 10_000.0;
const GEMMA3_PERIOD: usize = 6;
/// Every fourth layer of a SmolLM3 does not rotate; files do not say so.
const SMOLLM3_PERIOD: usize = 4;
/// The number of blocks of Gemma 3 27B. Its queries are scaled by another width than their heads', which files do not
/// state; no other Gemma 3 has as many blocks.
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
        let invalid = |reason: String| DecoderError::invalid(path, reason);
        let architecture = metadata.string("general.architecture")?;
        let family =
            Family::parse(architecture).ok_or_else(|| DecoderError::UnknownArchitecture {
                path: path.to_path_buf(),
                architecture: architecture.to_owned(),
            })?;
        let is_gemma = family == Family::Gemma3;
        let key = |name: &str| format!("{architecture}.{name}");
        let optional = |name: &str| metadata.optional_number(&key(name));
        // Only Granite has these, and 0 stands for a missing value.
        let factor = |name: &str| {
            let factor = optional(name).filter(|&factor| factor != 0.0);
            factor.filter(|_| family == Family::Granite)
        };
        let heads = metadata.number(&key("attention.head_count"))? as usize;
        let hidden = metadata.number(&key("embedding_length"))? as usize;
        let layers = metadata.number(&key("block_count"))? as usize;
        let mut context = metadata.number(&key("context_length"))? as usize;
        if rope_factors.is_some() && family == Family::Phi3 {
            context =
                optional("rope.scaling.original_context_length").map_or(context, |n| n as usize);
        }
        let rope_scaling = rope_scaling(metadata, &key, rope_factors)?;
        let query_growth = query_growth(metadata, &key)?;
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
        let rotated_width = optional("rope.dimension_count").map_or(head_width, |n| n as usize);
        if rotated_width != head_width && !family.may_rotate_partly() {
            return Err(invalid(format!("{PARTIAL} are not supported")));
        }
        let has_experts = optional("expert_count").is_some_and(|count| count > 0.0);
        if has_experts && family != Family::Qwen3Moe {
            return Err(invalid(format!(
                "experts are not supported in the family {architecture}"
            )));
        }
        let experts = has_experts.then(|| experts(metadata, &key)).transpose()?;
        if optional("final_logit_softcapping").is_some_and(|cap| cap != 0.0) {
            return Err(invalid("soft caps on logits are not supported".to_owned()));
        }
        Self {
            family,
            vocabulary,
            hidden,
            intermediate: metadata.number(&key("feed_forward_length"))? as usize,
            experts,
            layers,
            heads,
            kv_heads: optional("attention.head_count_kv").map_or(heads, |n| n as usize),
            head_width,
            rotated_width,
            norm_epsilon: metadata.number(&key("attention.layer_norm_rms_epsilon"))? as f32,
            rope_base: optional("rope.freq_base").unwrap_or(match is_gemma {
                true => GEMMA3_ROPE_BASE,
                false => 10_000.0,
            }),
            rotated_layers: match family {
                Family::SmolLm3 => LayerSet::AllButEvery(SMOLLM3_PERIOD),
                _ => LayerSet::All,
            },
            rope_scaling,
            query_growth,
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
            query_scalar: match factor("attention.scale") {
                Some(factor) => query_scalar(factor),
                None if is_gemma && layers == GEMMA3_27B_LAYERS => (hidden / heads.max(1)) as f64,
                None => head_width as f64,
            },
            activation: match is_gemma {
                true => Activation::GeluTanh,
                false => Activation::Silu,
            },
            embedding_scale: factor("embedding_scale")
                .map_or_else(|| embedding_scale(family, hidden), |factor| factor as f32),
            residual_scale: factor("residual_scale").unwrap_or(1.0) as f32,
            logit_divisor: factor("logit_scale").unwrap_or(1.0) as f32,
        }
        .checked(path)
    }
}

/// The stretching of the rotary frequencies. `key` expands the name of a key.
fn rope_scaling(
    metadata: &Metadata<'_>,
    key: &dyn Fn(&str) -> String,
    rope_factors: Option<Vec<f32>>,
) -> Result<RopeScaling, DecoderError> {
    let optional = |name: &str| metadata.optional_number(&key(name));
    if let Some(factors) = rope_factors {
        return Ok(RopeScaling::PerFrequency {
            factors,
            magnitude: optional("rope.scaling.attn_factor").unwrap_or(1.0),
        });
    }
    match metadata.optional_string(&key("rope.scaling.type")) {
        None | Some("none") => Ok(RopeScaling::None),
        Some("linear") => Ok(RopeScaling::Linear {
            factor: metadata.number(&key("rope.scaling.factor"))?,
        }),
        Some("yarn") => {
            let factor = metadata.number(&key("rope.scaling.factor"))?;
            let original = metadata.number(&key("rope.scaling.original_context_length"))?;
            // As llama.cpp does: the magnitude is divided by the factor of the logarithm.
            let multiplier = optional("rope.scaling.yarn_log_multiplier").unwrap_or(0.0);
            let magnitude = yarn_magnitude(factor, 1.0) / yarn_magnitude(factor, multiplier);
            Ok(RopeScaling::Yarn {
                factor,
                fast: optional("rope.scaling.yarn_beta_fast").unwrap_or(YARN_FAST),
                slow: optional("rope.scaling.yarn_beta_slow").unwrap_or(YARN_SLOW),
                original_context: original as usize,
                magnitude: magnitude * optional("rope.scaling.attn_factor").unwrap_or(1.0),
            })
        }
        Some(other) => {
            let reason =
                format!("rotary scaling `{other}` is not supported (none, linear and yarn are)");
            Err(DecoderError::invalid(metadata.path(), reason))
        }
    }
}

/// The growth of queries. `key` expands the name of a key.
fn query_growth(
    metadata: &Metadata<'_>,
    key: &dyn Fn(&str) -> String,
) -> Result<Option<QueryGrowth>, DecoderError> {
    let rate = metadata.optional_number(&key("attention.temperature_scale"));
    let Some(rate) = rate.filter(|&rate| rate != 0.0) else {
        return Ok(None);
    };
    let context = metadata.number(&key("rope.scaling.original_context_length"))? as usize;
    Ok(Some(QueryGrowth { rate, context }))
}

/// The experts of all layers. `key` expands the name of a key.
fn experts(metadata: &Metadata<'_>, key: &dyn Fn(&str) -> String) -> Result<Experts, DecoderError> {
    Ok(Experts {
        count: metadata.number(&key("expert_count"))? as usize,
        used: metadata.number(&key("expert_used_count"))? as usize,
        intermediate: metadata.number(&key("expert_feed_forward_length"))? as usize,
        // As llama.cpp does for all files of this family.
        normalized: true,
        every: 1,
        dense: Vec::new(),
    })
}

/// Which layers are local: one entry per layer, a period, or the family's default.
fn local_layers(metadata: &Metadata<'_>, key: &str, family: Family) -> LayerSet {
    if let Some(listed) = metadata.booleans(key) {
        return LayerSet::Listed(listed);
    }
    match (metadata.optional_number(key), family) {
        (Some(period), _) => LayerSet::AllButEvery(period as usize),
        (None, Family::Gemma3) => LayerSet::AllButEvery(GEMMA3_PERIOD),
        (None, _) => LayerSet::All,
    }
}
