//! How a decoder reads prompts: as text to continue, or as a conversation in its chat template.

use std::fmt;
use std::str::FromStr;

use ken_language::{Prompt, Reply, UnknownName};

use crate::decoder::Decoder;
use crate::decoder::error::DecoderError;
use crate::decoder::text::chat::{Message, Role};
use crate::decoder::text::prompt::Prompt as TokenPrompt;
use crate::decoder::text::prompt_form::PromptForm;
use crate::decoder::text::tokenizer::Reading;

/// How a decoder reads prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadAs {
    /// As text to continue.
    Text(PromptForm),
    /// As a conversation: the instruction is the system's turn, each worked example a turn of the user and one of the
    /// model, the input the last turn of the user.
    Chat,
}

impl fmt::Display for ReadAs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(form) => write!(f, "{form}"),
            Self::Chat => f.write_str("chat"),
        }
    }
}

impl FromStr for ReadAs {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        match name {
            "chat" => Ok(Self::Chat),
            form => form.parse().map(Self::Text).map_err(|error: UnknownName| {
                let known = format!("{}, chat", error.known);
                UnknownName { known, ..error }
            }),
        }
    }
}

impl Decoder {
    /// How it reads a prompt.
    pub(in crate::decoder) fn reads(&self, prompt: &Prompt) -> ReadAs {
        match prompt.reply {
            Reply::Text if self.converses => ReadAs::Chat,
            Reply::Turn if self.has_chat_template() => ReadAs::Chat,
            Reply::Text | Reply::Turn | Reply::Line => self.read_as,
        }
    }

    /// A prompt as a conversation that ends where the model answers, or after the beginning of its answer.
    pub(in crate::decoder) fn conversation(
        &self,
        prompt: &Prompt,
    ) -> Result<TokenPrompt, DecoderError> {
        let mut turns = Vec::with_capacity(2 + 2 * prompt.examples.len());
        for example in prompt.examples.iter() {
            turns.push(Message::new(Role::User, example.input));
            turns.push(Message::new(Role::Assistant, example.output));
        }
        turns.push(Message::new(Role::User, prompt.input.as_str()));
        let opened = match &*prompt.instruction {
            "" => self.chat_prompt(&turns, turns.len() - 1)?,
            instruction => {
                let mut whole = vec![Message::new(Role::System, instruction)];
                whole.extend(turns.iter().cloned());
                // Not every template has a system turn.
                self.chat_prompt(&whole, whole.len() - 1).or_else(|_| {
                    if let Some(first) = turns.first_mut() {
                        first.content = format!("{instruction}\n\n{}", first.content);
                    }
                    self.chat_prompt(&turns, turns.len() - 1)
                })?
            }
        };
        match prompt.begun.as_str() {
            "" => Ok(opened),
            begun => {
                let begun = self.tokenizer.encode_continuation(begun, Reading::Plain)?;
                Ok(opened.followed(&self.known(begun)?))
            }
        }
    }

    /// A continuation as it follows a prompt: callers write it as it follows text, with a space before it. In a
    /// conversation it begins a turn, without the space.
    pub(in crate::decoder) fn following<'t>(
        &self,
        prompt: &Prompt,
        continuation: &'t str,
    ) -> &'t str {
        match (self.reads(prompt), prompt.begun.as_str()) {
            (ReadAs::Chat, "") if !self.is_sourced(prompt) => continuation.trim_start(),
            _ => continuation,
        }
    }
}
