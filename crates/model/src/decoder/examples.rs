//! Prompts with worked examples.
//!
//! They are plain text that the model continues, for base and instruction-tuned models alike: in
//! their chat format, small instruction-tuned models answer in sentences in spite of the examples.

use super::Decoder;
use super::error::DecoderError;
use super::prompt::Prompt;
use crate::language::{WorkedExample, shared_text};

impl Decoder {
    /// An instruction, worked examples and an input to be continued. The output follows after a
    /// space and ends with the line. Instruction and examples are computed once and kept.
    ///
    /// # Errors
    /// A text that the tokenizer refuses.
    pub fn prompt_with_examples(
        &self,
        instruction: &str,
        examples: &[WorkedExample<'_>],
        input: &str,
    ) -> Result<Prompt, DecoderError> {
        self.prompt(&shared_text(instruction, examples.iter().copied()), input)
    }
}
