//! The supported architecture families, and the parts of their blocks.

/// The supported architecture families.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Llama 1 to 3, SmolLM, SmolLM2, Mistral, Ministral, and the text part of Mistral 3's multimodal models: no
    /// biases, separate projections.
    Llama,
    /// Qwen2 and Qwen2.5: biases on the query, key and value projections.
    Qwen2,
    /// Qwen3: queries and keys are normalized per head.
    Qwen3,
    /// The mixtures of experts of Qwen3: as Qwen3, with experts in place of feed-forward layers.
    Qwen3Moe,
    /// Phi-3, Phi-3.5 and Phi-4-mini: fused projections, long-context rotary factors; Phi-4-mini leaves a part of
    /// each head unrotated.
    Phi3,
    /// SmolLM3: as Llama, but some layers do not rotate queries and keys.
    SmolLm3,
    /// Granite 3: as Llama, with factors of the embedding, of attention, of the outputs of blocks and of the logits.
    Granite,
    /// Gemma 3, also the text part of its multimodal models: norms before and after both halves of a block, queries
    /// and keys normalized per head.
    Gemma3,
}

impl Family {
    /// The names of the supported families in checkpoints.
    pub const NAMES: &'static str = "llama, mistral, ministral, ministral3, mistral3, qwen2, qwen3, qwen3_moe, phi3, smollm3, granite, gemma3";

    pub(in crate::decoder) fn parse(name: &str) -> Option<Self> {
        match name {
            "llama" | "mistral" | "ministral" | "ministral3" | "mistral3" => Some(Self::Llama),
            "qwen2" => Some(Self::Qwen2),
            "qwen3" => Some(Self::Qwen3),
            "qwen3_moe" | "qwen3moe" => Some(Self::Qwen3Moe),
            "phi3" => Some(Self::Phi3),
            "smollm3" => Some(Self::SmolLm3),
            "granite" => Some(Self::Granite),
            "gemma3" | "gemma3_text" => Some(Self::Gemma3),
            _ => None,
        }
    }

    /// Whether queries, keys and values are one projection, and gate and up another.
    pub(in crate::decoder) fn fuses_projections(self) -> bool {
        self == Self::Phi3
    }

    /// Whether GGUF stores the two rows of a rotary pair of queries and keys side by side.
    pub(in crate::decoder) fn pairs_rows(self) -> bool {
        matches!(self, Self::Llama | Self::SmolLm3 | Self::Granite)
    }

    /// The default base of the rotary frequencies for a `config.json`.
    pub(in crate::decoder) fn rope_base(self) -> f64 {
        match self {
            Self::SmolLm3 => 2_000_000.0,
            _ => 10_000.0,
        }
    }

    /// Whether a part of each head may be unrotated.
    pub(in crate::decoder) fn may_rotate_partly(self) -> bool {
        self == Self::Phi3
    }

    /// Whether the projections of queries, keys and values have biases.
    pub(in crate::decoder) fn has_biases(self) -> bool {
        self == Self::Qwen2
    }

    /// Whether each query and each key head is normalized.
    pub(in crate::decoder) fn norms_heads(self) -> bool {
        matches!(self, Self::Qwen3 | Self::Qwen3Moe | Self::Gemma3)
    }

    /// Whether the outputs of attention and the feed-forward layer are normalized before they are added to the
    /// residual stream.
    pub(in crate::decoder) fn norms_outputs(self) -> bool {
        self == Self::Gemma3
    }

    /// The number to add to the weights of norms in safetensors. GGUF already has it added.
    pub(in crate::decoder) fn norm_offset(self) -> f64 {
        match self {
            Self::Gemma3 => 1.0,
            _ => 0.0,
        }
    }
}
