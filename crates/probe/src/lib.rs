//! Measures what a model knows. It samples the model (`sample`), decides which outputs are answers (`absence`,
//! `answers`), whether they are right (`correctness`, `scores`, `choices`; `answer_judge` without golden answers) and
//! which of them agree (`answer_types`), and computes `indicators` and `uncertainty` from that, also from
//! `hidden_states`. It masks the answers in evidence (`mask`), asks the model for its own judgment (`self_judgment`),
//! compares how likely each source of knowledge makes the right answer (`labels`), and asks about what a sentence
//! says (`mastery`). Other crates route on these measurements and store them.
//!
//! ```
//! use ken_probe::{certainty, score, types_by_string};
//!
//! // Five samples in two types of answers: the more evenly spread, the less certain.
//! let types = types_by_string(&["1734", "1734.", "in 1801", "1734", "1734"]);
//! let certainty = certainty(&types).expect("there are samples");
//! assert!(0.0 < certainty && certainty < 1.0);
//! assert!(score("It was 1734.", &["1734".to_owned()]).f1 > 0.0);
//! ```

mod absence;
mod answer_judge;
mod answer_types;
mod answers;
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
mod repetition;
mod sample;
mod scores;
mod self_judgment;
mod uncertainty;
mod verdict;

pub use absence::{Lack, has_words};
pub use answer_judge::{Evidenced, judge_answers};
pub use answer_types::{
    Grouping, UnknownGrouping, types_by_entailment, types_by_meaning, types_by_string,
};
pub use answers::answers;
pub use choices::{letter, named_choice, right_choices, types_by_choice};
pub use correctness::{Correctness, Golden, Obstacle, are_right};
pub use few_shot::{FewShot, WorkedExample};
pub use hidden_states::eigenscores;
pub use indicators::{Effect, certainty, confidence, correlation};
pub use interval::{wilson_interval, wilson_interval_of};
pub use labels::{Preferred, Rated, SourceRating, prefer, rate};
pub use mask::{MASK, Masked, mask};
pub use repetition::is_repeated;
pub use sample::{
    DrawRequest, Drawn, Sample, SampleOptions, TokenEntropy, draw, draw_watched, greedy_lines,
    seed_of,
};
pub use scores::{Scores, covers, score};
pub use self_judgment::judge_need;
pub use uncertainty::{lexical_similarity, perplexity, semantic_entropy, sequence_surprisal};
