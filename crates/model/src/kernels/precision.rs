//! The precision of models on the CPU.

use ken_language::named;

/// The precision in which models compute on the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// A decoder whose weights are stored in 4 to 8 bits generates in integers and scores exactly. One
    /// whose weights are floats computes in 32 bits; if it has more than two billion parameters, its
    /// weights are rounded to 8 bits. An embedder computes in 32.
    #[default]
    Auto,
    /// 32 bits everywhere; weights that are stored in fewer are dequantized as they are multiplied.
    F32,
    /// In integers everywhere: activations are rounded to 8 bits in groups of 32, and so are weights
    /// that are stored as floats.
    Int8,
}

named! {
    Precision, "precision",
    Precision::Auto => "auto",
    Precision::F32 => "f32",
    Precision::Int8 => "int8",
}
