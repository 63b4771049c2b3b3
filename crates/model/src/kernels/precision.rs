//! The precision of models on the CPU.

use std::fmt;
use std::str::FromStr;

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

impl Precision {
    const ALL: [Self; 3] = [Self::Auto, Self::F32, Self::Int8];
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::F32 => "f32",
            Self::Int8 => "int8",
        })
    }
}

impl FromStr for Precision {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        UnknownName::find("precision", &Self::ALL, name)
    }
}

/// A text that names no precision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {kind} `{name}` ({known} are known)")]
pub struct UnknownName {
    kind: &'static str,
    name: String,
    known: String,
}

impl UnknownName {
    pub(crate) fn find<T: Copy + fmt::Display>(
        kind: &'static str,
        all: &[T],
        name: &str,
    ) -> Result<T, UnknownName> {
        let names: Vec<String> = all.iter().map(T::to_string).collect();
        let index = names.iter().position(|known| known == name);
        index.map(|index| all[index]).ok_or_else(|| UnknownName {
            kind,
            name: name.to_owned(),
            known: names.join(", "),
        })
    }
}
