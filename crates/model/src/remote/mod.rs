//! Models behind OpenAI-compatible endpoints: vLLM, llama-server, Ollama, OpenAI and others.
//!
//! Capabilities are probed once, on connecting; what an endpoint turns out not to support is not requested again.
//! This module reads no files, and from the environment only the proxy and the certificates.

mod address;
mod cancellable;
mod client;
mod detokenize;
mod embedder;
mod endpoint;
mod error;
mod error_response;
mod forward;
mod in_flight;
mod json;
mod limits;
mod max_tokens;
mod model;
#[doc(hidden)]
pub mod parsers;
mod response;
mod route;
mod score;
mod select_model;
mod server_sent_events;
mod settings;
mod stream;
mod tokens;

pub use address::origin;
pub use embedder::RemoteEmbedder;
pub use endpoint::Endpoint;
pub use error::{Failure, RemoteError};
pub use model::RemoteModel;
pub use settings::{ApiKey, RemoteSettings};
