//! Models behind OpenAI-compatible endpoints: vLLM, llama-server, Ollama, OpenAI and others.
//!
//! An endpoint is asked once, when it is connected, what it can do; nothing is asked of it later
//! that it was found not to take. It reads no files and no environment but the proxy's and the
//! certificates'.

mod address;
mod answer;
mod bounds;
mod client;
mod embedder;
mod endpoint;
mod error;
mod events;
mod exchange;
mod flight;
mod hand_out;
mod json;
mod model;
mod route;
mod score;
mod settings;
mod stream;
mod tokens;
#[doc(hidden)]
pub mod untrusted;

pub use address::origin;
pub use embedder::RemoteEmbedder;
pub use endpoint::Endpoint;
pub use error::RemoteError;
pub use model::{DEFAULT_CONTEXT_TOKENS, RemoteModel};
pub use settings::{ApiKey, RemoteSettings};
