//! What a model knows, measured: by sampling it (`sample`), by whether its answers are right
//! (`correctness`, `scores`, `choices`) and agree (`answer_types`), counted in `indicators` and
//! `uncertainty`; by hiding the answers in its evidence (`mask`); and by its own judgment
//! (`self_judgment`). Routing on what is measured, and keeping it, is not done here.

mod answer_types;
mod choices;
mod correctness;
mod indicators;
mod mask;
pub mod normalize;
mod sample;
mod scores;
mod self_judgment;
#[cfg(test)]
mod stub;
mod uncertainty;

pub use answer_types::{
    Grouping, UnknownGrouping, types_by_entailment, types_by_meaning, types_by_string,
};
pub use choices::{letter, named_choice, right_choices};
pub use correctness::{Correctness, Golden, Obstacle, UnknownCorrectness, are_right};
pub use indicators::{Effect, certainty, confidence, correlation};
pub use mask::{MASK, Masked, mask};
pub use sample::{Asked, Sample, SampleOptions, sample, seed_of};
pub use scores::{Scores, covers, score};
pub use self_judgment::{SelfJudgment, judge_need};
pub use uncertainty::{lexical_similarity, perplexity, semantic_entropy};
