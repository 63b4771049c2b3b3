//! Tuning: a few cheap policies measured on the same questions, and the cheapest chosen that is not worse than the
//! better of never and always retrieving. Which policies there are is in `candidates`, what is measured of them in
//! `row`, the rule by which one is chosen in `choice`, and what is promised of it in `guarantee`; `work` answers the
//! questions in the style in which people are answered.

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
pub use work::{Confirmed, Labels, TuneWork, Tuned, tell_apart, usable};
