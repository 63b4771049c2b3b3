//! Studies of models and corpus scales, after "Less LLM, More Documents", and the plans that follow from them.
//!
//! [`study`] runs a grid of models and corpus scales, [`report`] tells what was measured, and [`plan`] chooses a
//! set-up for a budget. This crate loads no model and opens no corpus: it is given them.

pub mod plan;
pub mod report;
pub mod study;
