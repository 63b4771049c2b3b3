//! What a model knows, measured: by sampling it (`sample`), by whether its answers are right
//! (`correctness`, `scores`, `choices`) and agree (`answer_types`), counted in `indicators` and
//! `uncertainty`; by the states behind them (`hidden_states`); by hiding the answers in its evidence
//! (`mask`); by its own judgment (`self_judgment`); by having it write what it knows (`verbalize`), so
//! that it can be weighed against other sources (`labels`); and by questions to what a sentence says
//! (`mastery`). Routing on what is measured, and keeping it, is not done here.

mod answer_types;
mod choices;
mod correctness;
mod few_shot;
mod first_of_two;
mod hidden_states;
mod indicators;
mod interval;
mod labels;
mod mask;
pub mod mastery;
pub mod normalize;
mod sample;
mod scores;
mod self_judgment;
#[cfg(test)]
mod stub;
mod uncertainty;
mod verbalize;

pub use answer_types::{
    Grouping, UnknownGrouping, types_by_entailment, types_by_meaning, types_by_string,
};
pub use choices::{letter, named_choice, right_choices};
pub use correctness::{Correctness, Golden, Obstacle, UnknownCorrectness, are_right};
pub use few_shot::{FewShot, WorkedExample};
pub use hidden_states::eigenscores;
pub use indicators::{Effect, certainty, confidence, correlation};
pub use interval::{wilson_interval, wilson_interval_of};
pub use labels::{Preferred, Rated, SourceRating, prefer, rate};
pub use mask::{MASK, Masked, mask};
pub use sample::{
    DrawRequest, Drawn, Sample, SampleOptions, TokenEntropy, draw, greedy_lines, seed_of,
};
pub use scores::{Scores, covers, score};
pub use self_judgment::{SelfJudgment, judge_need, judgment_tokens};
pub use uncertainty::{lexical_similarity, perplexity, semantic_entropy};
pub use verbalize::{TextWanted, VERBALIZED_TOKENS, Verbalization, verbalize};
