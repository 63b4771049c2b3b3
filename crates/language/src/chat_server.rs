//! Models that take conversations as other programs send them.

use std::ops::ControlFlow;

use serde_json::{Map, Value};

use crate::error::ModelError;

/// Which requests a server is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// All: it is another program.
    All,
    /// Those that ask for what `ken` has no prompt for: several answers, log probabilities, and tools.
    Beyond {
        /// Whether it can be offered tools.
        tools: bool,
    },
}

/// For which of OpenAI's routes a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// `/chat/completions`.
    Chat,
    /// `/completions`, which models inside `ken` serve as a [`TextModel`](crate::TextModel).
    Completions,
}

/// A server of OpenAI's completions, which is given another program's request as it came.
pub trait ChatServer: Send + Sync {
    /// Which requests it is given.
    fn takes(&self) -> Takes;

    /// Sends a request, whose model is named here, and tells `on_reply` what comes: the completion, or of a stream
    /// each chunk. A break closes the connection. A stream tells what it cost at its end where the server can.
    ///
    /// # Errors
    /// A server that refuses, fails or is stopped. What came before was told.
    fn forward(
        &self,
        api: Api,
        request: Map<String, Value>,
        on_reply: &mut dyn FnMut(Value) -> ControlFlow<()>,
    ) -> Result<(), ModelError>;
}
