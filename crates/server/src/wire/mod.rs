//! What goes over the wire: bodies of requests, responses and errors. Nothing here decides anything, and no other
//! crate knows these types.

pub(crate) mod access;
pub(crate) mod attributes;
pub(crate) mod azure;
pub(crate) mod body;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod corrections;
pub(crate) mod documents;
pub(crate) mod embeddings;
pub(crate) mod encoding;
pub(crate) mod evaluation;
pub(crate) mod feedback;
mod field;
pub(crate) mod files;
pub(crate) mod filter;
pub(crate) mod guarantee;
pub(crate) mod jobs;
pub(crate) mod ken;
mod mismatch;
pub(crate) mod models;
pub(crate) mod others;
pub(crate) mod page;
pub(crate) mod prune;
pub(crate) mod query;
pub(crate) mod refusal;
pub(crate) mod reload;
pub(crate) mod rerank;
pub(crate) mod response_format;
pub(crate) mod responses;
pub(crate) mod retrieve;
pub(crate) mod studies;
pub(crate) mod texts;
pub(crate) mod traces;
pub(crate) mod vector_stores;
