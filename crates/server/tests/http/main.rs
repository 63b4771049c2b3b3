//! The server over a real socket, with a model and an embedder whose knowledge is set: what clients of
//! OpenAI's API and of ken's own get, who may do what, what happens under load, and bad input.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod access;
mod bad_input;
mod chat;
mod client;
mod conversation;
mod fixture;
mod ken;
mod load;
mod mcp;
mod slow_model;
