//! Questions that no passage is about, and whose answer the model knows.

use crate::rule::compared;
use crate::{Reading, Signal};

/// When an answer from memory stands although passages were found: none of them is near the question, and the
/// model's sampled answers agree. The model then reads no passage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OffTopic {
    /// At most this similarity of the nearest passage: a cosine.
    pub(crate) similarity: f64,
    /// At most this uncertainty of sampled answers, in `[0, 1]`.
    pub(crate) uncertainty: f64,
}

impl OffTopic {
    /// The signal that `similarity` bounds: one of the evidence, which needs only a search.
    pub const SIMILARITY: Signal = Signal::EVIDENCE_COSINE;
    /// The signal that `uncertainty` bounds: one of the question.
    pub const UNCERTAINTY: Signal = Signal::CERTAINTY;

    /// Why no passage is about the question; `None` if one may be.
    #[must_use]
    pub fn is_off_topic(self, similarity: Reading) -> Option<String> {
        at_most(Self::SIMILARITY, similarity, self.similarity)
    }

    /// Why the answer from memory stands; `None` if it does not.
    #[must_use]
    pub fn is_known(self, uncertainty: Reading) -> Option<String> {
        at_most(Self::UNCERTAINTY, uncertainty, self.uncertainty)
    }
}

/// The reason in words if a signal is at most a threshold; `None` if it is above, or has no finite number.
fn at_most(signal: Signal, reading: Reading, threshold: f64) -> Option<String> {
    let number = reading.number().filter(|number| number.is_finite())?;
    let (is_above, reason) = compared(signal, number, threshold);
    (!is_above).then_some(reason)
}

#[cfg(test)]
mod tests {
    use ken_testing::says;

    use super::*;
    use crate::Policy;

    #[test]
    fn the_thresholds_of_documents_are_told_in_full() {
        assert_eq!(Policy::DOCUMENTS.in_full(), "documents@-0.4:0.35:0.8:1.2");
        for name in ["always", "certainty@0.5+evidence:cosine@0.2"] {
            assert_eq!(name.parse::<Policy>().unwrap().in_full(), name);
        }
    }

    #[test]
    fn a_question_without_readings_is_on_topic_and_unknown() {
        let off_topic = Policy::DOCUMENTS.off_topic.unwrap();
        for (number, expected) in [(0.2, true), (0.35, true), (0.36, false), (f64::NAN, false)] {
            let reason = off_topic.is_off_topic(number.into());
            assert_eq!(reason.is_some(), expected, "{number}: {reason:?}");
        }
        for (number, expected) in [(0.0, true), (0.8, true), (0.81, false)] {
            assert_eq!(off_topic.is_known(number.into()).is_some(), expected);
        }
        for reading in [Reading::NotMeasured, Reading::CannotTell] {
            assert_eq!(off_topic.is_off_topic(reading), None);
            assert_eq!(off_topic.is_known(reading), None);
        }
        let reason = off_topic.is_off_topic(0.2.into()).unwrap();
        says!(reason => "0.200", "0.35");
    }
}
