//! The verbs: each file reads its arguments, calls the crates, and prints what they return. No verb computes what a
//! library should.

pub(crate) mod ask;
pub(crate) mod calibrate;
mod capacity;
pub(crate) mod card;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod corpus;
mod corpus_info;
pub(crate) mod datastore;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod export;
pub(crate) mod ingest;
pub(crate) mod join;
pub(crate) mod label;
mod languages;
pub(crate) mod man;
pub(crate) mod mastery;
pub(crate) mod model;
mod parts;
pub(crate) mod plan;
pub(crate) mod probe;
mod provenance;
pub(crate) mod prune;
mod push;
mod records;
mod retrieval;
mod score;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod study;
pub(crate) mod train;
mod training_questions;
pub(crate) mod tune;
pub(crate) mod world;
