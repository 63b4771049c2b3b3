//! Comparing policies on the same questions. Each question is answered once without and once with retrieval
//! (`answers`, under `never` and `always`), and the signals of policies are measured once (`signals`). From these
//! follow the answers and costs of each policy (`compose`), its statistics (`comparison`) and a report (`report`),
//! with the questions that evidence helps and harms (`changed`).

mod answers;
mod breakdown;
mod changed;
mod comparison;
mod compose;
mod report;
mod run;
mod signals;
mod threshold;
mod yardstick;

pub use answers::{Answers, AnswersWork, BeginRun};
pub use breakdown::{Breakdown, Group, GroupResult, grouped_by};
pub use changed::Changed;
pub(crate) use comparison::composed_for;
pub use comparison::{Arm, Comparison, Difference, Point, PolicyResult, compare, composed};
pub use compose::{Answered, has_own_answers};
pub use report::{report, to_csv, untimed};
pub use run::{ComparisonError, ComparisonWork, CrossFit, Weighable};
pub use signals::{
    Known, RequiredSignals, SignalWork, Signals, measure_signals, policies_need_gate,
};
pub use threshold::{Cut, GradeThresholds, Thresholds};
pub(crate) use threshold::{observations, settled};
pub use yardstick::Yardstick;
