//! The choice of a source for one question.

use crate::{Policy, Source};

/// What was measured of a question. Only what the policy asks for is measured.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Signals {
    /// Probability in `[0, 1]` with which the model says that it must look the question up.
    pub self_judgment: Option<f64>,
}

/// A source and why it was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The source.
    pub source: Source,
    /// One sentence for people.
    pub reason: String,
}

/// A policy was asked to choose without the signal that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the policy `{policy}` needs the signal `{signal}`, which was not measured")]
pub struct MissingSignal {
    /// The policy.
    pub policy: Policy,
    /// The signal.
    pub signal: &'static str,
}

impl Policy {
    /// Chooses the source for a question.
    ///
    /// # Errors
    /// A signal that the policy needs is missing.
    pub fn choose(self, signals: &Signals) -> Result<Choice, MissingSignal> {
        let choice = match self {
            Self::Always => Choice {
                source: Source::Corpus,
                reason: "the policy always retrieves".to_owned(),
            },
            Self::Never => Choice {
                source: Source::SelfKnowledge,
                reason: "the policy never retrieves".to_owned(),
            },
            Self::Prompt => {
                let need = signals.self_judgment.ok_or(MissingSignal {
                    policy: self,
                    signal: "self_judgment",
                })?;
                let percent = 100.0 * need;
                // NaN, from a broken model, retrieves: that is the side that costs least.
                if need < 0.5 {
                    Choice {
                        source: Source::SelfKnowledge,
                        reason: format!(
                            "the model holds that it need not look this up (need {percent:.0}%)"
                        ),
                    }
                } else {
                    Choice {
                        source: Source::Corpus,
                        reason: format!(
                            "the model holds that it must look this up (need {percent:.0}%)"
                        ),
                    }
                }
            }
        };
        Ok(choice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(policy: Policy, self_judgment: Option<f64>) -> Result<Source, MissingSignal> {
        policy
            .choose(&Signals { self_judgment })
            .map(|choice| choice.source)
    }

    #[test]
    fn fixed_policies_ignore_signals() {
        for judgment in [None, Some(0.0), Some(1.0)] {
            assert_eq!(source(Policy::Always, judgment), Ok(Source::Corpus));
            assert_eq!(source(Policy::Never, judgment), Ok(Source::SelfKnowledge));
        }
    }

    #[test]
    fn the_prompting_policy_follows_the_model() {
        assert_eq!(
            source(Policy::Prompt, Some(0.49)),
            Ok(Source::SelfKnowledge)
        );
        assert_eq!(source(Policy::Prompt, Some(0.5)), Ok(Source::Corpus));
        assert_eq!(source(Policy::Prompt, Some(f64::NAN)), Ok(Source::Corpus));
        assert!(source(Policy::Prompt, None).is_err());
    }
}
