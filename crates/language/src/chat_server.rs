//! Models that take conversations in the form in which other programs send them.

use std::ops::ControlFlow;

use serde_json::{Map, Value};

use crate::error::ModelError;

/// The requests that a server gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// All, since it is another program.
    All,
    /// Texts to continue alone, since it refused a conversation.
    Text,
    /// Those beyond `ken`'s prompts: for several answers, log probabilities, and tools.
    Beyond {
        /// Whether it can call tools.
        tools: bool,
    },
}

/// The route of OpenAI's API that a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// `/chat/completions`.
    Chat,
    /// `/completions`, which models inside `ken` serve as a [`TextModel`](crate::TextModel).
    Completions,
}

/// A server of OpenAI's completions, which gets another program's request unchanged.
pub trait ChatServer: Send + Sync {
    /// The requests that it gets.
    fn takes(&self) -> Takes;

    /// Sends a request, whose model this sets, and passes the reply to `on_reply`: the completion, or each chunk of a
    /// stream. A break closes the connection. A stream reports its usage at its end if the server can.
    ///
    /// # Errors
    /// If the server refuses, fails or is stopped, possibly after some chunks.
    fn forward(
        &self,
        api: Api,
        request: Map<String, Value>,
        on_reply: &mut dyn FnMut(Value) -> ControlFlow<()>,
    ) -> Result<(), ModelError>;
}
