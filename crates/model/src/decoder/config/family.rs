//! The architecture families that the graph can run, and what the blocks of each consist of.

/// The architecture families that the graph can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Llama 1 to 3, SmolLM, SmolLM2, Mistral, Ministral, of Mistral 3's multimodal models the text part: no biases,
    /// separate projections.
    Llama,
    /// Qwen2 and Qwen2.5: biases on the query, key and value projections.
    Qwen2,
    /// Qwen3: queries and keys are normalized per head.
    Qwen3,
    /// The mixtures of experts of Qwen3: as Qwen3, with experts in place of feed-forward layers.
    Qwen3Moe,
    /// Phi-3, Phi-3.5 and Phi-4-mini: fused projections, long-context rotary factors, of Phi-4-mini a part of each
    /// head not rotated.
    Phi3,
    /// SmolLM3: as Llama, but some layers do not rotate queries and keys.
    SmolLm3,
    /// Granite 3: as Llama, with factors of the embedding, of attention, of what blocks add and of the logits.
    Granite,
    /// Gemma 3, of its multimodal models the text part: norms before and after both halves of a block,
    /// queries and keys normalized per head.
    Gemma3,
}

impl Family {
    /// The names by which checkpoints call the supported families.
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

    /// Whether GGUF stores the rows of queries and keys so that those of a rotary pair are side by side.
    pub(in crate::decoder) fn pairs_rows(self) -> bool {
        matches!(self, Self::Llama | Self::SmolLm3 | Self::Granite)
    }

    /// The base of the rotary frequencies, where a `config.json` does not say.
    pub(in crate::decoder) fn rope_base(self) -> f64 {
        match self {
            Self::SmolLm3 => 2_000_000.0,
            _ => 10_000.0,
        }
    }

    /// Whether a part of each head may be left as it is, and only the rest be rotated.
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

    /// Whether what attention and the feed-forward layer give is normalized before it is added to the
    /// residual stream.
    pub(in crate::decoder) fn norms_outputs(self) -> bool {
        self == Self::Gemma3
    }

    /// What safetensors leave out of the weights of norms, to be added. GGUF has them whole.
    pub(in crate::decoder) fn norm_offset(self) -> f64 {
        match self {
            Self::Gemma3 => 1.0,
            _ => 0.0,
        }
    }
}
