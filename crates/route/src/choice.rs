//! The choice of a source for one question.

use ken_diagnostic::{Remedy, remedy};

use crate::policy::DOUBLE;
use crate::{Measure, Policy, Source};

/// A source and why it was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The source.
    pub source: Source,
    /// One sentence for people.
    pub reason: String,
}

/// Why a policy cannot choose.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum CannotChoose {
    /// It has no threshold.
    #[error("the policy `{policy}` has no threshold")]
    #[diagnostic(remedy = with_threshold(*policy))]
    NoThreshold {
        /// The policy.
        policy: Policy,
    },
    /// It would have to know the golden answers.
    #[error("the policy `oracle` has to know the golden answers")]
    #[diagnostic(remedy = "only <Evaluate> with several policies has them to compare with")]
    NoGoldenAnswers,
    /// Its measure was not taken, or the model cannot show what it takes.
    #[error("the policy `{policy}` needs a measure that this model does not give")]
    #[diagnostic(remedy = measurable(*policy))]
    NotMeasured {
        /// The policy.
        policy: Policy,
    },
}

fn with_threshold(policy: Policy) -> Remedy {
    let once = policy.judging_once();
    let double = if policy.judges_twice() { DOUBLE } else { "" };
    remedy!("write `{once}@THRESHOLD{double}`; <Calibrate {once}> finds one")
}

fn measurable(policy: Policy) -> Remedy {
    match policy.measure() {
        Some(Measure::Router) => remedy!("name a router by <router> FILE"),
        Some(Measure::SelfRoute) => remedy!("name a model that was trained by <TrainSelfRoute>"),
        _ => "use `certainty`, which needs no more than the answers, or a model on this machine"
            .into(),
    }
}

impl Policy {
    /// Whether it can choose for questions without golden answers.
    ///
    /// # Errors
    /// The oracle, and a policy without a threshold.
    pub fn check(self) -> Result<(), CannotChoose> {
        self.choose(Some(0.0)).map(drop)
    }

    /// Chooses the source for a question.
    ///
    /// # Units
    /// `need`: what its measure gives; for `random:P` a number drawn from `[0, 1)`, which retrieves
    /// below P.
    ///
    /// # Errors
    /// As [`Policy::check`], and a missing number.
    pub fn choose(self, need: Option<f64>) -> Result<Choice, CannotChoose> {
        let needed = || need.ok_or(CannotChoose::NotMeasured { policy: self });
        let (retrieves, reason) = match self {
            Self::Always => (true, "the policy always retrieves".to_owned()),
            Self::Never => (false, "the policy never retrieves".to_owned()),
            Self::Random { share } => {
                let drawn = needed()?;
                let side = if drawn < share { "below" } else { "not below" };
                (
                    drawn < share,
                    format!("{drawn:.3} was drawn, which is {side} {share}"),
                )
            }
            Self::Measured {
                measure,
                threshold: Some(threshold),
                ..
            } => {
                let need = needed()?;
                // NaN, from a broken model, retrieves: that is the side that costs least.
                let spared = need <= threshold;
                let side = if spared { "not above" } else { "above" };
                let what = match measure {
                    Measure::Judgment => "the model's need to look this up",
                    Measure::Router => "the need to look this up that the router foretells",
                    Measure::SelfRoute => "the share of the corpus in the model's choice",
                    _ => "the model's uncertainty",
                };
                (!spared, format!("{what}, {need:.3}, is {side} {threshold}"))
            }
            Self::Oracle => return Err(CannotChoose::NoGoldenAnswers),
            Self::Measured {
                threshold: None, ..
            } => return Err(CannotChoose::NoThreshold { policy: self }),
        };
        let source = if retrieves {
            Source::Corpus
        } else {
            Source::SelfKnowledge
        };
        Ok(Choice { source, reason })
    }

    /// Judges again with evidence: whether it lowers the measure, so that it is kept (KBM's classes
    /// by certainty: only beneficial evidence is).
    #[must_use]
    pub fn keeps(without: f64, with: f64) -> bool {
        with < without
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(policy: &str, need: Option<f64>) -> Result<Source, CannotChoose> {
        let policy: Policy = policy.parse().unwrap();
        policy.choose(need).map(|choice| choice.source)
    }

    #[test]
    fn fixed_policies_ignore_what_was_measured() {
        for need in [None, Some(0.0), Some(1.0)] {
            assert_eq!(source("always", need), Ok(Source::Corpus));
            assert_eq!(source("never", need), Ok(Source::SelfKnowledge));
        }
    }

    #[test]
    fn what_is_above_the_threshold_retrieves() {
        assert_eq!(source("prompt", Some(0.5)), Ok(Source::SelfKnowledge));
        assert_eq!(source("prompt", Some(0.51)), Ok(Source::Corpus));
        assert_eq!(source("certainty@0.2", Some(0.3)), Ok(Source::Corpus));
        assert_eq!(
            source("certainty@0.3", Some(0.3)),
            Ok(Source::SelfKnowledge)
        );
        assert_eq!(source("certainty@0.3", Some(f64::NAN)), Ok(Source::Corpus));
        assert_eq!(source("random:0.3", Some(0.29)), Ok(Source::Corpus));
        assert_eq!(source("random:0", Some(0.0)), Ok(Source::SelfKnowledge));
    }

    #[test]
    fn what_is_missing_is_told() {
        let kind = |policy, need| source(policy, need).unwrap_err().kind();
        assert_eq!(kind("prompt", None), "not_measured");
        assert_eq!(kind("random:0.5", None), "not_measured");
        assert_eq!(kind("oracle", Some(1.0)), "no_golden_answers");
        assert_eq!(kind("certainty", Some(1.0)), "no_threshold");
        let policy = Policy::measured(Measure::Certainty);
        let hint = |policy: Policy| policy.check().unwrap_err().remedy().unwrap().to_string();
        let once = hint(policy);
        assert!(once.contains("certainty@THRESHOLD"), "{once}");
        let twice: Policy = "certainty+double".parse().unwrap();
        let hint = hint(twice);
        assert!(hint.contains("`certainty@THRESHOLD+double`"), "{hint}");
        assert!(hint.contains("Calibrate(\"certainty\")"), "{hint}");
    }
}
