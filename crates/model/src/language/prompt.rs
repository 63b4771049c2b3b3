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

impl Prompt {
    /// The prompt as text that a model continues: what all prompts of its kind share, and the rest.
    /// The output follows after a space and ends with the line.
    #[must_use]
    pub fn text(&self) -> (String, &str) {
        (shared_text(self.instruction, self.examples), &self.input)
    }
}

/// An instruction and worked examples as the beginning of a text that a model continues.
pub(crate) fn shared_text(instruction: &str, examples: &[WorkedExample<'_>]) -> String {
    let mut shared = format!("{instruction}\n\n");
    for example in examples {
        shared.push_str(&format!("{} {}\n\n", example.input, example.output));
    }
    shared
}
