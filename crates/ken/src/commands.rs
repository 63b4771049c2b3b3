//! The verbs: each file reads its arguments, calls the rooms, and prints what
//! they give back. No verb computes anything that a library should.

pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod model;
