//! Labels, heads, training and pruning on models with a known boundary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../eval/tests/evaluation/fixture/mod.rs"]
mod fixture;
mod gate;
mod label_free;
mod labeling;
mod learning;
mod mastery;
mod pruning;
mod self_routing;
