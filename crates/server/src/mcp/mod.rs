//! ken for agents, by the Model Context Protocol: the tools `search`, `fetch`, `ask` and `knows`, and the documents as
//! resources. It speaks the versions that begin with a handshake; each message stands for itself, so nothing is kept
//! between them.

mod agent;
pub(crate) mod progress;
pub(crate) mod protocol;
mod resources;
mod tools;

pub use agent::Agent;
