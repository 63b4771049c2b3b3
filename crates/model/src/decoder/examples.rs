//! Prompts with worked examples, in the format that the model was trained on.

use super::Decoder;
use super::chat::{Message, Role};
use super::error::DecoderError;
use super::prefix::Prompt;

/// An input and the output wanted for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkedExample<'a> {
    /// What the model is given.
    pub input: &'a str,
    /// What it should write.
    pub output: &'a str,
}

impl Decoder {
    /// An instruction, worked examples and an input to be continued: as a conversation where the
    /// model has a chat template, else as plain text. Instruction and examples are computed once
    /// and kept.
    ///
    /// # Errors
    /// A text that the tokenizer or the chat template refuses.
    pub fn prompt_with_examples(
        &self,
        instruction: &str,
        examples: &[WorkedExample<'_>],
        input: &str,
    ) -> Result<Prompt, DecoderError> {
        if !self.has_chat_template() {
            let mut shared = format!("{instruction}\n\n");
            for example in examples {
                shared.push_str(&format!("{}\n{}\n\n", example.input, example.output));
            }
            return self.prompt(&shared, &format!("{input}\n"));
        }
        let mut messages = vec![Message::new(Role::System, instruction)];
        for example in examples {
            messages.push(Message::new(Role::User, example.input));
            messages.push(Message::new(Role::Assistant, example.output));
        }
        messages.push(Message::new(Role::User, input));
        let prompt = self.chat_prompt(&messages, messages.len() - 1);
        if !matches!(prompt, Err(DecoderError::ChatTemplate { .. })) {
            return prompt;
        }
        // Some templates know no system role: the instruction opens the first turn instead.
        messages.remove(0);
        if let Some(first) = messages.first_mut() {
            first.content = format!("{instruction}\n\n{}", first.content);
        }
        self.chat_prompt(&messages, messages.len() - 1)
    }
}
