//! Comparing policies on the same questions. Each question is answered once without and once with
//! retrieval (`evaluate`, under `never` and `always`), and what policies decide by is taken once
//! (`signals`); what each policy would have answered at what cost follows from those (`compose`), and
//! is summed up with its statistics (`comparison`), as a table, as CSV (`csv`) and as a page
//! (`report`).

mod breakdown;
mod comparison;
mod compose;
mod csv;
mod report;
mod run;
mod signals;
mod threshold;
mod yardstick;

pub use breakdown::{Breakdown, Group, GroupResult, grouped_by};
pub(crate) use comparison::composed;
pub use comparison::{Comparison, Difference, Point, PolicyResult, compare};
pub use compose::Answered;
pub use csv::to_csv;
pub(crate) use report::distributions;
pub use report::to_html;
pub use run::{ComparisonError, ComparisonWork};
pub use signals::{Known, RequiredSignals, SignalWork, Signals, measure_signals};
pub use threshold::{Cut, GradeThresholds, Thresholds};
pub use yardstick::Yardstick;
