//! Prompts as every model can be given them.

/// An input and the output wanted for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkedExample<'a> {
    /// What the model is given.
    pub input: &'a str,
    /// What it should write.
    pub output: &'a str,
}

/// An instruction, worked examples, and an input whose output is wanted. A model that continues text
/// is given it as text, one that only takes conversations as turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// What is to be done.
    pub instruction: &'static str,
    /// How it is done.
    pub examples: &'static [WorkedExample<'static>],
    /// What it is to be done to.
    pub input: String,
}
