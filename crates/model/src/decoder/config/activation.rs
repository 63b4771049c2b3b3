//! The activation of the gate in a feed-forward layer.

/// The activation of the gate in a feed-forward layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// `x * sigmoid(x)`.
    Silu,
    /// GELU, approximated by the hyperbolic tangent.
    GeluTanh,
}

impl Activation {
    /// The activation of a name in a Hugging Face `config.json`.
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "silu" | "swish" => Some(Self::Silu),
            "gelu_pytorch_tanh" => Some(Self::GeluTanh),
            _ => None,
        }
    }

    /// Its name in a Hugging Face `config.json`.
    pub(in crate::decoder) fn name(self) -> &'static str {
        match self {
            Self::Silu => "silu",
            Self::GeluTanh => "gelu_pytorch_tanh",
        }
    }
}
