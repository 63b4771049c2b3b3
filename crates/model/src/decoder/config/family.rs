//! The architecture families that the graph can run, and what the blocks of each consist of.

/// The architecture families that the graph can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Llama 1 to 3, SmolLM, SmolLM2, Mistral: no biases, separate projections.
    Llama,
    /// Qwen2 and Qwen2.5: biases on the query, key and value projections.
    Qwen2,
    /// Qwen3: queries and keys are normalized per head.
    Qwen3,
    /// Phi-3 and Phi-3.5: fused projections, long-context rotary factors.
    Phi3,
    /// Gemma 3, of its multimodal models the text part: norms before and after both halves of a block,
    /// queries and keys normalized per head.
    Gemma3,
}

impl Family {
    /// The names by which checkpoints call the supported families.
    pub const NAMES: &'static str = "llama, mistral, qwen2, qwen3, phi3, gemma3";

    pub(in crate::decoder) fn parse(name: &str) -> Option<Self> {
        match name {
            "llama" | "mistral" => Some(Self::Llama),
            "qwen2" => Some(Self::Qwen2),
            "qwen3" => Some(Self::Qwen3),
            "phi3" => Some(Self::Phi3),
            "gemma3" | "gemma3_text" => Some(Self::Gemma3),
            _ => None,
        }
    }

    /// Whether queries, keys and values are one projection, and gate and up another.
    pub(in crate::decoder) fn fuses_projections(self) -> bool {
        self == Self::Phi3
    }

    /// Whether the projections of queries, keys and values have biases.
    pub(in crate::decoder) fn has_biases(self) -> bool {
        self == Self::Qwen2
    }

    /// Whether each query and each key head is normalized.
    pub(in crate::decoder) fn norms_heads(self) -> bool {
        matches!(self, Self::Qwen3 | Self::Gemma3)
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
            Self::Llama | Self::Qwen2 | Self::Qwen3 | Self::Phi3 => 0.0,
        }
    }
}
