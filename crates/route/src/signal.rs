//! What a policy has to know of the signal that it decides by. Which signals there are and how they are
//! measured is not known here.

use std::fmt;

use ken_diagnostic::Remedy;

/// A number measured of a question: the larger, the more the question needs retrieval.
pub trait Score: Copy + PartialEq + fmt::Debug + 'static {
    /// Every signal.
    fn all() -> impl Iterator<Item = Self>;

    /// Its name, which is that of its policy.
    fn name(self) -> &'static str;

    /// What a reason calls it.
    fn subject(self) -> &'static str;

    /// The threshold of its policy where nobody gives one.
    fn threshold(self) -> Option<f64>;

    /// Whether the number lies in `[0, 1]`, so that it may be read as a probability.
    fn is_share(self) -> bool;

    /// Whether it can be measured again with evidence.
    fn takes_evidence(self) -> bool;

    /// What to do where it is missing.
    fn remedy(self) -> Remedy;
}
