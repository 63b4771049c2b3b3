//! The networks of embedders and cross-encoders: their architecture, weights and forward pass. They read tokens;
//! `tokens` makes these from texts.

mod config;
mod forward;
mod names;
mod relative;
mod rotary;
mod weights;

pub(super) use config::network;
pub(super) use forward::{affine, hidden_states};
pub(super) use weights::{
    Linear, Weights, bytes, decode, misshapen, missing, of_type, open, read, read_linear,
};

/// A network without its weights.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Network {
    pub(super) family: Family,
    pub(super) hidden: usize,
    pub(super) layers: usize,
    pub(super) heads: usize,
    /// Heads of keys and values, each shared by a group of query heads.
    pub(super) kv_heads: usize,
    /// The width of a head.
    pub(super) head_width: usize,
    pub(super) intermediate: usize,
    pub(super) vocabulary: usize,
    /// 0 if the family has none.
    pub(super) token_types: usize,
    /// Added to the variance before taking its square root.
    pub(super) epsilon: f32,
    pub(super) biases: Biases,
    pub(super) positions: Positions,
}

/// The family, which decides how a network's parts are arranged and named in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// BERT, RoBERTa and XLM-RoBERTa.
    Bert,
    DistilBert,
    /// MPNet, which adds gains by the distance between tokens to attention scores.
    Mpnet,
    NomicBert,
    ModernBert,
    /// A decoder: tokens attend to those before them.
    Qwen3,
}

/// The activation between the two maps of a feed-forward layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activation {
    Gelu,
    /// GELU of the first half of the wide rows, times the second half.
    GatedGelu,
    /// SiLU of the first half, times the second half.
    GatedSilu,
}

/// Which parts have biases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Biases {
    pub(super) attention: bool,
    pub(super) feed_forward: bool,
    pub(super) norms: bool,
}

/// How a network encodes the positions of tokens.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Positions {
    /// By `count` embeddings that are added to the token embeddings. `first` is the position of a text's first token:
    /// 0 in BERT, the padding id + 1 in RoBERTa.
    Learned { count: usize, first: usize },
    /// By rotating queries and keys.
    Rotary(Rotary),
}

/// Rotary embeddings: component `i` of a half of a head turns by `base^(-i / half)` radians per position.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rotary {
    /// The longest input in tokens.
    pub(super) most: usize,
    pub(super) base: f64,
    /// How the base grows with the length of a text.
    pub(super) stretch: Option<Stretch>,
    /// Local layers, which have their own base and whose tokens attend only to their neighbors.
    pub(super) local: Option<Local>,
}

/// The growth of a rotary base beyond the length that a model was trained on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stretch {
    pub(super) factor: f64,
    /// The length in tokens up to which the base is constant.
    pub(super) trained: usize,
}

/// Which layers are local.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Local {
    pub(super) base: f64,
    /// How many tokens on each side a token attends to.
    pub(super) reach: usize,
    /// One entry per layer.
    pub(super) layers: Vec<bool>,
}

impl Network {
    /// The columns of queries, and those of keys or values.
    fn projected(&self) -> [usize; 2] {
        [self.heads, self.kv_heads].map(|heads| heads * self.head_width)
    }

    /// The longest input in tokens.
    pub(super) fn max_tokens(&self) -> usize {
        match &self.positions {
            Positions::Learned { count, first } => count - first,
            Positions::Rotary(rotary) => rotary.most,
        }
    }

    /// What distinguishes the network from others besides its weights, as numbers.
    pub(super) fn traits(&self) -> Vec<u64> {
        let (first, rotary) = match &self.positions {
            Positions::Learned { first, .. } => (*first, None),
            Positions::Rotary(rotary) => (0, Some(rotary)),
        };
        let epsilon = u64::from(self.epsilon.to_bits());
        let mut traits = vec![self.layers as u64, self.heads as u64, first as u64, epsilon];
        if let Some(rotary) = rotary {
            traits.extend([rotary.base.to_bits(), self.kv_heads as u64]);
            if let Some(Stretch { factor, trained }) = rotary.stretch {
                traits.extend([factor.to_bits(), trained as u64]);
            }
            if let Some(local) = &rotary.local {
                traits.extend([local.base.to_bits(), local.reach as u64]);
                traits.extend(local.layers.iter().map(|&is_local| u64::from(is_local)));
            }
        }
        traits
    }
}

impl Family {
    /// Whether a layer norms the input of its parts; otherwise it norms the sum of their input and output.
    fn norms_first(self) -> bool {
        matches!(self, Self::ModernBert | Self::Qwen3)
    }

    /// Whether norms divide by the root mean square; otherwise they subtract the mean first.
    fn norms_by_root(self) -> bool {
        self == Self::Qwen3
    }

    /// Whether tokens attend only to themselves and those before them.
    fn is_causal(self) -> bool {
        self == Self::Qwen3
    }

    fn activation(self) -> Activation {
        match self {
            Self::Bert | Self::DistilBert | Self::Mpnet => Activation::Gelu,
            Self::NomicBert | Self::Qwen3 => Activation::GatedSilu,
            Self::ModernBert => Activation::GatedGelu,
        }
    }
}

impl Activation {
    /// The rows of the first map, for `intermediate` columns of the second.
    fn wide(self, intermediate: usize) -> usize {
        match self {
            Self::Gelu => intermediate,
            Self::GatedGelu | Self::GatedSilu => 2 * intermediate,
        }
    }
}
