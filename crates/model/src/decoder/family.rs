//! The architecture families that the graph can run.

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
}

impl Family {
    /// The names by which checkpoints call the supported families.
    pub const NAMES: &'static str = "llama, mistral, qwen2, qwen3, phi3";

    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "llama" | "mistral" => Some(Self::Llama),
            "qwen2" => Some(Self::Qwen2),
            "qwen3" => Some(Self::Qwen3),
            "phi3" => Some(Self::Phi3),
            _ => None,
        }
    }
}
