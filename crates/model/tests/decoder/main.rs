//! Decoders on tiny random checkpoints: families and weight types against a plain f64 forward
//! pass, tokenizers against plain merging, generation and scoring against each other, and each
//! kind of broken model against its error. No real model is used.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod adapters;
mod bad_files;
mod batches;
mod behaviour;
mod callers;
mod checkpoint;
mod families;
mod folder;
mod gguf;
mod logprobs;
mod parrot;
mod recorded;
mod reference;
mod replaced;
mod tokenizers;
mod vocabulary;
