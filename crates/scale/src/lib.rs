//! Studies of models and corpus scales, after "Less LLM, More Documents", and the plans that follow from them.
//!
//! [`study`] runs a grid of models and corpus scales, [`report`] reports the measurements, and [`plan`] chooses a
//! set-up for a budget. Callers load the models and open the corpora.
//!
//! ```
//! use ken_scale::study::{Curve, Scores, compensations};
//!
//! let curve = |model: &str, parameters, by_scale: &[(u32, f64)]| Curve {
//!     dataset: "nq".to_owned(),
//!     model: model.to_owned(),
//!     parameters,
//!     scores: by_scale.iter().map(|&(n, em)| (n, Scores { em, f1: em })).collect(),
//! };
//! let small = curve("small", 1_000, &[(1, 0.20), (2, 0.26), (3, 0.31)]);
//! let large = curve("large", 9_000, &[(1, 0.30)]);
//! // With three shards the small model is as good as the large one with one.
//! assert_eq!(compensations(&[small, large])[0].n_star, Some(3));
//! ```

pub mod plan;
pub mod report;
pub mod study;
