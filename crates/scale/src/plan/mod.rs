//! Choosing a set-up: which model over how much of a corpus, pruned how far, under which policy, satisfies bounds on
//! accuracy and costs. Only measured set-ups are chosen. Accuracy is chosen on one half of the questions and reported
//! on the other. [`capacity`] needs no study: it tells what a corpus takes before it is built.

mod buys;
mod candidate;
pub mod capacity;
mod choose;
mod line;
mod prices;
mod project;
mod promise;
mod quantity;
mod report;
mod result;
mod student;

pub use buys::{Buy, buys, gain};
pub use candidate::{Answered, Candidate, candidates_of_study, candidates_of_table};
pub use choose::{Bounds, Constraint, Unmet, choose, front};
pub use prices::{NotAPrice, Prices};
pub use project::{Projection, project};
pub use promise::{Promise, Step, Walk, walk};
pub use quantity::{Bound, Quantity, UnknownQuantity};
pub use report::plan_report;
pub use result::{Goal, Plan, PlanError, Promised};
