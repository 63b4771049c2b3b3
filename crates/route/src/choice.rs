//! The choice of a source for one question.

use ken_diagnostic::{Remedy, remedy};

use crate::policy::DOUBLE;
use crate::{Policy, Score, Source};

/// A source and why it was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The source.
    pub source: Source,
    /// One sentence for people.
    pub reason: String,
}

/// Why a policy cannot choose.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum CannotChoose {
    #[error("the policy `{policy}` has no threshold")]
    #[diagnostic(remedy = remedy.clone())]
    NoThreshold { policy: String, remedy: Remedy },
    #[error("the policy `oracle` needs the golden answers")]
    #[diagnostic(remedy = "only <Evaluate> with several policies has them to compare with")]
    NoGoldenAnswers,
    #[error("the policy `{policy}` needs a signal that this model does not provide")]
    #[diagnostic(remedy = remedy.clone())]
    NotMeasured {
        policy: String,
        remedy: Option<Remedy>,
    },
}

impl<S: Score> Policy<S> {
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
    /// `score`: its signal; for `random:P` a number drawn from `[0, 1)`, which retrieves below P.
    ///
    /// # Errors
    /// As [`Policy::check`], and a missing number.
    pub fn choose(self, score: Option<f64>) -> Result<Choice, CannotChoose> {
        let measured = || score.ok_or_else(|| self.not_measured());
        let (retrieves, reason) = match self {
            Self::Always => (true, "the policy always retrieves".to_owned()),
            Self::Never => (false, "the policy never retrieves".to_owned()),
            Self::Random { share } => {
                let drawn = measured()?;
                let side = if drawn < share { "below" } else { "not below" };
                (
                    drawn < share,
                    format!("{drawn:.3} was drawn, which is {side} {share}"),
                )
            }
            Self::Measured {
                signal,
                threshold: Some(threshold),
                ..
            } => {
                let score = measured()?;
                // NaN, from a broken model, retrieves: the safer choice.
                let spared = score <= threshold;
                let side = if spared { "not above" } else { "above" };
                let what = signal.subject();
                (
                    !spared,
                    format!("{what}, {score:.3}, is {side} {threshold}"),
                )
            }
            Self::Oracle => return Err(CannotChoose::NoGoldenAnswers),
            Self::Measured {
                signal,
                threshold: None,
                double,
            } => {
                // Thresholds apply before there is evidence to judge again with.
                let (once, double) = (signal.name(), if double { DOUBLE } else { "" });
                return Err(CannotChoose::NoThreshold {
                    policy: self.to_string(),
                    remedy: remedy!(
                        "write `{once}@THRESHOLD{double}`; <Calibrate {once}> finds one"
                    ),
                });
            }
        };
        let source = match retrieves {
            true => Source::Corpus,
            false => Source::SelfKnowledge,
        };
        Ok(Choice { source, reason })
    }

    /// The error of a policy whose signal is missing.
    #[must_use]
    pub fn not_measured(self) -> CannotChoose {
        CannotChoose::NotMeasured {
            policy: self.to_string(),
            remedy: self.signal().map(Score::remedy),
        }
    }

    /// The second judgment: whether evidence lowers the signal and is therefore kept (of KBM's classes
    /// by certainty, only beneficial evidence is).
    #[must_use]
    pub fn keeps(without: f64, with: f64) -> bool {
        with < without
    }
}
