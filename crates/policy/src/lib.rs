//! Policies: from the signals of a question and its evidence to whether ken searches, reads the evidence and answers.
//! Maps numbers to a choice; never calls a model.
//!
//! ```
//! use ken_policy::{Decision, Policy, decide};
//!
//! let policy: Policy = "uncertainty:perplexity@1.5".parse()?;
//! assert_eq!(decide(&policy, Some(1.2), None, false), Decision::Spared);
//! // A question whose signal is above the threshold, or missing, retrieves.
//! assert!(decide(&policy, Some(1.9), None, false).is_kept());
//! assert!(decide(&policy, None, None, false).is_kept());
//! # Ok::<(), ken_policy::UnknownPolicy>(())
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod abstention;
mod betting;
mod calibrate;
mod choice;
mod drift_test;
mod fewest;
mod guarantee;
mod head;
mod loss_test;
mod off_topic;
mod policy;
mod reading;
mod rule;
mod signals;

pub use abstention::{Abstention, UnknownAbstention};
pub use calibrate::{CONFIDENCE, Calibration, Goal, Graded, Observation, Tally, calibrate};
pub use choice::{CannotChoose, Choice, Decision, decide};
pub use drift_test::{DriftTest, Ranks};
pub use fewest::fewest;
pub use guarantee::{
    CalibratedOn, Guarantee, GuaranteeFileError, MeasuredError, MeasuredLoss, Promise,
    disagreement_bound,
};
pub use head::{
    BadNetwork, Head, HeadFileError, Input, Layer, MeasuredOn, Network, Purpose, Vocabulary,
    digest_of, dot, is_among, logistic,
};
pub use loss_test::LossTest;
pub use off_topic::OffTopic;
pub use policy::{Policy, UnknownPolicy};
pub use reading::Reading;
pub use rule::{BadGrades, Ks, Rule, Thresholds};
pub use signals::{
    Calls, ChosenSource, Cost, Definition, Gated, Measurements, Rating, Routed, RoutingModel,
    Signal, Step, Tokens, UnknownSignal, Verdicts, confidence, share,
};

use serde::{Deserialize, Serialize};

/// The knowledge source of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Source {
    /// The model itself.
    #[serde(rename = "self")]
    SelfKnowledge,
    /// The corpus.
    #[default]
    #[serde(rename = "corpus")]
    Corpus,
}

impl Source {
    /// The corpus, or the model itself.
    pub(crate) fn of(corpus: bool) -> Self {
        match corpus {
            true => Self::Corpus,
            false => Self::SelfKnowledge,
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}
