//! Few-shot prompts: an instruction, worked examples, and the input to be completed.

pub use ken_language::WorkedExample;
use ken_language::{Examples, Prompt};

/// An instruction with worked examples of it.
#[derive(Debug, Clone, Copy)]
pub struct FewShot {
    /// What to do.
    pub instruction: &'static str,
    /// Inputs and outputs that show how.
    pub examples: &'static [WorkedExample<'static>],
}

impl FewShot {
    /// The prompt for one input.
    pub fn prompt(&self, input: String) -> Prompt {
        Prompt::new(self.instruction, Examples::Fixed(self.examples), input)
    }

    /// All of its texts, for fingerprints.
    pub fn texts(&self) -> impl Iterator<Item = &'static str> {
        let examples = self.examples.iter();
        let examples = examples.flat_map(|example| [example.input, example.output]);
        std::iter::once(self.instruction).chain(examples)
    }
}

/// The table of worked examples of a [`FewShot`]: each an input and its output.
#[macro_export]
macro_rules! worked_examples {
    ($($input:literal => $output:literal,)*) => {
        &[$($crate::WorkedExample { input: $input, output: $output }),*]
    };
}
