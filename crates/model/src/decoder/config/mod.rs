//! The architecture of a decoder, read from a Hugging Face
//! `config.json` or from GGUF metadata. Holds no weights.

mod activation;
pub(in crate::decoder) mod family;
mod gguf;
mod hugging_face;
mod layers;
mod rope;

use std::path::Path;

pub use activation::Activation;
pub(in crate::decoder) use hugging_face::{GLOBAL, LOCAL};
pub use layers::{LayerKind, LocalLayers, SlidingWindow};
pub use rope::{RopeScaling, Rotary};

use crate::decoder::config::family::Family;
use crate::decoder::error::DecoderError;

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
    /// Base of the rotary frequencies, but for those of local layers that have their own.
    pub rope_base: f64,
    /// Stretching of the rotary frequencies, but for those of local layers that have their own.
    pub rope_scaling: RopeScaling,
    /// Most tokens that a prompt and its answer may have together.
    pub context: usize,
    /// The window of local layers; `None` where all layers are global.
    pub sliding_window: Option<SlidingWindow>,
    /// Products of queries and keys are divided by the root of this: mostly the head width.
    pub query_scalar: f64,
    /// The activation of gates.
    pub activation: Activation,
    /// What embeddings are multiplied by when tokens are read.
    pub embedding_scale: f32,
}

/// No number of an architecture is larger; the product of two, and small multiples of it, cannot
/// overflow.
const LARGEST_SIZE: usize = 1 << 31;

/// Gemma multiplies embeddings by the root of their width.
fn embedding_scale(family: Family, hidden: usize) -> f32 {
    match family {
        Family::Gemma3 => (hidden as f64).sqrt() as f32,
        Family::Llama | Family::Qwen2 | Family::Qwen3 | Family::Phi3 => 1.0,
    }
}

impl DecoderConfig {
    /// Bytes that the keys and values of a token take on the CPU.
    pub(in crate::decoder) fn bytes_per_token(&self) -> usize {
        2 * self.layers * self.kv_heads * self.head_width * size_of::<f32>()
    }

    /// Refuses token ids that the model does not know.
    pub(in crate::decoder) fn known(&self, tokens: Vec<u32>) -> Result<Vec<u32>, DecoderError> {
        let vocabulary = self.vocabulary;
        match tokens.iter().find(|&&token| token as usize >= vocabulary) {
            Some(&token) => Err(DecoderError::UnknownToken { token, vocabulary }),
            None => Ok(tokens),
        }
    }

    /// Refuses more blocks than a file with this many tensors can hold, before anything is allocated
    /// for each block.
    pub(in crate::decoder) fn check_tensors(
        &self,
        path: &Path,
        tensors: usize,
    ) -> Result<(), DecoderError> {
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
    pub(in crate::decoder) fn told(&self) -> String {
        let sizes = [
            self.vocabulary,
            self.hidden,
            self.intermediate,
            self.layers,
            self.heads,
            self.kv_heads,
            self.head_width,
            self.context,
            self.sliding_window.as_ref().map_or(0, |w| w.tokens),
        ];
        let (epsilon, base, scaling) =
            (self.norm_epsilon, self.rope_base, self.rope_scaling.told());
        let mut told = format!("{:?} {sizes:?} {epsilon} {base} {scaling}", self.family);
        // What most models do not have is told where it is there.
        if let Some(window) = &self.sliding_window
            && (window.layers != LocalLayers::All || window.rope_base.is_some())
        {
            told += &format!(" {:?} {:?}", window.layers, window.rope_base);
        }
        if self.query_scalar != self.head_width as f64 {
            told += &format!(" queries by {}", self.query_scalar);
        }
        if self.activation != Activation::Silu {
            told += &format!(" {}", self.activation.name());
        }
        if self.embedding_scale != 1.0 {
            told += &format!(" embeddings by {}", self.embedding_scale);
        }
        told
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
        } else if !self.query_scalar.is_finite() || self.query_scalar <= 0.0 {
            Some(format!("queries cannot be scaled by {}", self.query_scalar))
        } else if let Some(fault) = self.window_fault() {
            Some(fault)
        } else if let RopeScaling::PerFrequency { factors, .. } = &self.rope_scaling {
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

    fn window_fault(&self) -> Option<String> {
        self.sliding_window.as_ref()?.fault(self.layers)
    }

    /// How a layer, counted from 0, attends.
    #[must_use]
    pub fn layer_kind(&self, layer: usize) -> LayerKind {
        match &self.sliding_window {
            Some(window) if window.layers.contain(layer) => LayerKind::Local,
            _ => LayerKind::Global,
        }
    }

    /// How many tokens, itself included, a token attends to at most in layers of a kind; `None` for all
    /// before it.
    #[must_use]
    pub fn window(&self, kind: LayerKind) -> Option<usize> {
        match kind {
            LayerKind::Global => None,
            LayerKind::Local => self.sliding_window.as_ref().map(|window| window.tokens),
        }
    }

    /// How queries and keys are rotated in layers of a kind.
    #[must_use]
    pub fn rotary(&self, kind: LayerKind) -> Rotary {
        let local = self.sliding_window.as_ref();
        match (kind, local.and_then(|window| window.rope_base)) {
            (LayerKind::Local, Some(base)) => RopeScaling::None.rotary(base, self.head_width),
            _ => self.rope_scaling.rotary(self.rope_base, self.head_width),
        }
    }
}
