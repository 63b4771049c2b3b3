//! What a policy must know about its signal. The signals themselves are defined elsewhere.

use std::fmt;

use ken_diagnostic::Remedy;

/// A signal of a question, or of the evidence for it: the larger, the more is to be answered from the
/// corpus.
pub trait Score: Copy + PartialEq + fmt::Debug + 'static {
    /// Every signal.
    fn all() -> impl Iterator<Item = Self>;

    /// Its name, which is also that of its policy.
    fn name(self) -> &'static str;

    /// What a reason calls it.
    fn subject(self) -> &'static str;

    /// The default threshold of its policy.
    fn threshold(self) -> Option<f64>;

    /// Whether the model that tells it may record the threshold of its policy. Where none is named, the policy then has
    /// none before that is looked up, and the default is for a model that records none.
    fn is_recorded(self) -> bool {
        false
    }

    /// The threshold of its policy where none is named and none is looked up.
    fn unnamed_threshold(self) -> Option<f64> {
        self.threshold().filter(|_| !self.is_recorded())
    }

    /// Whether its values lie in `[0, 1]`.
    fn is_share(self) -> bool;

    /// Whether it can be measured again with evidence.
    fn takes_evidence(self) -> bool;

    /// Whether it is one of the evidence: the larger, the more the evidence is worth using.
    fn weighs_evidence(self) -> bool;

    /// What to do when it is missing.
    fn remedy(self) -> Remedy;
}
