//! Tuning: measures a few cheap policies on the same questions, and chooses the cheapest that is not worse than the
//! better of never and always retrieving. `candidates` lists the policies, `row` has their measures, `choice` the
//! rule, and `guarantee` the promise; `work` answers the questions in the style that users get.

mod candidates;
mod choice;
mod error;
mod findings;
mod guarantee;
mod report;
mod row;
mod settled;
mod words;
mod work;

pub use candidates::{Candidates, LeftOut, candidates};
pub use choice::{Choice, Stakes, Verdict, most_accurate};
pub use error::TuneError;
pub use findings::{Findings, named};
pub use guarantee::calibrated_on;
pub use report::report;
pub use row::{PairedDifference, Row};
pub use words::{measured, more_accurate, promised, why};
pub use work::{Confirmed, Labels, MAX_LOSS, TuneWork, Tuned, tell_apart, usable};
