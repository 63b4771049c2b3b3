//! The architecture of a decoder, read from a Hugging Face
//! `config.json` or from GGUF metadata. Holds no weights.

mod activation;
mod experts;
pub(in crate::decoder) mod family;
mod gguf;
mod hugging_face;
mod layers;
mod rope;

use std::path::Path;

pub use activation::Activation;
pub(in crate::decoder) use experts::Experts;
pub(in crate::decoder) use hugging_face::{GLOBAL, LOCAL};
pub use layers::{LayerSet, SlidingWindow};
pub(in crate::decoder) use rope::QueryGrowth;
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
    /// The experts of layers that have them instead of one feed-forward layer; `None` if no layer has.
    pub experts: Option<Experts>,
    /// Number of blocks.
    pub layers: usize,
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; divides `heads`.
    pub kv_heads: usize,
    /// Width of a head.
    pub head_width: usize,
    /// How many numbers of a head, from its beginning, are rotated: usually all.
    pub rotated_width: usize,
    /// Epsilon of the root-mean-square norms.
    pub norm_epsilon: f32,
    /// Base of the rotary frequencies, except those of local layers with their own base.
    pub rope_base: f64,
    /// The layers that rotate queries and keys: usually all.
    pub rotated_layers: LayerSet,
    /// Stretching of the rotary frequencies, except those of local layers with their own base.
    pub rope_scaling: RopeScaling,
    /// How queries grow with their position; `None` if they do not.
    pub query_growth: Option<QueryGrowth>,
    /// Most tokens that a prompt and its answer may have together.
    pub context: usize,
    /// The window of local layers; `None` if all layers are global.
    pub sliding_window: Option<SlidingWindow>,
    /// Products of queries and keys are divided by the root of this: usually the head width.
    pub query_scalar: f64,
    /// The activation of gates.
    pub activation: Activation,
    /// The factor of embeddings.
    pub embedding_scale: f32,
    /// The factor of the outputs of attention and the feed-forward layer, before they are added to the residual
    /// stream.
    pub residual_scale: f32,
    /// The divisor of logits.
    pub logit_divisor: f32,
}

/// For errors: a model that rotates only a part of each head.
const PARTIAL: &str = "partial rotary embeddings";

/// The upper limit of every number of an architecture, so that the product of two, and small multiples of it, cannot
/// overflow.
const LARGEST_SIZE: usize = 1 << 31;

/// Gemma multiplies embeddings by the root of their width.
fn embedding_scale(family: Family, hidden: usize) -> f32 {
    match family {
        Family::Gemma3 => (hidden as f64).sqrt() as f32,
        _ => 1.0,
    }
}

/// The scalar whose inverse root is the given factor of the products of queries and keys.
fn query_scalar(factor: f64) -> f64 {
    (factor * factor).recip()
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
        if self.layers > tensors {
            let reason = format!("it has {} blocks and {tensors} tensors", self.layers);
            Err(DecoderError::invalid(path, reason))
        } else {
            Ok(())
        }
    }

    /// The architecture as one text for fingerprints, which must not change between versions of ken.
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
        let mut text = format!("{:?} {sizes:?} {epsilon} {base} {scaling}", self.family);
        // Unusual features are only part of the text if a model has them.
        if let Some(window) = &self.sliding_window
            && (window.layers != LayerSet::All || window.rope_base.is_some())
        {
            text += &format!(" {:?} {:?}", window.layers, window.rope_base);
        }
        if self.query_scalar != self.head_width as f64 {
            text += &format!(" queries by {}", self.query_scalar);
        }
        if self.activation != Activation::Silu {
            text += &format!(" {}", self.activation.name());
        }
        if self.rotated_width != self.head_width {
            text += &format!(" {} rotated", self.rotated_width);
        }
        if let Some(QueryGrowth { rate, context }) = self.query_growth {
            text += &format!(" queries grow by {rate} over {context}");
        }
        if self.rotated_layers != LayerSet::All {
            text += &format!(" {:?} rotated", self.rotated_layers);
        }
        if self.embedding_scale != 1.0 {
            text += &format!(" embeddings by {}", self.embedding_scale);
        }
        if self.residual_scale != 1.0 {
            text += &format!(" blocks by {}", self.residual_scale);
        }
        if let Some(experts) = &self.experts {
            text += &experts.told();
        }
        if self.logit_divisor != 1.0 {
            text += &format!(" logits over {}", self.logit_divisor);
        }
        text
    }

    /// How many numbers of a head are rotated, given their share.
    fn rotated_share(head_width: usize, share: f64) -> usize {
        // Truncated, as transformers does, after compensating for the rounding of the share.
        (head_width as f64 * share + 1e-6) as usize
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
            self.rotated_width,
            self.context,
            self.experts.as_ref().map_or(1, |e| e.intermediate),
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
        } else if !self.rotated_width.is_multiple_of(2) || self.rotated_width > self.head_width {
            Some(format!(
                "{} of a head width of {} cannot be rotated",
                self.rotated_width, self.head_width
            ))
        } else if !self.query_scalar.is_finite() || self.query_scalar <= 0.0 {
            Some(format!("queries cannot be scaled by {}", self.query_scalar))
        } else if let Some(factor) = self.factor_fault() {
            Some(format!("a factor of {factor} cannot be applied"))
        } else if let Some(fault) = self.experts.as_ref().and_then(Experts::fault) {
            Some(fault)
        } else if let Some(fault) = self.layer_fault() {
            Some(fault)
        } else if self.query_growth.is_some_and(|growth| growth.context == 0) {
            Some("queries cannot grow over a context of 0".to_owned())
        } else if let RopeScaling::PerFrequency { factors, .. } = &self.rope_scaling {
            (factors.len() != self.rotated_width / 2).then(|| {
                format!(
                    "{} rotary factors for {} frequencies",
                    factors.len(),
                    self.rotated_width / 2
                )
            })
        } else {
            None
        };
        match reason {
            None => Ok(self),
            Some(reason) => Err(DecoderError::invalid(path, reason)),
        }
    }

    /// A factor that is zero or not finite.
    fn factor_fault(&self) -> Option<f32> {
        let factors = [
            self.embedding_scale,
            self.residual_scale,
            self.logit_divisor,
        ];
        factors
            .into_iter()
            .find(|factor| !factor.is_finite() || *factor == 0.0)
    }

    fn layer_fault(&self) -> Option<String> {
        let window = self.sliding_window.as_ref();
        window
            .and_then(|window| window.fault(self.layers))
            .or_else(|| self.rotated_layers.fault(self.layers))
    }

    /// The experts of a layer, counted from 0; `None` if it has one feed-forward layer for all tokens.
    pub fn experts_in(&self, layer: usize) -> Option<&Experts> {
        self.experts
            .as_ref()
            .filter(|experts| experts.are_in(layer))
    }

    fn local(&self, layer: usize) -> Option<&SlidingWindow> {
        let window = self.sliding_window.as_ref();
        window.filter(|window| window.layers.contain(layer))
    }

    /// How many tokens, itself included, a token attends to at most in a layer, counted from 0; `None` for all
    /// previous ones.
    pub fn window(&self, layer: usize) -> Option<usize> {
        self.local(layer).map(|window| window.tokens)
    }

    /// How a layer, counted from 0, rotates queries and keys.
    pub fn rotary(&self, layer: usize) -> Rotary {
        let width = self.rotated_width;
        let rotary = match self.local(layer).and_then(|window| window.rope_base) {
            _ if !self.rotated_layers.contain(layer) => Rotary::none(width),
            Some(base) => RopeScaling::None.rotary(base, width),
            None => self.rope_scaling.rotary(self.rope_base, width),
        };
        Rotary {
            growth: self.query_growth,
            ..rotary
        }
    }
}
