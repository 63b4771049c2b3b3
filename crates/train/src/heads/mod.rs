//! Heads: small functions from a vector to a number in `[0, 1]`, learned from labels. Plain numbers
//! on the CPU, in double precision; what a vector stands for is not known here, and applying a head
//! needs nothing of this (`ken_route::Head`).
//!
//! The path: [`classify`] or [`regress`] standardizes the vectors, chooses how strongly weights are
//! held back by cross-fitting (`fit`), finds the weights by their gradient (`objective`, `minimize`),
//! and [`classify`] makes probabilities honest on scores of examples that were not learned from
//! (`calibrate`).

mod calibrate;
mod fit;
mod minimize;
mod objective;

pub use fit::{Fitted, HeadError, HeadOptions, Watch, classify, regress};
pub use objective::Shape;
