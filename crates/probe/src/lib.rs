//! What a model knows, measured. Routing on what is measured is not done here.

mod self_judgment;

pub use self_judgment::{SelfJudgment, judge_need};
