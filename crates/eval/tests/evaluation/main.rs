//! Runs over questions on models with a known boundary, and their measures.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod abstaining;
mod choices;
mod comparison;
mod documents;
mod fixture;
mod full_answers;
mod graded;
mod probing;
mod questions;
mod recorded;
mod recorded_costs;
mod retrieval;
mod runs;
mod tune;
