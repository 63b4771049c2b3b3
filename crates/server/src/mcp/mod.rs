//! ken for agents, by the Model Context Protocol: the tools `search`, `fetch`, `ask` and `knows`. Messages
//! are those of the versions that begin with a handshake; each stands for itself, so nothing is kept
//! between them.

mod agent;
pub(crate) mod progress;
pub(crate) mod protocol;
mod tools;

pub use agent::Agent;
