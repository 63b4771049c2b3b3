//! Training of heads: small functions from a vector to a number in `[0, 1]`, on the CPU in double precision.
//! `ken_policy::Head` does inference; callers choose what a vector represents.
//!
//! [`classify`] and [`regress`] standardize the vectors, choose the L2 penalty by cross-fitting
//! (`fit`), and minimize the loss (`objective`, `minimize`); [`classify`] then calibrates the
//! probabilities on the out-of-fold scores (`calibrate`).

mod calibrate;
mod fit;
mod mean_difference;
mod minimize;
mod objective;

pub use fit::{Fitted, HeadError, HeadOptions, Watch, classify, regress};
pub use objective::Shape;
