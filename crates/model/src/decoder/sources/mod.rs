//! A model that chooses its source of knowledge: its tokens, and the choice.

pub(in crate::decoder) mod choice;
pub(in crate::decoder) mod tokens;
pub(in crate::decoder) mod vocabulary;
